"""All tables, one after the other: what the command `verify` calls."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import Settings
from connector.stream.snapshot.copy_requests import matching_tables, names_ignore_case
from connector.stream.snapshot.table_plan import followed_tables
from stream_jobs.apply.modes.history import History
from stream_jobs.apply.modes.journal import Journal
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.settings import Settings as JobSettings
from stream_jobs.settings import load_settings
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import verify_errors
from verification.candidate_check import TablePair
from verification.commit_times import CommitTimeCache
from verification.cut_changes import ChangedKeys, parse_cut
from verification.cut_facts import CutSummary, IncrementalScope
from verification.digests import Digest
from verification.iceberg_check import compare
from verification.intervals import Intervals
from verification.journal_side import JournalSide
from verification.key_ranges import EqualRanges
from verification.keyless_check import KeylessTableCheck
from verification.mirror_side import MirrorSide
from verification.pass_state import PassState
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer
from verification.report import TableResult
from verification.row_origins import RowOrigins
from verification.run_progress import RunProgress
from verification.side import Side
from verification.side_factory import SideFactory
from verification.small_tables import SmallTables
from verification.source_table import RowKey, SourceTable
from verification.table_check import Limits, TableCheck
from verification.table_definitions import DefinedTable, TableName, read_tables
from verification.table_queue import TableQueue

# Their definitions are read together.
_TABLES_OF_A_QUERY: Final = 100
# More tables do not wait for their turn: each keeps its definition.
_WAITING_MAX: Final = 200


def verify(
    settings: Settings,
    job: Path,
    patterns: Sequence[str],
    limits: Limits,
    progress: RunProgress,
    path: Path | None = None,
    *,
    of_replica: bool,
) -> Iterator[TableResult]:
    """Compare the tables that match, all followed ones without a pattern; yield each result.

    `settings` are the connector's, and `job` is the configuration of the Spark job. `progress`
    gets what was read. At `path` is the state of a pass that can be interrupted. Raises
    ConfigError for a pattern that matches nothing and for wrong settings, the errors of connecting,
    and those of `PassState` and `Run`.
    """
    mirror = job_settings(settings, job)
    server = ReplicaServer(mirror) if of_replica else None
    with Pipeline(settings, limits.patience_seconds, limits.rows_per_second) as pipeline:
        names = table_names(pipeline, patterns)
        compared = _compared(pipeline, mirror, server, patterns)
        state = None if path is None else PassState(path, compared)
        progress.begin(len(names))
        run = Run(pipeline, mirror, server, limits, progress.read, state)
        for result in run.tables(names):
            progress.end(result.name, result.rows + result.mirror_rows)
            yield result
        if state is not None:
            state.end()


def _compared(
    pipeline: Pipeline, job: JobSettings, server: ReplicaServer | None, patterns: Sequence[str]
) -> dict[str, object]:
    """Return what is compared with what, by words that people know."""
    choices = [table.model_dump(mode="json") for table in job.tables]
    return {
        "pipeline": pipeline.settings.name,
        "topic prefix": job.kafka.topic_prefix,
        "server": pipeline.server_uuid,
        "mirror": job.mirror.path,
        "replica": None if server is None else f"{job.name} at {server.name}",
        "choices for tables": sha256(json.dumps(choices).encode()).hexdigest(),
        "tables": sorted(patterns),
    }


def job_settings(settings: Settings, job: Path) -> JobSettings:
    """Return the settings of the Spark job. Raises ConfigError if they are of other topics."""
    mirror = load_settings(job)
    if mirror.kafka.topic_prefix != settings.kafka.topic_prefix:
        raise ConfigError(
            verify_errors.OTHER_TOPICS,
            path=job,
            mirror=mirror.kafka.topic_prefix,
            connector=settings.kafka.topic_prefix,
        )
    return mirror


def table_names(pipeline: Pipeline, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Return database and table of those that match, of all followed ones without a pattern.

    Raises ConfigError for a pattern that matches nothing, and the errors of a session.
    """
    if patterns:
        return matching_tables(pipeline.session, pipeline.settings, patterns)
    source = pipeline.settings.source
    ignores_case = names_ignore_case(pipeline.session)
    tables = TableFilter(source.tables, source.exclude_tables, ignores_case=ignores_case)
    return followed_tables(pipeline.session, tables)


