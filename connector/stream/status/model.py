"""The status of a pipeline at one moment; each field is also a field of `/status.json`.

Times are seconds since the epoch, on the clock of the process, and sizes are bytes. None stands for
a value that is not known now.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from pydantic import TypeAdapter

from connector.stream.metrics.pipeline_metrics import FencedTable  # a type of the JSON


class Level(StrEnum):
    """What a condition means for the person on call."""

    GOOD = "good"  # nothing to do
    WARNING = "warning"  # it may pass by itself
    CRITICAL = "critical"  # somebody must act


class State(StrEnum):
    """A state in one word; the first one that applies is shown."""

    STOPPED = "stopped"  # no process answers
    UNKNOWN = "unknown"  # the process serves no status, so nobody knows whether it runs
    CANNOT_CONTINUE = "cannot-continue"  # no server has what follows
    STUCK = "stuck"  # the main loop does not turn
    KAFKA_AWAY = "kafka-away"
    SOURCE_AWAY = "source-away"
    PAUSED = "paused"  # somebody lets the stream wait
    INTERRUPTED = "interrupted"  # a transient error; the next attempt follows
    STARTING = "starting"
    PURGE_SOON = "purge-soon"  # the source will soon drop log files that were not read
    QUARANTINE = "quarantine"  # changes are held back
    COPY_FAILED = "copy-failed"
    MIRROR_FAILED = "mirror-failed"  # the Spark job has failed, and does not run
    MIRROR_DIFFERS = "mirror-differs"  # the last comparison found rows that differ
    MIRROR_SET_ASIDE = "mirror-set-aside"  # tables that the Spark job cannot go on with
    MIRROR_AWAY = "mirror-away"  # the Spark job or the comparison does not answer
    MIRROR_LAGGING = "mirror-lagging"
    LAGGING = "lagging"
    COPYING = "copying"
    STREAMING = "streaming"

    @property
    def words(self) -> str:
        """The state as a person reads it."""
        return self.value.replace("-", " ").replace("kafka", "Kafka")


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is true of the pipeline now."""

    state: State
    level: Level
    reason: str
    code: str | None = None  # of the error; `binlog-connector explain CODE` has its cause and fix


@dataclass(frozen=True, slots=True)
class Process:
    """The process of the pipeline; of a stopped one, the process that committed last."""

    host: str
    pid: int
    instance: str
    started_at: float | None = None
    version: str | None = None
    code: str | None = None  # "compiled" or "interpreted"


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where the stream is committed."""

    file: str
    position: int
    gtid_set: str | None
    epoch: int
    flavour: str
    server_uuid: str
    committed_at: float | None  # when Kafka committed it
    source_committed_at: float | None  # when the source committed the last delivered transaction


@dataclass(frozen=True, slots=True)
class Host:
    """A server of `source.host` and `source.failover_hosts`."""

    address: str
    in_use: bool
    # Whether it has everything that follows; None if it was not asked.
    can_continue: bool | None = None
    note: str = ""  # why it cannot
    code: str | None = None


@dataclass(frozen=True, slots=True)
class LagStatus:
    """What the source has committed and the stream has not delivered."""

    seconds: float
    bytes: int | None
    transactions: int | None
    # Until nothing is left, at the speed of the last minute; None while the rest does not shrink.
    catch_up_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    """When the source may drop log files that were not read."""

    seconds: float | None  # None if it keeps them for ever
    retention_seconds: float | None  # None if it keeps them for ever

    @property
    def part(self) -> float:
        """The part of the retention that is left, from 0 to 1."""
        if self.seconds is None or not self.retention_seconds:
            return 1.0
        return min(1.0, max(0.0, self.seconds / self.retention_seconds))


@dataclass(frozen=True, slots=True)
class Rates:
    """Committed work a second."""

    records: float
    transactions: float
    bytes: float


@dataclass(frozen=True, slots=True)
class RatePoint:
    """A point of the curves: the mean since the point before it."""

    at: float
    records: float  # a second
    # The longest lag since the point before it, in seconds; None if it was not known.
    lag: float | None = None


@dataclass(frozen=True, slots=True)
class Throughput:
    """Committed work: now, since the process began, and the curve of the last hour."""

    now: Rates
    hour: list[RatePoint]
    records: int
    transactions: int
    bytes: int
    commits: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The copy of a table."""

    phase: str  # "waiting", "copying" or "failed"
    rows: int
    estimated_rows: int
    rows_per_second: float | None = None
    eta_seconds: float | None = None
    error: str = ""  # why it failed, or why the table cannot be read now
    # Since when rows that foreign keys have changed wait for it, or the table cannot be read.
    since: float | None = None

    @property
    def part(self) -> float:
        """The part that is copied, from 0 to 1."""
        return min(1.0, self.rows / self.estimated_rows) if self.estimated_rows else 0.0


