"""The metrics of one process: the pipeline's thread counts, and other threads read.

Every attribute is one number, or an object that is replaced and never changed, so none of them
needs a lock. The state of a peer, source or Kafka, says whether it answers; a log line says when
one is lost, and when it is back.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from connector.foundation.errors import ConnectorError, SourceRefused, fields
from connector.foundation.metrics import Histogram, turning
from connector.replication.read_pace import PaceState
from connector.stream.metrics.control import Control
from connector.stream.progress.progress_record import Progress


class PeerState:
    """The state of one peer; any thread may change it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._up: bool | None = None  # None before the first attempt
        # Why the peer does not answer; None if it answers.
        self.error: ConnectorError | None = None
        self._since = time.monotonic()

    @property
    def up(self) -> bool:
        """Whether the last attempt succeeded; False before the first."""
        return self._up is True

    @property
    def lost(self) -> bool:
        """Whether the last attempt failed; False before the first."""
        return self._up is False

    @property
    def away_seconds(self) -> float:
        """For how many seconds the peer has not answered; 0 if it answers."""
        return time.monotonic() - self._since if self.lost else 0.0

    def lose(self, error: ConnectorError) -> bool:
        """Note that the peer failed with `error`; return whether it answered before."""
        with self._lock:
            before, self._up = self._up, False
            self.error = error
            if before is False:
                return False
            self._since = time.monotonic()
        event = "cannot be reached" if before is None else "was lost"
        structlog.get_logger().warning(f"{self.name} {event}", **fields(error))
        return before is True

    def answer(self) -> None:
        if self._up:
            return
        with self._lock:
            before, self._up = self._up, True
            self.error = None
            away, self._since = time.monotonic() - self._since, time.monotonic()
        if before is False:
            structlog.get_logger().info(f"{self.name} is back", away_seconds=round(away, 1))

    def words(self) -> str:
        """Return the state as one line of text."""
        if self._up is None:
            return f"{self.name} has not been reached yet"
        if self._up:
            return f"{self.name} answers"
        return f"{self.name} has not answered for {self.away_seconds:.0f} s: {self.error}"


_MS = 1000
# Buckets of the time from a commit at the source to the commit in Kafka.
_LATENCIES = Histogram.of(
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0
)


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """The position of the stream after the last commit, or at its start."""

    progress: Progress
    # When the source committed the last delivered transaction, by this run or by an earlier one,
    # microseconds since the epoch. Before the first, its clock when the stream began at the end of
    # its log, else 0.
    committed_us: int


# Less than this part of the retention is left, or this time if only the size is limited.
_PURGE_PART = 0.25
_PURGE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of the stream to the end of the source's log; None for an unknown figure."""

    bytes: int | None
    transactions: int | None
    seconds: float
    # Until the server may purge logs that were not read; infinite if it never purges.
    to_purge_seconds: float
    retention_seconds: int = 0  # for how long it keeps a log file; 0 is for ever
    # Until nothing is left, at the speed of the last minute; None while the rest does not shrink.
    catch_up_seconds: float | None = None

    @property
    def is_purged_soon(self) -> bool:
        """Whether the source will soon drop what was not read."""
        return self.to_purge_seconds < (self.retention_seconds * _PURGE_PART or _PURGE_SECONDS)


@dataclass(slots=True)
class TableMetrics:
    """The committed records of a table."""

    records: int = 0
    bytes: int = 0  # of the records in batches, before compression
    latest_ms: int = 0  # when the source committed the latest change


@dataclass(frozen=True, slots=True)
class FencedTable:
    """What quarantine holds of a table; of a whole database, the table's name is `*`."""

    whole: bool  # whether the whole table is fenced
    keys: int  # fenced keys
    rows: int  # changes that are held
    since: float  # seconds since the epoch
    reason: str


@dataclass(frozen=True, slots=True)
class SnapshotMetrics:
    """How far the copy of a table is."""

    rows: int
    estimated_rows: int
    rows_per_second: float
    eta_seconds: float | None
    # Why the table cannot be read now, and for how long it could not.
    waits_for: ConnectorError | None = None
    waiting_seconds: float | None = None


class Watch(Protocol):
    """A thread that updates metrics until it is closed."""

    def close(self) -> None: ...


