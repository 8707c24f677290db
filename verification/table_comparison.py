"""One table of the source and its mirror or replica: how they are compared, by what they are."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from connector.foundation.errors import ConfigError, ConnectorError
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import folder_of
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import intervals, verify_errors
from verification.baseline import Baseline, compared_names, compared_of
from verification.baselines import Baselines
from verification.candidate_check import TablePair
from verification.changed_keys import AllRowsError, ChangedKeys
from verification.commit_times import CommitTimeCache
from verification.cut_changes import keys_since_cut, parse_cut
from verification.cut_facts import CutSummary, IncrementalScope
from verification.digests import Digest
from verification.iceberg_check import compare
from verification.journal_side import JournalSide
from verification.key_ranges import EqualRanges
from verification.keyless_check import KeylessTableCheck
from verification.mirror_side import MirrorSide
from verification.pass_state import PassState
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer
from verification.report import TableResult
from verification.row_origins import RowOrigins
from verification.side import Side
from verification.side_factory import SideFactory
from verification.source_table import RowKey, SourceTable, altered_error, table_plan
from verification.table_check import Limits, TableCheck
from verification.table_definitions import DefinedTable, TableName

# What is compared of a table: all rows; all, one by one, because the sums differ; the keys that
# have changed since its baseline.
Scope = Literal["all", "rows", "changes"]


class TableComparison:
    """Compares tables with the mirrors of one job, or with the replica of these mirrors.

    Several threads may use it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        job: JobSettings,
        server: ReplicaServer | None,
        limits: Limits,
        show: Callable[[str, int, int], None],
        known: PassState | Baselines | None = None,
        times: CommitTimeCache | None = None,
    ) -> None:
        """Compare with the replica at `server`; without it, with the mirrors.

        `show` gets a table, the rows that were read of both sides, and about how many there are,
        from several threads. Compare as `limits` say, and go on with what is `known`, and with the
        `times` of the source's log that were read earlier. Raises the errors of `parse_cut`.
        """
        self._times = CommitTimeCache() if times is None else times
        self._state = None if isinstance(known, Baselines) else known
        self._baselines = known if isinstance(known, Baselines) else None
        self._pipeline = pipeline
        self._job = job
        self._server = server
        self._limits = limits
        self._show = show
        self._storage = storage_of(job.mirror.path)
        folder = folder_of(job)
        self._cuts = CutStore(*folder)
        self._since = parse_cut(*folder, limits.since) if limits.since else None
        self._choices = TableOptionsResolver.of_settings(job)
        self._sides = SideFactory(pipeline, job, server, self._storage, self._choices)
        # Tables that are open and wait for a thread.
        self._kept: dict[TableName, tuple[SourceTable, MirrorSide]] = {}
        # Until when tables are waited for that are not published to Iceberg; None: none was met.
        self._published_by: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all rows are compared."""
        return self._limits.sample is None and self._since is None

    @property
    def is_of_replica(self) -> bool:
        """Whether tables are compared with a replica."""
        return self._server is not None

    def keep(self, tables: Mapping[TableName, tuple[SourceTable, MirrorSide]]) -> None:
        """Compare these tables as they were opened: to open one reads the log of its mirror."""
        self._kept.update(tables)

    def compared(self, name: TableName, defined: DefinedTable | None, scope: Scope) -> TableResult:
        """Compare a table; an error is a part of its result. Raises ConfigError for settings.

        If its changes do not tell which keys to compare, the result says so by `needs_all_rows`.
        """
        database, table = name
        side = "mirror" if self._server is None else "replica"
        result = TableResult.of(name, side=side)
        if self._state is not None and self._state.is_equal(result.key):
            self._state.restore(result)
            return result
        began = time.monotonic()
        try:
            if self.is_whole:
                result.began_at = self._pipeline.moment()
            kept = self._kept.pop(name, None)
            source, own = kept or (self._source(database, table, defined), None)
            try:
                self._compare(source, own, result, scope)
            except ConnectorError as error:
                if error.code in _LEFT_OUT:
                    raise
                raise altered_error(self._pipeline.session, source.selected, error) from error
        except ConfigError:
            raise
        except AllRowsError:
            result.needs_all_rows = True
        except ConnectorError as error:
            result.error = error
            result.is_left_out = error.code in _LEFT_OUT
        result.seconds += time.monotonic() - began
        return result

    def _source(self, database: str, table: str, defined: DefinedTable | None) -> SourceTable:
        pipeline = self._pipeline
        settings = pipeline.pace.settings
        return SourceTable(
            pipeline.lent_session,
            defined.plan
            if defined is not None
            else table_plan(pipeline.session, (database, table), settings),
            pipeline.pace,
            self._choices,
            self._job.mirror.zero_dates,
            pipeline.patience,
        )

    def opened(
        self, name: TableName, defined: DefinedTable
    ) -> tuple[SourceTable, MirrorSide | None]:
        """Return a table and its mirror, if it can be compared with others; raises as `_compare`.

        A journal is read as a whole when it is opened.
        """
        source = self._source(*name, defined)
        database, table = name
        is_large = self._choices.has_iceberg(database, table)
        own = None if is_large else self._sides.of(source, may_fold=False)
        return source, own if isinstance(own, MirrorSide) else None

    def _compare(
        self, source: SourceTable, own: Side | None, result: TableResult, scope: Scope
    ) -> None:
        pipeline = self._pipeline
        try:
            # What the topic gets from here on is compared by the next round.
            names = source.schema.database, source.schema.table
            ends = None if self._baselines is None else pipeline.ends(*names)
            own = own or self._sides.of(source)
            if own is None:
                self._require_empty(source)
                return
            counted = counted_mirror(own)
            if counted is None and not source.has_order:
                raise MirrorError(verify_errors.NO_ORDER, table=result.name)

            def show(done: int, total: int) -> None:
                self._show(result.name, done, total)

            if ends is not None and isinstance(own, MirrorSide):
                of = compared_of(source.schema, own)
                result.baseline = Baseline(of, own.snapshot.version, ends)
            wanted = self._wanted(source, own, result, scope)
            if counted is not None:
                KeylessTableCheck(pipeline, source, counted, self._limits, result, show).run()
            else:
                TableCheck(
                    TablePair(pipeline, source, own),
                    self._limits_of(own),
                    result,
                    show,
                    self._origins(own, source),
                    wanted,
                    self._equal_ranges(source, own, result),
                ).run(is_summed=scope == "rows")
                if scope != "changes":
                    self._check_intervals(own, source, result)
            self._check_columns(own, source, result)
            self._check_iceberg(own, source, result)
        finally:
            source.close()
            if own is not None:
                own.close()

    def _limits_of(self, side: Side) -> Limits:
        """Return the limits of a table: a mirror that lags need not be waited for.

        What is remembered for a later run is what the mirror has when this one begins.
        """
        remembers = self._state is not None or self._baselines is not None
        has_rows = isinstance(side, MirrorSide) and not isinstance(side, JournalSide)
        return replace(self._limits, waits_for_mirror=remembers or not has_rows)

    def _check_iceberg(self, side: Side, source: SourceTable, result: TableResult) -> None:
        """Look at the Iceberg table of a mirror, if there is to be one."""
        database, table = source.schema.database, source.schema.table
        if isinstance(side, MirrorSide) and self._choices.has_iceberg(database, table):
            files = TableFiles(self._storage, reader_uri(self._job.mirror.path))
            patience = self._limits.patience_seconds + self._job.iceberg.every_seconds
            most = self._limits.differences_max
            result.iceberg = compare(files, side, most, patience)
            if result.iceberg.note and self._published_by is None:
                # The mirror may be new. All tables together wait as long as one.
                self._published_by = time.monotonic() + patience
            while result.iceberg.note and time.monotonic() < (self._published_by or 0.0):
                time.sleep(_LOOK_SECONDS)
                result.iceberg = compare(files, side, most, patience)

    def _check_columns(self, side: Side, source: SourceTable, result: TableResult) -> None:
        """Find columns that the mirror lacks, although it has rows that came with them."""
        if not (result.missing_columns and isinstance(side, MirrorSide)):
            return
        past = self._pipeline.history(source.schema.database, source.schema.table)
        has = {column.name for column in side.snapshot.columns}
        for name in result.missing_columns:
            first = None if name in has else past.column_since(name)
            if first is not None and side.has_rows_since(first):
                result.lost_columns.append(name)

    def _check_intervals(self, side: Side, source: SourceTable, result: TableResult) -> None:
        """Look at the borders of a history, and at the changes of a journal, if all is compared."""
        if not (self.is_whole and isinstance(side, MirrorSide) and side.mode in intervals.MODES):
            return
        database, table = source.schema.database, source.schema.table
        past = self._pipeline.history(database, table)
        times, result.borders_note = self._times.up_to_now(self._pipeline, self._cuts)
        most = self._limits.differences_max
        result.intervals = intervals.Intervals(side, past.key_since(), times, most).wrong()

    def _origins(self, side: Side, source: SourceTable) -> RowOrigins | None:
        """Return what tells since when a mirror has its rows.

        A replica has no versions, and in a journal no row takes the place of another one.
        """
        if not isinstance(side, MirrorSide) or isinstance(side, JournalSide):
            return None
        return RowOrigins(side, self._cuts, side.name_in_cuts, source.key_number)

    def _wanted(
        self, source: SourceTable, mirror: Side, result: TableResult, scope: Scope
    ) -> Callable[[], dict[Digest, RowKey] | None] | None:
        """Return what finds the keys that are compared; None if all rows are.

        Raises AllRowsError if the changes of a table do not tell its keys.
        """
        why = full_comparison_reason(source, mirror)
        if why:
            if scope == "changes":
                raise AllRowsError(why)
            if self._since is not None:
                facts = CutSummary.of(self._since)
                result.compared_since = IncrementalScope(facts, None, why)
            return None
        if self._state is not None:
            of = compared_names(source.schema, mirror)
            different = self._state.different(result.key, of, source.schema)
            if different is not None:
                self._state.restore(result)
                return lambda: different
        if not isinstance(mirror, MirrorSide):
            return None
        changes = ChangedKeys(self._pipeline, source, mirror)
        if scope == "changes" and self._baselines is not None:
            keys = self._baselines.changed(changes, source.schema, mirror, result)
            return lambda: keys
        if (cut := self._since) is not None:
            return lambda: keys_since_cut(changes, mirror, cut, self._job.mirror.path, result)
        return None

    def _equal_ranges(
        self, source: SourceTable, mirror: Side, result: TableResult
    ) -> EqualRanges | None:
        if self._state is None or result.began_at is None:
            return None
        return self._state.begin(result, compared_names(source.schema, mirror), result.began_at)

    def _require_empty(self, source: SourceTable) -> None:
        """Raise MirrorError if a table without a mirror has rows: they make the mirror."""
        name, base = source.schema.name, self._job.mirror.path
        if self._pipeline.session.query(f"SELECT 1 FROM {source.quoted_name} LIMIT 1"):  # noqa: S608 - a quoted name
            raise MirrorError(verify_errors.NO_MIRROR, table=name, path=base)


_LOOK_SECONDS = 0.5
_LEFT_OUT = (
    verify_errors.SKIPPED,
    verify_errors.MODE,
    verify_errors.HIDDEN_KEY,
    verify_errors.NO_KEY,
    verify_errors.NO_MOMENT,
    verify_errors.NO_RANGES,
    verify_errors.REPLICA_MODE,
    verify_errors.REPLICA_TYPE,
)


def counted_mirror(side: Side) -> MirrorSide | None:
    """Return the mirror of a table without a key, whose rows are counted; None for any other."""
    return side if isinstance(side, MirrorSide) and side.is_counted else None


def full_comparison_reason(source: SourceTable, mirror: Side) -> str:
    """Return why all rows have to be compared, whatever is known of some keys; "" if not."""
    if counted_mirror(mirror) is not None:
        return "the table has no key"
    if isinstance(mirror, JournalSide):
        return "the mirror is a journal"
    return "the mirror hides the key" if source.clear_keys.names else ""
