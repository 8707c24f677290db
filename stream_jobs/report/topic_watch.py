"""Asks Kafka how far the topics go, so that the lag is true while the job does nothing.

The stream asks, too, but in another process, and not while a batch is applied.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from connector.errors import ConnectorError
from stream_jobs.source.offsets import nested
from stream_jobs.source.skipped import TopicFilter
from stream_jobs.source.topics import row_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.report.figures import Figures
    from stream_jobs.report.known_tables import KnownTables
    from stream_jobs.source.client import KafkaClient
    from stream_jobs.source.skipped import SkippedTables

_EVERY_SECONDS: Final = 5.0
# The list of topics is long; new ones are looked for less often.
_DISCOVERY_LOOKS: Final = 6


class TopicWatch:
    """Notes the ends of the topics in the figures."""

    def __init__(
        self,
        client: KafkaClient,
        prefix: str,
        figures: Figures,
        known: KnownTables,
        skipped: SkippedTables,
    ) -> None:
        """Look at the topics `<prefix>.<database>.<table>`, and at tables without a batch.

        Topics of `skipped` tables are left out.
        """
        self._client = client
        self._prefix = prefix
        self._figures = figures
        self._known = known
        self._filter = TopicFilter(prefix, skipped)
        self._topics: dict[str, int] = {}
        self._looks = 0

    def look(self) -> None:
        """Ask once. While Kafka does not answer, the last ends stay: the lag goes on to rise."""
        at = time.time()
        try:
            if self._looks % _DISCOVERY_LOOKS == 0:
                found = row_topics(self._prefix, self._client.partition_counts())
                self._topics = self._filter.without_skipped(self._client, found)
            self._looks += 1
            ends = self._client.end_offsets(
                (topic, number) for topic, count in self._topics.items() for number in range(count)
            )
            self._figures.note_ends(nested(ends), at)
            self._known.look()
        except ConnectorError:
            # The stream meets the same, and ends with it.
            return


@contextmanager
def watching(watch: TopicWatch) -> Iterator[None]:
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
