"""Commits of the stream: when the next one is due, and the batch that is being committed.

A single change does not wait. Changes that arrive during a commit, or in the pause after it, are
committed next, so batches grow with the load. If a source sends nearly as fast as its changes are
delivered, the stream needs many commits to catch up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from connector.foundation.operating_system import Clock
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress.progress_record import Progress
from connector.stream.sink.kafka_sink import SentToTopic

# Transactions of unfollowed tables only move the position; it is at most this old.
_POSITION_SECONDS = 5.0


class CommitSchedule:
    """Times the commits of one stream; all times are seconds of one monotonic clock.

    `records` says whether the batch has records; without, it has only transactions of unfollowed
    tables.
    """

    def __init__(self, interval_seconds: float, pause_seconds: float, now: float) -> None:
        """Commit complete transactions within `interval_seconds`; a commit has just ended.

        The next one begins after `pause_seconds`, or earlier if the interval is over.
        """
        self._interval_seconds = interval_seconds
        self._pause_seconds = pause_seconds
        self.batch_started = now  # when the batch got its first record
        self.committed_at = now  # when the last commit ended

    def due_at(self, *, records: bool) -> float:
        """Return when to commit if the source has nothing more to send."""
        if not records:
            return self.committed_at + _POSITION_SECONDS
        return min(self.committed_at + self._pause_seconds, self.deadline(records=True))

    def deadline(self, *, records: bool) -> float:
        """Return when to commit even if the source sends more."""
        return (
            self.batch_started + self._interval_seconds if records else self.due_at(records=False)
        )


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """What it holds; it counts only after its commit has ended."""

    started: float  # in seconds of the monotonic clock
    progress: Progress
    records: int
    bytes: int
    transactions: int
    times_ms: Iterable[tuple[int, int]]  # as PipelineMetrics.count_latencies takes them
    topics: Mapping[str, SentToTopic]

    def count(self, metrics: PipelineMetrics, names: Mapping[str, str], clock: Clock) -> None:
        """Add it to `metrics`; `names` are those of tables, by topic. Its records are visible."""
        metrics.count_commit(self.progress, self.records, self.transactions, self.bytes)
        metrics.count_latencies(self.times_ms, clock.now_ms())
        for topic, sent in self.topics.items():
            name = names.get(topic)
            # The connector's own topics have no table.
            if name is not None:
                metrics.count_rows(name, sent.records, sent.bytes, sent.latest_ms)
        if metrics.trace_batch is not None:
            seconds = clock.monotonic() - self.started
            metrics.trace_batch(seconds, self.progress, self.records, self.transactions, self.bytes)
