"""A batch of source transactions that was given to a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from connector.metrics.figures import Figures
    from connector.progress.progress_record import Progress
    from connector.sink.kafka_sink import SentToTopic
    from connector.system.clock import Clock

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """What it holds; it counts only after its commit has ended."""

    started: float  # in seconds of the monotonic clock
    progress: Progress
    committed_us: int  # as in CommittedPosition
    records: int
    bytes: int
    transactions: int
    times_ms: Iterable[tuple[int, int]]  # as Figures.delivered takes them
    topics: Mapping[str, SentToTopic]

    def count(self, figures: Figures, names: Mapping[str, str], clock: Clock) -> None:
        """Add it to `figures`; `names` are those of tables, by topic. Its records are visible."""
        figures.committed(
            self.progress, self.committed_us, self.records, self.transactions, self.bytes
        )
        figures.delivered(self.times_ms, clock.time_ns() // _NS_PER_MS)
        for topic, sent in self.topics.items():
            name = names.get(topic)
            # The connector's own topics have no table.
            if name is not None:
                figures.count_rows(name, sent.records, sent.bytes, sent.latest_ms)
        if figures.batches is not None:
            seconds = clock.monotonic() - self.started
            figures.batches.delivered(
                seconds, self.progress, self.records, self.transactions, self.bytes
            )
