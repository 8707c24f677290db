"""What is asked of the stream: to wait, or to end because a peer is not what it was.

The status page pauses and resumes the stream, and signals do so with copies. The watch of the
source doubts that its log is the one that was read, or tells whether it answers while the stream
hears nothing. The watch of Kafka finds that a topic in use was deleted. The stream looks between
two transactions.

Every attribute is one value that is replaced, or a set of which each change is one step, so none of
them needs a lock.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from connector.foundation.errors import ConnectorError, SourceUnavailable

# An idle stream gets three heartbeats in this time.
SILENT_SECONDS = 4.0


@dataclass(slots=True)
class Control:
    """The requests to one process; they outlive a run of the pipeline."""

    paused: bool = False  # whether somebody wants the stream to wait after its transaction
    copies_paused: bool = False  # whether a signal wants copies to read no more rows
    # A sign that the source's log is not the one that was read; None without one.
    doubt: SourceUnavailable | None = None
    # When the stream and the watch last heard of the source, on the monotonic clock.
    heard_at: float = 0.0
    watched_at: float = 0.0
    silent: bool = False  # whether the stream receives nothing although it should
    # The topics that the pipeline uses; those of them that were deleted or created again, until the
    # next run has dealt with it; and what interrupts the current run for that.
    topics: Callable[[], Sequence[str]] = field(default=tuple)
    lost_topics: set[str] = field(default_factory=set)
    lost_topic: ConnectorError | None = None
    interrupt: Callable[[ConnectorError], None] = field(default=lambda _: None)
    # Ends the wait of the stream for its source, so that it looks at once.
    wake: Callable[[], None] = field(default=lambda: None)

    def pause(self, *, paused: bool) -> None:
        """Let the stream wait after its transaction, or go on."""
        self.paused = paused
        self.wake()

    def suspect(self, doubt: SourceUnavailable | None) -> None:
        """End the run with the first doubt about the source's log; None is no doubt."""
        self.doubt = self.doubt or doubt
        if doubt is not None:
            self.wake()

    def hear(self) -> None:
        """Note that the stream received something."""
        self.heard_at = time.monotonic()
        self.silent = False

    def watch(self) -> None:
        """Note that the source answered in another session than the stream's."""
        self.watched_at = time.monotonic()

    @property
    def is_overdue(self) -> bool:
        """Whether the stream has received nothing for longer than heartbeats allow."""
        return time.monotonic() - self.heard_at > SILENT_SECONDS

    @property
    def is_dead(self) -> bool:
        """Whether the source answers in other sessions, and the stream has heard nothing since."""
        return self.watched_at > self.heard_at + SILENT_SECONDS

    def begin(
        self, topics: Callable[[], Sequence[str]], interrupt: Callable[[ConnectorError], None]
    ) -> frozenset[str]:
        """Begin a run that uses `topics` and can be interrupted; return the lost topics so far."""
        self.lost_topic = None
        self.topics, self.interrupt = topics, interrupt
        return frozenset(self.lost_topics)

    def lose_topic(self, topic: str, error: ConnectorError) -> None:
        """Note that a topic in use was deleted, and end the run with `error`."""
        self.lost_topics.add(topic)
        self.lost_topic = error
        self.interrupt(error)
        self.wake()

    def restore_topics(self, topics: frozenset[str]) -> None:
        """Note that the run has dealt with lost topics."""
        self.lost_topics.difference_update(topics)