@dataclass(slots=True)
class PipelineMetrics:
    """All metrics; counters rise from the start of the process."""

    pipeline: str
    watched: bool = False  # whether a server publishes them
    started_at: float = 0.0  # seconds since the epoch
    streaming: bool = False  # whether a run is open
    control: Control = field(default_factory=Control)
    source: PeerState = field(default_factory=lambda: PeerState("the source"))
    kafka: PeerState = field(default_factory=lambda: PeerState("Kafka"))
    # When the main loop last turned, on the monotonic clock, and how long a turn may take.
    turned_at: float = field(default_factory=time.monotonic)
    turn_seconds_max: float = 0.0
    # The last transient error; None while a run is open.
    interrupted_by: ConnectorError | None = None
    # Servers that refused to go on, by HOST:PORT.
    refused: Mapping[str, SourceRefused] = field(default_factory=dict)
    records: int = 0
    transactions: int = 0
    bytes: int = 0
    commits: int = 0
    interruptions: int = 0
    latencies: Histogram = _LATENCIES
    position: CommittedPosition | None = None
    lag: Lag | None = None
    # When the stream last had everything, on the source's clock, seconds since the epoch; 0 if it
    # never had. A new run does not lose it.
    caught_up_at: float = 0.0
    # By "database.table"; tables are only added.
    tables: dict[str, TableMetrics] = field(default_factory=dict)
    # Running copies by "database.table", the errors of failed ones, and the numbers of fenced keys
    # and tables.
    copies: Callable[[], Mapping[str, SnapshotMetrics]] = field(default=dict)
    # How much of the source copies may read at a time; None while they read nothing.
    pace: Callable[[], PaceState | None] = field(default=lambda: None)
    failed_copies: Callable[[], Mapping[str, str]] = field(default=dict)
    fences: Callable[[], int] = field(default=int)
    fenced_tables: Callable[[], Mapping[str, FencedTable]] = field(default=dict)
    # Takes each batch when it is committed: the seconds since it began, its progress, and its
    # records, transactions and bytes.
    trace_batch: Callable[[float, Progress, int, int, int], None] | None = None
    # For how many seconds rows that foreign keys have changed wait for their copies to begin, by
    # "database.table".
    cascaded_tables: Callable[[], Mapping[str, float]] = field(default=dict)
    _watch: Watch | None = field(default=None, init=False, repr=False)
    _kafka_watch: Watch | None = field(default=None, init=False, repr=False)

    @property
    def connected(self) -> bool:
        """Whether the stream is open, and both peers answer."""
        return self.streaming and self.source.up and self.kafka.up

    def turn(self) -> None:
        self.turned_at = time.monotonic()

    def begin_run(self) -> None:
        self.streaming = True
        self.hear()
        self.interrupted_by = None

    def lose(self, peer: PeerState, error: ConnectorError) -> None:
        """Note that `error` cost a peer; for an open stream, count an interruption."""
        if peer.lose(error) and self.streaming:
            self.interruptions += 1

    def hear(self) -> None:
        """Note that the stream received something."""
        self.control.hear()
        self.source.answer()

    def miss(self, error: ConnectorError) -> None:
        """Note that the stream received nothing in time."""
        self.control.silent = True
        self.lose(self.source, error)

    def source_answered(self) -> None:
        """Note that the source answered in another session than the stream's."""
        self.control.watch()
        if not (self.streaming and self.control.silent):
            self.source.answer()

    def source_unanswered(self, error: ConnectorError) -> None:
        """Note that another session got no answer; what the stream knows has priority."""
        if not self.streaming or self.control.is_overdue:
            self.lose(self.source, error)

    def watch_kafka_by(self, open_watch: Callable[[], Watch]) -> None:
        """Let `open_watch` open the watch of `kafka`, once for all runs."""
        if self._kafka_watch is None:
            self._kafka_watch = open_watch()

    def watch_by(self, open_watch: Callable[[], Watch]) -> None:
        """Let `open_watch` open the watch of `lag`; it replaces the one before.

        The watch outlives a run of the pipeline, so lag and time to purge are also known while
        Kafka is away.
        """
        self._close_watch()
        # A new run has checked the server.
        self.control.doubt = None
        self._watch = open_watch()

    def close(self) -> None:
        """Stop the watches of `lag` and of both peers."""
        self._close_watch()
        if self._kafka_watch is not None:
            self._kafka_watch.close()
            self._kafka_watch = None

    def _close_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def count_commit(self, progress: Progress, records: int, transactions: int, size: int) -> None:
        """Count a commit, and note its position."""
        self.position = CommittedPosition(progress, progress.source_time_us)
        self.commits += 1
        self.records += records
        self.transactions += transactions
        self.bytes += size

    def count_rows(self, name: str, records: int, size: int, latest_ms: int) -> None:
        """Count committed records of the table `name`."""
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = TableMetrics()
        table.records += records
        table.bytes += size
        table.latest_ms = max(table.latest_ms, latest_ms)

    def count_latencies(self, times_ms: Iterable[tuple[int, int]], now_ms: int) -> None:
        """Count how long transactions took that have just become visible.

        `times_ms` are commits at the source with their counts, in milliseconds since the epoch.
        A commit after `now_ms`, by the clock of the source, took no time.
        """
        self.latencies = self.latencies.plus(
            (max(0, now_ms - time_ms) / _MS, count) for time_ms, count in times_ms
        )


def healthz(metrics: PipelineMetrics) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason."""
    return turning(metrics.turned_at, metrics.turn_seconds_max)


def readyz(metrics: PipelineMetrics) -> tuple[bool, str]:
    """Return whether the stream is open and both peers answer, and the reason."""
    lines = [metrics.source.words(), metrics.kafka.words()]
    if metrics.control.paused:
        lines.append("the stream is paused, because somebody asked for it")
    elif metrics.streaming:
        lines.append("the stream is open")
    elif metrics.interrupted_by is not None:
        lines.append(f"the stream is not open: {metrics.interrupted_by}")
    else:
        lines.append("the stream is not open yet")
    ready = metrics.connected
    return ready, "\n".join(["ready" if ready else "not ready", *lines])