class Run:
    """Compares tables with the mirrors of one job, or with the replica of these mirrors."""

    def __init__(
        self,
        pipeline: Pipeline,
        job: JobSettings,
        server: ReplicaServer | None,
        limits: Limits,
        show: Callable[[str, int, int], None],
        state: PassState | None = None,
        times: CommitTimeCache | None = None,
    ) -> None:
        """Compare with the replica at `server`; without it, with the mirrors.

        `show` gets a table, the rows that were read of both sides, and about how many there are,
        from several threads. Compare as `limits` say, and go on with `state`, and with the `times`
        of the source's log that an earlier run has read. Raises the errors of `chosen_cut`.
        """
        self._times = CommitTimeCache() if times is None else times
        self._state = state
        self._pipeline = pipeline
        self._job = job
        self._server = server
        self._limits = limits
        self._show = show
        self._storage = storage_of(job.mirror.path)
        self._cuts = CutStore(self._storage, job.mirror.path)
        self._since = None
        if limits.since:
            self._since = parse_cut(self._storage, job.mirror.path, limits.since)
        self._choices = TableOptionsResolver.of_settings(job)
        self._sides = SideFactory(pipeline, job, server, self._storage, self._choices)

    def tables(self, names: Sequence[TableName]) -> Iterator[TableResult]:
        """Compare some tables, and yield each result when it is there.

        Small ones are compared together; of those that are not equal, many wait at the same time
        until the mirror has what the source has.
        """
        is_together = self._is_whole and self._server is None
        pipeline = self._pipeline
        with SmallTables(pipeline, self._opened) as small, TableQueue(self._compared) as queue:
            for start in range(0, len(names), _TABLES_OF_A_QUERY):
                some = names[start : start + _TABLES_OF_A_QUERY]
                defined = read_tables(pipeline.session, some)
                new = {name: own for name, own in defined.items() if not self._is_begun(*name)}
                found = small.compared(new if is_together else {})
                for name in some:
                    if name in found.equal:
                        yield self._finished(found.equal[name])
                    else:
                        queue.add(name, defined.get(name), is_small=name in found.others)
                yield from map(self._finished, queue.results(_WAITING_MAX))
            yield from map(self._finished, queue.results(0))

    @property
    def _is_whole(self) -> bool:
        """Whether all rows are compared."""
        return self._limits.sample is None and self._since is None

    def _is_begun(self, database: str, table: str) -> bool:
        """Return whether an earlier run of the pass has compared a part of a table, or all."""
        return self._state is not None and self._state.has(f"{database}.{table}")

    def table(self, database: str, table: str) -> TableResult:
        """Compare one table; an error is a part of its result."""
        return self._finished(self._compared(database, table, None, is_small=False))

    def _compared(
        self, database: str, table: str, defined: DefinedTable | None, *, is_small: bool
    ) -> TableResult:
        """Compare a table; one that `is_small` was summed already. Several threads call it."""
        side = "mirror" if self._server is None else "replica"
        result = TableResult(f"{database}.{table}", side)
        if self._state is not None and self._state.is_equal(result.name):
            self._state.restore(result)
            return result
        began = time.monotonic()
        try:
            if self._is_whole:
                result.began_at = self._pipeline.moment()
            self._compare(self._source(database, table, defined), result, is_summed=is_small)
        except ConfigError:
            raise
        except ConnectorError as error:
            result.error = error
            result.is_left_out = error.code in _LEFT_OUT
        result.seconds += time.monotonic() - began
        return result

    def _finished(self, result: TableResult) -> TableResult:
        """Return a result with the time, and note it for the next run."""
        if self._state is not None and self._state.is_equal(result.name):
            return result
        result.compared_at = result.compared_at or datetime.now(UTC).isoformat(timespec="seconds")
        if self._state is not None:
            self._state.finish(result)
        return result

    def _source(self, database: str, table: str, defined: DefinedTable | None) -> SourceTable:
        pipeline = self._pipeline
        return SourceTable(
            pipeline.session,
            pipeline.lent_session,
            (database, table),
            pipeline.pace,
            self._choices,
            self._job.mirror.zero_dates,
            None if defined is None else defined.plan,
        )

    def _opened(
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

    def _compare(self, source: SourceTable, result: TableResult, *, is_summed: bool) -> None:
        pipeline = self._pipeline
        own: Side | None = None
        try:
            own = self._sides.of(source)
            if own is None:
                self._require_empty(source)
                return
            counted = counted_mirror(own)
            if counted is None and not source.has_order:
                raise MirrorError(verify_errors.NO_ORDER, table=result.name)

            def show(done: int, total: int) -> None:
                self._show(result.name, done, total)

            wanted = self._wanted(source, own, result)
            if counted is not None:
                KeylessTableCheck(pipeline, source, counted, self._limits, result, show).run()
            else:
                TableCheck(
                    TablePair(pipeline, source, own),
                    self._limits,
                    result,
                    show,
                    self._origins(own, source, result),
                    wanted,
                    self._equal_ranges(source, own, result),
                ).run(is_summed=is_summed)
                self._check_intervals(own, source, result)
            self._check_iceberg(own, source, result)
        finally:
            source.close()
            if own is not None:
                own.close()

    def _check_iceberg(self, side: Side, source: SourceTable, result: TableResult) -> None:
        """Look at the Iceberg table of a mirror, if there is to be one."""
        database, table = source.schema.database, source.schema.table
        if isinstance(side, MirrorSide) and self._choices.has_iceberg(database, table):
            files = TableFiles(self._storage, reader_uri(self._job.mirror.path))
            result.iceberg = compare(files, side, self._limits.differences_max)

    def _check_intervals(self, side: Side, source: SourceTable, result: TableResult) -> None:
        """Look at the borders of a history, and at the changes of a journal, if all is compared."""
        if not (self._is_whole and isinstance(side, MirrorSide) and side.mode in _HAVE_TIMES):
            return
        database, table = source.schema.database, source.schema.table
        past = self._pipeline.history(database, table)
        times, result.borders_note = self._times.up_to_now(self._pipeline, self._cuts)
        most = self._limits.differences_max
        intervals = Intervals(side, past.key_since(), times, most)
        result.intervals = intervals.wrong()

    def _origins(self, side: Side, source: SourceTable, result: TableResult) -> RowOrigins | None:
        """Return what tells since when a mirror has its rows.

        A replica has no versions, and in a journal no row takes the place of another one.
        """
        if not isinstance(side, MirrorSide) or isinstance(side, JournalSide):
            return None
        return RowOrigins(side, self._cuts, result.name, source.key_number)

    def _wanted(
        self, source: SourceTable, mirror: Side, result: TableResult
    ) -> Callable[[], dict[Digest, RowKey] | None] | None:
        """Return what finds the keys that are compared; None if all rows are."""
        why = full_comparison_reason(source, mirror)
        if why:
            if self._since is not None:
                facts = CutSummary.of(self._since)
                result.compared_since = IncrementalScope(facts, None, why)
            return None
        if self._state is not None:
            of = _compared_of(source.schema, mirror)
            different = self._state.different(result.name, of, source.schema)
            if different is not None:
                self._state.restore(result)
                return lambda: different
        if self._since is None or not isinstance(mirror, MirrorSide):
            return None
        root = self._job.mirror.path
        return ChangedKeys(self._pipeline, source, mirror, self._since, root, result).keys

    def _equal_ranges(
        self, source: SourceTable, mirror: Side, result: TableResult
    ) -> EqualRanges | None:
        if self._state is None or result.began_at is None:
            return None
        return self._state.begin(result, _compared_of(source.schema, mirror), result.began_at)

    def _require_empty(self, source: SourceTable) -> None:
        """Raise MirrorError if a table without a mirror has rows: they make the mirror."""
        name, base = source.schema.name, self._job.mirror.path
        if self._pipeline.session.query(f"SELECT 1 FROM {source.quoted_name} LIMIT 1"):  # noqa: S608 - a quoted name
            raise MirrorError(verify_errors.NO_MIRROR, table=name, path=base)


def _compared_of(schema: TableSchema, mirror: Side) -> list[str]:
    """Return what is compared of a table: what was equal before counts only for the same."""
    return [schema.schema_id, mirror.snapshot.metadata.table_id, *mirror.columns]


_HAVE_TIMES = (History.name, Journal.name)
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
