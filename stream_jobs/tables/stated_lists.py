"""Column lists that statements gave to tables that have had no row since.

The connector writes such a list when ALTER TABLE itself says it (`stated` in a schema record). A
mirror follows it when it has everything that was written before: then no row of another list can
come, and all values are in the mirror or in the record.

The newest record of a table decides. Rows that have another list bring a newer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError
from stream_jobs.apply.facts import SchemaUse
from stream_jobs.source.ranges import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stream_jobs.schema.sequence import PackedSequence
    from stream_jobs.tables.services import Services
    from stream_jobs.tables.topic_state import TopicState, TopicStates

# What is not read yet comes with the next batches of the stream.
_RECORDS: Final = 20_000


def stated_use(
    services: Services,
    state: TopicState,
    starts: Mapping[int, int],
    bound: PackedSequence | None,
) -> dict[str, SchemaUse]:
    """Return the list that the mirror of a table is to follow without rows; mostly nothing.

    `starts` are where the next records of the table are read. The mirror is to stay below `bound`.
    """
    stated = services.registry.stated(state.topic)
    if stated is None or state.mirror is None or state.schema is None:
        return {}
    sequence, schema_id = stated
    if schema_id == state.schema.schema_id or (bound is not None and sequence >= bound):
        return {}
    client = services.client
    count = client.partition_counts().get(state.topic, 0)
    written = client.written_offsets((state.topic, number) for number in range(count))
    if any(starts.get(number, 0) < end for (_, number), end in written.items()):
        # Also of a transaction that has not ended: its rows can be older than the statement.
        return {}
    return {schema_id: SchemaUse(sequence, sequence, sequence)}


def stated_ranges(
    services: Services, states: TopicStates, others: Collection[str]
) -> list[OffsetRange]:
    """Return what is not read of tables that have a stated list, of one partition maybe nothing.

    Topics in `others` are left out. Raises MirrorError if Kafka does not answer.
    """
    registry, client = services.registry, services.client
    found: list[OffsetRange] = []
    for topic in registry.topics():
        stated = registry.stated(topic)
        if stated is None or topic in others:
            continue
        try:
            state = states.of(topic)
        except MirrorError:
            # The next batch of this table says why.
            continue
        own = state.mirror
        if own is None or state.schema is None or state.schema.schema_id == stated[1]:
            continue
        partitions = [(topic, n) for n in range(client.partition_counts().get(topic, 0))]
        first, ends = client.first_offsets(partitions), client.end_offsets(partitions)
        for place in partitions:
            number = place[1]
            start = own.progress.offsets.get(number, first[place])
            start = max(start, state.cursor.get(number, start))
            found.append(OffsetRange(topic, number, start, min(ends[place], start + _RECORDS)))
    return found
