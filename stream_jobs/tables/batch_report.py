"""The report of a batch: what it did to each table, for status lines, metrics and maintenance."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from heapq import nlargest
from typing import Any, Final, NamedTuple

from connector.foundation.line_bounds import LEFT_OUT
from stream_jobs.apply.task_messages import PartResult
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.table import DeltaTable
from stream_jobs.tables.maintenance import ChangedTable
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.quarantine_files import QuarantinedTable
from stream_jobs.tables.topic_state import TopicState

_MS: Final = 1000
# A line has room for fewer of them.
_TABLES_NAMED: Final = 20
_SUMMED: Final = (
    "changes", "upserts", "deletes", "skipped", "missing", "commits", "bytes_written",
)  # fmt: skip


class TableState(NamedTuple):
    """A Delta table at one version."""

    version: int
    rows: int | None  # None if another program wrote files without statistics
    dead_rows: int
    files: int
    bytes: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "TableState":
        """Sum up the data files of a version."""
        files = snapshot.files.values()
        return cls(
            version=snapshot.version,
            rows=sum(f.live for f in files) if all(f.rows >= 0 for f in files) else None,
            dead_rows=sum(file.deleted for file in files),
            files=len(files),
            bytes=sum(file.size for file in files),
        )


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result of a batch for one table, and the table after it.

    What the table is after the batch is None if it has no mirror.
    """

    changes: int  # records of the batch, without tombstones
    upserts: int  # keys whose last change is an insert or an update
    deletes: int  # keys whose last change is a delete
    skipped: int  # changes that were applied before, are below a floor, or have no mirror
    # When the source committed the latest of the applied changes, without copied rows.
    source_ts_ms: int | None
    # Of the values of the rows that were inserted or updated, and of the keys of deleted ones.
    changed_bytes: int
    # Rows to take away that a truncate had taken before, in mode `rows`.
    missing: int = 0
    commits: int = 0  # with those of columns and of the upkeep
    commit_seconds: float = 0.0  # of all commits together
    # What was written: data files, dead rows, the log, and what the upkeep wrote again.
    bytes_written: int = 0
    committed_ms: int | None = None  # when the last commit that changed rows was written
    lag_seconds: float | None = None  # between the source's commit and the table's
    version: int | None = None  # of the Delta table
    rows: int | None = None  # None if another program wrote files without statistics
    dead_rows: int | None = None  # in data files, until these are compacted
    files: int | None = None  # data files
    bytes: int | None = None  # of data files

    @classmethod
    def of(cls, results: Sequence[PartResult]) -> "TableReport":
        """Sum up what tasks did; what has no mirror was skipped."""
        times = [result.streamed_ts_ms for result in results if result.streamed_ts_ms is not None]
        applied = sum(result.applied for result in results if result.is_applied)
        rows = sum(result.rows if result.is_applied else result.changes for result in results)
        return cls(
            changes=sum(result.changes for result in results),
            upserts=sum(result.upserts for result in results),
            deletes=sum(result.deletes for result in results),
            skipped=rows - applied,
            source_ts_ms=max(times, default=None),
            changed_bytes=sum(result.changed_bytes for result in results),
            missing=sum(result.missing for result in results),
        )

    def after_commits(self, table: DeltaTable) -> "TableReport":
        """Return the report with what the commits have cost, and with the table after them."""
        costs, state = table.take_costs(), TableState.of(table.snapshot)
        lag_seconds = None
        if costs.changed_ms is not None and self.source_ts_ms is not None:
            lag_seconds = max(0, costs.changed_ms - self.source_ts_ms) / _MS
        return replace(
            self,
            commits=costs.commits,
            commit_seconds=round(costs.seconds, 3),
            bytes_written=costs.bytes,
            committed_ms=costs.changed_ms,
            lag_seconds=lag_seconds,
            **state._asdict(),
        )


