"""Where a new checkpoint begins: at the offsets that the mirrors hold themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError
from stream_jobs.source.offsets import nested
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.topic_state import TopicStates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_jobs.choices.table_choices import TableChoices
    from stream_jobs.delta.storage import Storage
    from stream_jobs.source.client import KafkaClient
    from stream_jobs.source.offsets import Offsets

# A bucket answers slowly, but many questions at the same time.
_THREADS: Final = 16


@dataclass(frozen=True, slots=True)
class KeptOffsets:
    """Finds the offsets in the mirrors; Spark sends it to the process of the stream."""

    storage: Storage
    base: str  # the root of the storage
    prefix: str
    choices: TableChoices

    def __call__(self, client: KafkaClient, topics: Iterable[str]) -> Offsets:
        """Return the offsets of those of `topics` that have a mirror.

        A mirror that cannot be read has none here: its first batch tells of it.
        """
        registry = SchemaRegistry(client, self.prefix, choices=self.choices)
        registry.refresh()
        states = TopicStates(self.storage, self.base, registry, self.choices)
        # A table without a schema record has no mirror.
        known = [topic for topic in topics if registry.history(topic)]

        def of(topic: str) -> dict[int, int]:
            try:
                found = states.of(topic).mirror
            except MirrorError:
                return {}
            return {} if found is None else dict(found.progress.offsets)

        with ThreadPoolExecutor(_THREADS) as pool:
            found = list(zip(known, pool.map(of, known), strict=True))
        return nested(
            {(topic, number): at for topic, offsets in found for number, at in offsets.items()}
        )
