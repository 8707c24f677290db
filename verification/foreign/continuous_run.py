"""Tables of other programs, again and again: what `verify --table --forever` calls.

A round notes a moment of the source, and reads the log once for all tables: it tells which keys
have changed since the last comparison of each table began. Only these are compared, and those that
differed or lagged. A table without any is equal through the moment, at no further cost. From time
to time, all rows of a table are compared, beside the rounds if it is a large one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

import structlog

from connector.foundation import errors
from connector.foundation.settings.sections import (
    RetrySettings,
    SnapshotSettings,
    SourceSettings,
    VerifySettings,
)
from verification import verify_errors
from verification.continuous_rounds import (
    NAMED_MAX,
    RoundPauses,
    end_round,
    names_by_age,
    report_defect,
    report_verdict,
)
from verification.digests import Digest
from verification.foreign.foreign_check import ForeignCheck, ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.log_gaps import LogGaps
from verification.foreign.logged_keys import SettledEnd
from verification.foreign.run import OneTable, TablesRun, compare, estimated_rows, size_of
from verification.foreign.settlement import Sides
from verification.foreign.shared_log import SharedLog, TableReading
from verification.foreign.source_log import SourceLog
from verification.foreign.source_rows import SourceRows
from verification.foreign.source_server import SourceServer
from verification.foreign.table_chain import RoundStart, TableChain
from verification.foreign.table_choice import TableChoice, matching, require_one_target
from verification.metrics import VerificationMetrics
from verification.source_table import RowKey
from verification.table_definitions import TableName
from verification.table_queue import TableQueue

_log = structlog.get_logger()


class _Compared(NamedTuple):
    """What was found in a table, where its comparison began, and what has read its rows."""

    result: ForeignResult
    start: RoundStart
    began: float  # by the clock of this process
    source: SourceRows | None = None


Queue = TableQueue[TableName, _Compared]


class ForeignContinuousRun:
    """Compares tables of one source with tables that other programs write."""

    def __init__(
        self,
        source: SourceSettings,
        tables: Sequence[TableChoice],
        limits: ForeignLimits,
        settings: VerifySettings,
        metrics: VerificationMetrics,
    ) -> None:
        """Compare the tables that `tables` name, at the pauses of `settings`; fill `metrics`."""
        self._source = source
        self._tables = tables
        self._limits = limits
        self._settings = settings
        self._metrics = metrics
        self._chains: dict[TableName, TableChain] = {}
        # The server that the chains are of.
        self._server_uuid = ""
        # Of its log: everything before it was read.
        self._position = ""
        # That it had in the last round.
        self._transactions = ""
        self._pauses = RoundPauses(metrics, RetrySettings())
        # Because of what every round compares all rows.
        self._gaps = LogGaps()

    def run(self) -> NoReturn:
        """Go round until KeyboardInterrupt. Raises ConfigError for choices that do not fit."""
        while True:
            try:
                self._connect()
            except errors.ConnectorError as error:
                if isinstance(error, errors.ConfigError) and not self._metrics.rounds:
                    raise
                if error.code is verify_errors.LOST:
                    # What comes in place of the lost transactions may have their names.
                    self._forget()
                self._pauses.after(error)

    def _connect(self) -> NoReturn:
        """Go round over one source; raises the errors of connections."""
        limits, snapshot = self._limits, SnapshotSettings(pace=self._limits.pace)
        with SourceServer(
            self._source, snapshot, limits.patience_seconds, limits.rows_per_second
        ) as server:
            self._follow(server)
            log = SharedLog(server, limits.lag_seconds)
            run = TablesRun(log, limits, lambda *_: self._metrics.turn())
            self._metrics.pace = lambda: server.pace.state
            for chain in self._chains.values():
                # What was being compared has ended with its connection.
                chain.is_whole = False
            with Queue() as queue:
                while True:
                    self._round(run, queue)
                    self._pauses.pause(self._settings.pause_seconds)

    def _follow(self, server: SourceServer) -> None:
        """Begin anew at another server.

        Raises SourceUnavailable if it lacks transactions that it had in the last round.
        """
        if self._transactions:
            server.same.require_transactions(self._transactions)
        if self._server_uuid not in {"", server.same.uuid}:
            _log.warning("another server is compared", source=server.session.name)
            self._forget()
        self._server_uuid = server.same.uuid

    def _forget(self) -> None:
        """Compare all rows of all tables."""
        self._position = ""
        for chain in self._chains.values():
            chain.position = ""

    def _round(self, run: TablesRun, queue: Queue) -> None:
        metrics, server = self._metrics, run.log.server
        self._keep(list(matching(server.session, self._tables)))
        start = self._start(run.log)
        self._pauses.connected()
        self._pauses.succeeded()
        metrics.begin_round(len(self._chains))
        hours = self._settings.full_every_hours
        due = [own.choice for own in self._chains.values() if own.is_due(start.at, hours)]
        sizes = estimated_rows(server.session, due)
        for name in names_by_age(metrics):
            self._begin(name, start, run, queue, sizes.get(name, 0))
        # If each round compares all rows, it has an end.
        for name, _, compared in queue.ended(0, waits_for_large=not (hours and start.position)):
            self._take(name, compared.result())
        end_round(metrics)

    def _keep(self, choices: Sequence[TableChoice]) -> None:
        require_one_target(choices)
        names = {(choice.database, choice.table): choice for choice in choices}
        known = self._chains
        self._chains = {name: known.get(name) or TableChain(own) for name, own in names.items()}
        self._metrics.keep(list(self._chains))

    def _start(self, log: SharedLog) -> RoundStart:
        """Note the moment now, and let the log tell which keys have changed until then."""
        server = log.server
        at = server.moments.now()
        self._transactions = at.transactions
        if not at.transactions:
            # Nobody knows which changes of the log it has.
            self._forget()
            return RoundStart(at, "")
        self._take_gaps(log.gaps(anew=True))
        if self._gaps.setting:
            self._position = ""
            return RoundStart(at, "")
        begin = self._position or log.beginning(log.since()).position
        end = SettledEnd(at, server.session.identity.flavour)
        own = TableReading(end, begin)
        readings = {chain.choice.name: chain.reading() for chain in self._chains.values()}
        log.read_all([own, *filter(None, readings.values())])
        if own.failure is not None:
            if isinstance(own.failure, errors.SourceRefused):
                # The log may have been purged: then the next round begins anew.
                self._forget()
            raise own.failure
        for chain in self._chains.values():
            reading = readings[chain.choice.name]
            chain.limit_keys()
            if reading is not None and reading.failure is not None:
                _report_failure(chain.choice.name, reading.failure)
                chain.position = ""
        self._position = end.end_of(begin, own.position)
        return RoundStart(at, self._position)

    def _take_gaps(self, gaps: LogGaps) -> None:
        """Compare all rows of the tables of which the log may lack changes."""
        hidden = sorted(name for name in self._chains if gaps.hide(name))
        if gaps != self._gaps and hidden:
            names = [".".join(name) for name in hidden[:NAMED_MAX]]
            _log.warning(
                "each round compares all rows: the log lacks changes",
                setting=gaps.setting or "foreign keys",
                tables=names,
                count=len(hidden),
            )
        self._gaps = gaps
        for name in hidden:
            self._chains[name].position = ""

    def _begin(
        self, name: TableName, start: RoundStart, run: TablesRun, queue: Queue, rows: int
    ) -> None:
        """Compare a table, if something may have changed."""
        chain = self._chains[name]
        choice = chain.choice
        if chain.is_due(start.at, self._settings.full_every_hours) and not chain.is_whole:
            chain.is_whole = True
            size = size_of(rows, is_alone=choice.is_of_server)
            queue.add(name, size, partial(_whole, run, choice, start))
            if size != "large":
                return
        if chain.reading() is None or chain.logged is None or chain.logged.needs_all_rows:
            return
        keys = chain.taken_keys(start)
        if keys:
            queue.add(name, "medium", partial(_changes, run, chain, keys, start))
            return
        result = ForeignResult(choice.name, choice.shown_target, changed_keys=0, through=start.at)
        self._take(name, _Compared(result, start, time.monotonic()))

    def _take(self, name: TableName, compared: _Compared) -> None:
        """Note and report what was found in a table."""
        metrics, result = self._metrics, compared.result
        metrics.turn()
        if isinstance(result.error, errors.ConfigError) and not metrics.rounds:
            raise result.error
        if name in self._chains:
            self._chains[name].take(result, compared.source, compared.start)
            metrics.take(name, result, compared.began)
        self._report(result)

    def _report(self, result: ForeignResult) -> None:
        for difference in result.differences[:NAMED_MAX]:
            told = difference.to_json(with_values=False)
            _log.warning(
                "row differs",
                table=result.name,
                kind=difference.kind,
                key=told["key"],
                columns=sorted(difference.source) if difference.source and told["target"] else [],
                repaired=False,
                since=None if difference.since is None else difference.since.time,
                transaction=None if difference.since is None else difference.since.place,
            )
        report_verdict(
            result,
            is_fine=result.verdict == "equal",
            differences=len(result.differences),
            lagging=result.lagging_rows,
        )


def _report_failure(table: str, error: Exception) -> None:
    """Say why the log does not tell which rows of a table have changed."""
    if isinstance(error, errors.ConnectorError):
        _log.warning("log not read", table=table, **errors.fields(error))
    else:
        report_defect(table, error)


def _whole(run: TablesRun, choice: TableChoice, start: RoundStart) -> _Compared:
    """Compare all rows of a table."""
    found: list[SourceRows] = []

    def compared(one: OneTable) -> None:
        found.append(one.source)
        compare(one)

    began = time.monotonic()
    result = _guarded(run, choice, compared)
    return _Compared(result, start, began, found[0] if found else None)


def _changes(
    run: TablesRun, chain: TableChain, keys: Mapping[Digest, RowKey], start: RoundStart
) -> _Compared:
    """Compare the rows of a table with some keys."""
    mapping = chain.mapping
    assert mapping is not None

    def compared(one: OneTable) -> None:
        source, result = one.source, one.result
        chain.require_same(source)
        patience, target = source.patience.for_target(), one.choice.opened()
        try:
            result.state, result.mapping = patience.again(target.refresh), mapping
            sides = Sides(source, target, mapping, SourceLog(run.log, source, mapping), patience)
            ForeignCheck(sides, run.limits, result, one.show).run_keys(keys)
            result.through = source.server.moments.through(start.at, result.lacking)
        finally:
            target.close()

    began = time.monotonic()
    result = _guarded(run, chain.choice, compared)
    result.changed_keys = len(keys)
    return _Compared(result, start, began)


def _guarded(
    run: TablesRun, choice: TableChoice, compared: Callable[[OneTable], None]
) -> ForeignResult:
    """Compare a table; a defect does not keep others from their turn."""
    try:
        return run.result(choice, compared)
    except errors.ConfigError as error:
        return ForeignResult(choice.name, choice.shown_target, error=error)
    except Exception as error:  # noqa: BLE001 # it is logged, and the table compared again
        if not run.log.server.is_closed:
            report_defect(choice.name, error)
        return ForeignResult(choice.name, choice.shown_target, unsettled=1, has_unknown_keys=True)