class TableSource(NamedTuple):
    """Where the changes of a table come from."""

    topic: str
    database: str
    table: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch."""

    seconds: float
    records: int  # including tombstones
    tables: dict[str, TableReport]  # by `database.table`
    sources: dict[str, TableSource]  # of these tables
    keyless_topics: list[str]  # topics of tables without a mirror
    # Seconds of the parts of a batch: planning, tasks, commits, upkeep.
    phases: dict[str, float]
    # Tables that this batch has set aside, and those that go on.
    quarantined: list[QuarantinedTable] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)  # `database.table`
    # By topic, records that were left out by request: partition and offset.
    skipped: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    # The number of all tables that are set aside.
    set_aside: int = 0
    # By database and name of each mirror that was changed, its path below `mirror.path`.
    mirrors: dict[tuple[str, str], str] = field(default_factory=dict)
    # The number of the cut at which the batch has ended; None if it has not come to one.
    cut: int | None = None

    @property
    def has_news(self) -> bool:
        """Whether anything was done."""
        return bool(self.records or self.tables or self.quarantined or self.resumed)

    def table_facts(self) -> dict[str, Any]:
        """Return what a status line says of the tables: those with most changes, and the sums."""
        every = self.tables.values()
        lags = [table.lag_seconds for table in every if table.lag_seconds is not None]
        totals: dict[str, Any] = {
            "tables": sum(table.changes > 0 for table in every),
            **{name: sum(getattr(table, name) for table in every) for name in _SUMMED},
            "lag_seconds": max(lags, default=None),
        }
        busiest = nlargest(_TABLES_NAMED, self.tables.items(), key=lambda item: item[1].changes)
        facts = {"tables": {name: asdict(table) for name, table in busiest}, "totals": totals}
        left = len(every) - len(busiest)
        return facts | {LEFT_OUT: {"tables": left}} if left else facts


class TableResult:
    """The results of all rounds of one table."""

    def __init__(self, services: MirrorContext, state: TopicState) -> None:
        self._services = services
        self._state = state
        self._finished: list[PartResult] = []
        # None if there were no records, no statement was followed, and no load has ended.
        self.report: TableReport | None = None
        self.records = 0

    @property
    def name(self) -> str:
        """`database.table`, or the topic if that is not known."""
        history = self._services.registry.history(self._state.topic)
        return history[-1].name if history else self._state.topic

    @property
    def source(self) -> TableSource:
        """Where the changes come from; by the topic if the names are not known."""
        topic = self._state.topic
        history = self._services.registry.history(topic)
        names = (history[-1].database, history[-1].table) if history else topic.split(".")[1:]
        return TableSource(topic, *names)

    @property
    def kept(self) -> ChangedTable | None:
        """The table, if something was committed to it."""
        own, schema = self._state.mirror, self._state.schema
        if own is None or schema is None or self.report is None:
            return None
        target = self._state.settings.target_file_bytes if self._state.settings else 0
        return ChangedTable(self._state.topic, own, self._state.mode.file_order(schema), target)

    @property
    def place(self) -> dict[tuple[str, str], str]:
        """The database, the name and the path of the mirror, if something was committed to it."""
        own, schema = self._state.mirror, self._state.schema
        if own is None or schema is None or self.report is None:
            return {}
        return {schema.place: own.delta.path}

    def final_report(self) -> TableReport | None:
        """Return the report after all commits of the batch; None if there were no records."""
        kept = self.kept
        if kept is None or self.report is None:
            return self.report
        return self.report.after_commits(kept.mirror.delta)

    def add(self, results: Sequence[PartResult]) -> None:
        """Count what a round has applied."""
        self._finished += results
        self.records = sum(result.records for result in self._finished)
        if self.records:
            self.report = TableReport.of(self._finished)

    def add_commit(self) -> None:
        """Note a commit without rows: the mirror follows a statement, or its load has ended."""
        self.report = self.report or TableReport.of(())
