"""A whole commit, as a stream that waits for each would make it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.stream.progress.progress_record import Progress
    from connector.stream.sink.kafka_sink import KafkaSink


def commit(sink: KafkaSink, progress: Progress) -> None:
    """Commit what the sink has, and wait for the end."""
    sink.start_commit(progress)
    sink.settle()
