"""The log of the source as the witness: which values rows had, and until when.

The log is read from a moment before the comparison, from then on to its end, as often as keys are
looked at. Only the wanted keys are kept: of each, its states in order.

*Times.* MySQL 8.0.1 and later logs when a transaction was committed. Older servers and MariaDB log
when a statement began, which may be long before its commit. There, a change counts as committed
when the end of the log was first seen after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from connector.binlog.event import Event
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent
from connector.binlog.statement import StatementKind, classify
from connector.binlog.transactions.transaction import (
    Transaction,
    changed_rows_in,
    transactions_of,
)
from connector.foundation.errors import SourceRefused
from connector.foundation.settings.sections import SourceSettings
from connector.reader.server_log import ServerLog
from connector.replication import dump_errors
from connector.replication.log_search import find_time
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import binary_logs
from stream_jobs.errors import MirrorError
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import UNKNOWN, Change, KeyStates, States, Unknown, Value
from verification.foreign.source_rows import SourceRows

_US: Final = 1_000_000
_CHANGES_COLUMNS: Final = frozenset(
    {StatementKind.ALTER_TABLE, StatementKind.RENAME_TABLE, StatementKind.DROP_TABLE}
)
# Clocks of servers go in steps, and old logs have whole seconds.
_MARGIN_SECONDS: Final = 2


class SourceLog:
    """Reads the log of one server for one table; a context manager is not needed."""

    def __init__(
        self,
        settings: SourceSettings,
        source: SourceRows,
        mapping: ColumnMapping,
        lag_seconds: float,
    ) -> None:
        """Begin `lag_seconds` ago. Raises the errors of a server, and MirrorError."""
        self._settings = settings
        self._source = source
        self._rows = LoggedRows(source.selected.schema, mapping)
        self._names = source.schema.database, source.schema.table
        self._begin_us = source.server_time_us()
        since = self._begin_us / _US - lag_seconds - _MARGIN_SECONDS
        self._start, self.reach_us = _start(settings, since)
        self._position = self._start
        self._wanted: frozenset[Digest] = frozenset()
        self._states: dict[Digest, KeyStates] = {}
        self._emptied: list[Change] = []

    def states(self, wanted: frozenset[Digest]) -> States:
        """Return the states of these keys up to the end of the log; of those that changed.

        What was read for the same keys, or for more, is not read again. Raises the errors of a
        server, EventError, and MirrorError if the table was changed.
        """
        if not wanted <= self._wanted:
            self._position, self._states, self._emptied = self._start, {}, []
        self._wanted = wanted
        end_us = self._source.server_time_us()
        log = ServerLog(
            self._settings,
            start=f"position:{self._position}",
            stop_at_end=True,
            idle_timeout_seconds=None,
            verify_checksum=True,
            of_url=True,
        )
        try:
            self._read(log, end_us)
        finally:
            log.close()
        self._position = f"{log.name}:{log.position}"
        if self._emptied:
            for digest in wanted - self._states.keys():
                states = self._states[digest] = KeyStates()
                for change in self._emptied:
                    states.add(UNKNOWN, None, change)
        return {digest: own for digest, own in self._states.items() if digest in wanted}

    def hides(self, key: Digest, before_us: int) -> bool:
        """Return whether the log has no whole row of a key that has changed last before a time."""
        states = self._states.get(key)
        if states is None or not isinstance(states.values[-1], Unknown):
            return False
        last = states.changes[-1]
        return last is None or last.committed_us < before_us

    def _read(self, log: ServerLog, end_us: int) -> None:
        times: dict[tuple[str, int], int] = {}
        for transaction in transactions_of(_with_times(log.events(), times)):
            place = (transaction.file, transaction.position)
            committed = times.pop(place, 0)
            change = self._change(transaction, committed, end_us)
            while (event := transaction.next_event()) is not None:
                rows = changed_rows_in(event)
                if rows is None:
                    self._statement(event, change)
                elif (rows.table_map.schema, rows.table_map.table) == self._names:
                    self._rows.read(event, rows, change, self._add)
        self._rows.flush(self._add)

    def _change(self, transaction: Transaction, committed_us: int, end_us: int) -> Change:
        logged = int(transaction.timestamp.timestamp() * _US)
        gtid = transaction.gtid
        place = f"{transaction.file}:{transaction.position}" if gtid is None else str(gtid)
        if committed_us:
            return Change(committed_us, place, committed_us)
        return Change(end_us, place, logged)

    def _statement(self, event: Event, change: Change) -> None:
        body = event.body
        if not isinstance(body, QueryEvent):
            return
        statement = classify(body.query)
        if statement.kind not in _CHANGES_COLUMNS and statement.kind is not StatementKind.TRUNCATE:
            return
        statement.resolve(body.schema, lower_case=False)
        if self._names not in statement.tables:
            return
        self._rows.flush(self._add)
        if statement.kind is not StatementKind.TRUNCATE:
            facts = {"table": self._source.schema.name, "statement": statement.kind.value}
            raise MirrorError(foreign_errors.TABLE_CHANGED, **facts)
        for states in self._states.values():
            states.add(UNKNOWN, None, change)
        self._emptied.append(change)

    def _add(self, key: Digest, before: Value, after: Value, change: Change) -> None:
        if key not in self._wanted:
            return
        states = self._states.get(key)
        if states is None:
            states = self._states[key] = KeyStates()
            for emptied in self._emptied:
                states.add(UNKNOWN, None, emptied)
        states.add(before, after, change)


def _with_times(events: Iterator[Event], times: dict[tuple[str, int], int]) -> Iterator[Event]:
    """Yield events, and note when transactions were committed, by the place where they begin."""
    for event in events:
        body = event.body
        if isinstance(body, GtidEvent | GtidTaggedEvent | AnonymousGtidEvent):
            times[(event.file, event.position)] = body.immediate_commit_timestamp or 0
        yield event


def _start(settings: SourceSettings, since: float) -> tuple[str, int]:
    """Return where the log of a time begins, as FILE:POSITION, and the time that it reaches back.

    If the log does not reach back so far, it begins with its oldest file.
    """
    with MysqlServer.connect(settings) as server:
        form = server.variable("binlog_format")
        if form is not None and form.upper() != "ROW":
            raise SourceRefused(foreign_errors.LOG_NOT_ROWS, server=server.name, format=form)
        time = datetime.fromtimestamp(since, UTC)
        try:
            point = find_time(server, time.isoformat())
        except SourceRefused as error:
            if error.code is not dump_errors.BEFORE_LOGS:
                raise
            (row,) = server.query("SELECT UNIX_TIMESTAMP() AS now")
            return f"{next(iter(binary_logs(server)))}:4", int(str(row["now"])) * _US
        return f"{point.file}:{point.position}", int(since * _US)