@dataclass(frozen=True, slots=True)
class ReadPace:
    """How much of the source copies may read."""

    reads: float  # at a time
    held_by: str = ""  # why they do not become more
    code: str | None = None


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table; counts are those of the process."""

    name: str  # database.table
    records: int = 0
    bytes: int = 0
    last_change: float | None = None  # when the source committed it
    copy: CopyProgress | None = None
    kept_back: FencedTable | None = None


@dataclass(frozen=True, slots=True)
class MirrorTable:
    """The mirror of one table, as the Spark job and the comparison know it."""

    name: str  # database.table
    lag_seconds: float | None = None  # of the mirror to Kafka
    rows: int | None = None
    files: int | None = None
    version: int | None = None  # of the Delta table
    last_commit: float | None = None
    verified_seconds: float | None = None  # since the last finished comparison began
    differences: int | None = None  # rows, in the last finished comparison
    set_aside: str | None = None  # the code of the error by which the job cannot go on with it
    # The source's time up to which it was found equal, and the end of the GTID set of that time.
    equal_through: float | None = None
    equal_through_transactions: str = ""


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a run of the Spark job has failed."""

    at: float
    code: str
    error: str


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """What the Spark job (`metrics.mirror`) and `verify --forever` (`metrics.verify`) say."""

    job_address: str | None
    job_note: str  # why it is not well; empty if it is
    verify_address: str | None
    verify_note: str
    set_aside: int | None  # tables
    last_batch_seconds: float | None  # since its end
    running_batch_seconds: float | None  # 0 between batches
    tables: list[MirrorTable]
    # Of the newest run, or of the one before it.
    job_failure: JobFailure | None = None
    job_runs: bool = False  # whether its stream is open
    # Until all mirrors have what is in Kafka; None while the rest does not shrink.
    catch_up_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """An event of the process, with the words of its log line."""

    at: float
    level: str  # "info", "warning" or "error"
    what: str
    details: dict[str, str]
    code: str | None = None
    # If the same happened several times in a row: how often, and when last.
    times: int = 1
    last_at: float | None = None


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """All facts; the first condition is the state."""

    pipeline: str
    at: float
    conditions: list[Condition]
    process: Process | None
    position: Position | None
    hosts: list[Host]
    lag: LagStatus | None
    purge: Purge | None
    throughput: Throughput | None  # None if no process answers
    tables: list[TableStatus]
    events: list[ProcessEvent]  # the newest first
    mirror: MirrorStatus | None = None  # None if it is not configured, or not asked yet
    reading: ReadPace | None = None  # None while no table is copied

    @property
    def state(self) -> Condition:
        """The state in one word, with its reason."""
        return self.conditions[0]

    @property
    def end_to_end_seconds(self) -> float | None:
        """How late the latest mirror is to the source; None if that is not known.

        The lag of a mirror begins with a commit at the source. If it has all that is in Kafka, it
        is as late as the stream.
        """
        if self.mirror is None or self.lag is None:
            return None
        lags = [one.lag_seconds for one in self.mirror.tables if one.lag_seconds is not None]
        return max(self.lag.seconds, *lags) if lags else None

    @property
    def worst(self) -> Level:
        """The worst level of all conditions."""
        levels = list(Level)
        return max((one.level for one in self.conditions), key=levels.index)


@cache
def _adapter() -> TypeAdapter[PipelineStatus]:
    # Takes 20 ms, and most pipelines start long before somebody asks.
    return TypeAdapter(PipelineStatus)


def of_tables(facts: PipelineStatus, fits: Callable[[str], bool]) -> PipelineStatus:
    """Return the status with those of its tables and mirrors whose names fit."""
    mirror = facts.mirror
    if mirror is not None:
        mirror = replace(mirror, tables=[table for table in mirror.tables if fits(table.name)])
    tables = [table for table in facts.tables if fits(table.name)]
    return replace(facts, tables=tables, mirror=mirror)


def to_json(facts: PipelineStatus) -> bytes:
    """Return the facts as JSON."""
    return _adapter().dump_json(facts)


def from_json(text: bytes) -> PipelineStatus:
    """Return the facts of a JSON text; raises ValueError for another one."""
    return _adapter().validate_json(text)
