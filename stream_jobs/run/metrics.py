"""The metrics of the job: its threads count, and the thread of the HTTP server reads.

Every attribute is one number, an object that is replaced and never changed, or a set or dict with
such entries; so none of them needs a lock. A batch costs something for the tables that it has
changed; the lag of the others is computed when somebody asks.

*Lag.* A table that has everything that is in its topic has no lag, however old its last change
is. Otherwise the lag counts from the time of the last change that was applied, or from when the
table had everything, whichever is later: what it lacks came after both. So the lag of a table
that gets no further rises, whatever the reason.

*Monitor.* `TopicMonitor` asks Kafka for the ends of the topics, so that the lag is true while the
job does nothing. The stream asks, too, but in another process, and not while a batch is applied.
`IdleTables` reads the tables that had no batch since the start, so that they have metrics, too: a
few at a time, because the first batches need the processor more.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from connector.foundation.errors import ConnectorError
from connector.foundation.errors.message import Message
from connector.foundation.metrics import CatchUpEstimate, Histogram
from stream_jobs.errors import MirrorError
from stream_jobs.run.job_state import RunFailure
from stream_jobs.run.publication_queue import TableFigures
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topic_filter import SkippedTables, TopicFilter
from stream_jobs.source.topics import Offsets, nest_offsets, row_topics
from stream_jobs.tables.batch_report import BatchReport, TableReport, TableSource, TableState
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.quarantine_files import QuarantinedTable
from stream_jobs.tables.topic_state import path_in

_MS: Final = 1000
_BATCHES: Final = Histogram.of(0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
_LATENCIES: Final = Histogram.of(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
# Before the stream is open: Spark may download packages.
_START_SECONDS: Final = 600.0
# The main loop asks the JVM several times a second.
_TURN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class TableMetrics:
    """The metrics of one table; counters rise from the start of the process."""

    database: str
    table: str
    upserts: int = 0
    deletes: int = 0
    superseded: int = 0  # changes with a later one of the same key in their batch, and truncates
    skipped: int = 0
    commits: int = 0
    commit_seconds: float = 0.0
    bytes_written: int = 0
    changed_bytes: int = 0
    source_ts_ms: int | None = None  # when the source committed the last applied change
    committed_ms: int | None = None  # when that change was committed to the table
    # The table after its last batch; None without a mirror.
    version: int | None = None
    rows: int | None = None
    dead_rows: int | None = None
    files: int | None = None
    bytes: int | None = None

    def at(self, state: TableState) -> "TableMetrics":
        """Return the metrics with the table as it is."""
        return replace(self, **state._asdict())

    def after(self, report: TableReport) -> "TableMetrics":
        """Return the metrics after a batch."""
        others = report.changes - report.upserts - report.deletes - report.skipped
        return replace(
            self,
            upserts=self.upserts + report.upserts,
            deletes=self.deletes + report.deletes,
            # Of a table without a key, an update is both of the above.
            superseded=self.superseded + max(0, others),
            skipped=self.skipped + report.skipped,
            commits=self.commits + report.commits,
            commit_seconds=self.commit_seconds + report.commit_seconds,
            bytes_written=self.bytes_written + report.bytes_written,
            changed_bytes=self.changed_bytes + report.changed_bytes,
            source_ts_ms=_later(self.source_ts_ms, report.source_ts_ms),
            committed_ms=_later(self.committed_ms, report.committed_ms),
            version=report.version,
            rows=report.rows,
            dead_rows=report.dead_rows,
            files=report.files,
            bytes=report.bytes,
        )


@dataclass(slots=True)
class JobMetrics:
    """All metrics."""

    pipeline: str
    watched: bool = False  # whether a server publishes them
    started_at: float = field(default_factory=time.time)
    streaming: bool = False
    # Why the stream was lost, until it is open again.
    interrupted_by: Message | None = None
    # Why this run ends; before that, why the run before it failed.
    failure: RunFailure | None = None
    # When the main loop last turned, on the monotonic clock, and how long a turn may take.
    turned_at: float = field(default_factory=time.monotonic)
    turn_seconds_max: float = _START_SECONDS
    batches: int = 0
    records: int = 0
    batch_durations: Histogram = _BATCHES
    # From a commit at the source to the commit to a table, of the last change in each.
    latencies: Histogram = _LATENCIES
    phases: Mapping[str, float] = field(default_factory=dict)
    # When the last batch ended and the current one began, on the monotonic clock.
    applied_at: float | None = None
    began_at: float | None = None
    # By topic.
    tables: dict[str, TableMetrics] = field(default_factory=dict)
    # Topics; two threads add some.
    without_mirror: set[str] = field(default_factory=set)
    # By topic, the tables that are set aside: their offsets do not count as applied.
    set_aside: Callable[[], Mapping[str, QuarantinedTable]] = field(default=dict)
    # Topics whose tables wait for rows of the source: theirs do not count as applied either.
    loading: Callable[[], frozenset[str]] = field(default=frozenset)
    # By `database.table`, the Iceberg side of tables that have one.
    iceberg: Callable[[], Mapping[str, TableFigures]] = field(default=dict)
    # Everything before these offsets is in the tables.
    offsets: Offsets = field(default_factory=dict)
    _passed: Offsets = field(default_factory=dict)
    # The ends of all topics, and when Kafka said them, in seconds since the epoch.
    ends: Offsets = field(default_factory=dict)
    _ends_at: float = 0.0
    # Until everything is applied, at the speed of the last minute; None if that is not known.
    catch_up_seconds: float | None = None
    _catch_up: CatchUpEstimate = field(default_factory=CatchUpEstimate)
    # By topic, when its table last had everything.
    _complete_at: dict[str, float] = field(default_factory=dict)

    def turn(self) -> None:
        """Note that the main loop turns."""
        self.turned_at = time.monotonic()

    def opened(self) -> None:
        """Note that the stream is open."""
        self.streaming = True
        self.interrupted_by = None
        self.turn()
        self.turn_seconds_max = _TURN_SECONDS

    def interrupted(self, why: Message) -> None:
        """Note that the stream was lost; to open it again takes as long as a start."""
        self.interrupted_by = why
        self.turn()
        self.turn_seconds_max = _START_SECONDS

    def begin_batch(self) -> None:
        """Note that a batch begins."""
        self.began_at = time.monotonic()

    def end_batch(self, report: BatchReport) -> None:
        """Count a batch that was applied."""
        self.batch_durations = self.batch_durations.plus([(report.seconds, 1)])
        lags = (table.lag_seconds for table in report.tables.values())
        self.latencies = self.latencies.plus((lag, 1) for lag in lags if lag is not None)
        self.batches += 1
        self.records += report.records
        self.phases = {
            name: self.phases.get(name, 0.0) + spent for name, spent in report.phases.items()
        }
        self.without_mirror.update(report.keyless_topics)
        for name, applied in report.tables.items():
            source = report.sources[name]
            self.tables[source.topic] = self._known(source).after(applied)
            if applied.version is not None:
                self.without_mirror.discard(source.topic)
        self.applied_at = time.monotonic()
        # Of tables that are not left alone any more, what was passed is applied.
        self.note_offsets({})

    def leave_batch(self) -> None:
        """Note that no batch runs."""
        self.began_at = None

    def note_table(self, topic: str, table: TableMetrics) -> None:
        """Note a table that was read, unless a batch has changed it meanwhile."""
        self.tables.setdefault(topic, table)

    def note_offsets(self, offsets: Offsets) -> None:
        """Note that everything before `offsets` was applied, of topics that are not left alone.

        The others have been passed, and count as applied when they are no longer set aside, and
        have their first rows.
        """
        aside = self.set_aside().keys() | self.loading()
        passed = {**self._passed, **offsets}
        self._passed = {topic: at for topic, at in passed.items() if topic in aside}
        applied = {topic: at for topic, at in passed.items() if topic not in aside}
        self.offsets = {**self.offsets, **applied}

    def note_ends(self, ends: Offsets, at: float) -> None:
        """Note the ends of all topics `at` a time, in seconds since the epoch."""
        complete = {topic: self._ends_at for topic in self.ends if self._is_complete(topic)}
        self.ends, self._ends_at = ends, at
        complete |= {topic: at for topic in ends if self._is_complete(topic)}
        self._complete_at = self._complete_at | complete
        # Before its first batch, a process does not know what was applied.
        if self.offsets:
            self.catch_up_seconds = self._catch_up.note(at, self.waiting)

    @property
    def waiting(self) -> int:
        """About how many records are not applied, of tables that go on; it counts markers, too."""
        left_out = self.set_aside().keys() | self.loading() | self.without_mirror
        return sum(
            max(0, end - self.offsets.get(topic, {}).get(number, 0))
            for topic, ends in self.ends.items()
            # What is equal is most of it.
            if ends != self.offsets.get(topic) and topic not in left_out
            for number, end in ends.items()
        )

    def lag_seconds(self, topic: str, now: float) -> float | None:
        """Return the lag of a table; None if its topic is not known yet."""
        if topic not in self.ends:
            return None
        if self._is_complete(topic):
            return 0.0
        table = self.tables.get(topic)
        source_ts_ms = 0 if table is None else table.source_ts_ms or 0
        since = max(source_ts_ms / _MS, self._complete_at.get(topic, self.started_at))
        return max(0.0, now - since)

    def _known(self, source: TableSource) -> TableMetrics:
        known = self.tables.get(source.topic)
        return known or TableMetrics(source.database, source.table)

    def _is_complete(self, topic: str) -> bool:
        applied, ends = self.offsets.get(topic, {}), self.ends[topic]
        return applied == ends or all(applied.get(n, 0) >= end for n, end in ends.items())


def _later(one: int | None, other: int | None) -> int | None:
    return max((at for at in (one, other) if at is not None), default=None)


_EVERY_SECONDS: Final = 5.0
# The list of topics is long; new ones are looked for less often.
_DISCOVERY_LOOKS: Final = 6


class TopicMonitor:
    """Notes the ends of the topics in the metrics."""

    def __init__(
        self,
        client: KafkaClient,
        prefix: str,
        metrics: JobMetrics,
        known: "IdleTables",
        skipped: SkippedTables,
    ) -> None:
        """Look at the topics `<prefix>.<database>.<table>`, and at tables without a batch.

        Topics of `skipped` tables are left out.
        """
        self._client = client
        self._prefix = prefix
        self._metrics = metrics
        self._known = known
        self._filter = TopicFilter(prefix, skipped)
        self._topics: dict[str, int] = {}
        self._looks = 0

    def look(self) -> None:
        """Ask once. While Kafka does not answer, the last ends stay: the lag goes on to rise."""
        at = time.time()
        try:
            if self._looks % _DISCOVERY_LOOKS == 0:
                topics = row_topics(self._prefix, self._client.partition_counts())
                self._topics = self._filter.without_skipped(self._client, topics)
            self._looks += 1
            ends = self._client.end_offsets(
                (topic, number) for topic, count in self._topics.items() for number in range(count)
            )
            self._metrics.note_ends(nest_offsets(ends), at)
            self._known.look()
        except ConnectorError:
            # The stream meets the same, and ends with it.
            return


@contextmanager
def topic_monitor(watch: TopicMonitor) -> Iterator[None]:
    """Look every few seconds, in a thread."""
    stop = threading.Event()

    def run() -> None:
        watch.look()
        while not stop.wait(_EVERY_SECONDS):
            watch.look()

    thread = threading.Thread(target=run, name="topic-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


_TABLES_A_LOOK: Final = 20


class IdleTables:
    """The tables of the topics that the metrics name."""

    def __init__(self, services: MirrorContext, metrics: JobMetrics) -> None:
        """Read the mirrors of `services`."""
        self._services = services
        self._metrics = metrics
        self._tried: set[str] = set()

    def look(self) -> None:
        """Note the metrics of some tables that have none yet.

        Raises MirrorError if Kafka does not answer.
        """
        unknown = self._metrics.ends.keys() - self._metrics.tables.keys() - self._tried
        chosen = sorted(unknown)[:_TABLES_A_LOOK]
        registry = self._services.registry
        if any(not registry.history(topic) for topic in chosen):
            registry.refresh()
        for topic in chosen:
            self._tried.add(topic)
            table = self._metrics_of(topic)
            if table is not None:
                self._metrics.note_table(topic, table)

    def _metrics_of(self, topic: str) -> TableMetrics | None:
        history = self._services.registry.history(topic)
        if not history:
            return None
        newest, services = history[-1], self._services
        table = TableMetrics(newest.database, newest.table)
        try:
            path = path_in(services.storage, newest)
            shard = newest.chosen.shard
            own = MirrorTable.open(services.storage, path, newest.name, services.base, shard)
        except MirrorError:
            # A batch of this table says why; nobody reads it before.
            return table
        if own is None:
            if not newest.key:
                self._metrics.without_mirror.add(topic)
            return table
        return table.at(TableState.of(own.delta.snapshot))
