"""Where the records of a table begin that a batch has to apply.

A mirror knows it. Without a mirror, the whole topic is read: what earlier batches have read was not
applied anywhere. A table without a key has no mirror, and is read as the stream goes on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from connector.errors import MirrorError, mirror

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_jobs.source.ranges import OffsetRange
    from stream_jobs.tables.mirror_table import MirrorTable
    from stream_jobs.tables.services import Services
    from stream_jobs.tables.topic_state import TopicState


def start_offsets(
    services: Services, state: TopicState, batch: Mapping[int, OffsetRange]
) -> dict[int, int]:
    """Return the first offset to read of each partition in `batch`.

    Raises MirrorError if the topic has got partitions, and records in them.
    """
    own = state.mirror
    begun = {partition: each.start for partition, each in batch.items()}
    if own is None and (state.is_keyless or not services.registry.history(state.topic)):
        return begun | {p: offset for p, offset in state.cursor.items() if p in begun}
    known = {} if own is None else own.progress.offsets
    missing = [(state.topic, partition) for partition in begun.keys() - known.keys()]
    starts = {partition: known[partition] for partition in begun.keys() & known.keys()}
    for (_, partition), offset in services.client.first_offsets(missing).items():
        starts[partition] = offset
    if own is not None:
        _check_partitions(services, state.topic, own, batch, starts)
    return {
        partition: max(start, state.cursor.get(partition, start))
        for partition, start in starts.items()
    }


def _check_partitions(
    services: Services,
    topic: str,
    own: MirrorTable,
    batch: Mapping[int, OffsetRange],
    starts: Mapping[int, int],
) -> None:
    """Raise MirrorError if there are records in a partition that the topic did not have."""
    count = own.progress.partitions
    added = [p for p, start in starts.items() if p >= count and start < batch[p].end]
    if not added:
        return
    if not services.accept_partitions:
        raise MirrorError(mirror.PARTITIONS_ADDED, topic=topic, partitions=count)
    own.progress = replace(own.progress, partitions=max(added) + 1, are_keys_moved=True)
