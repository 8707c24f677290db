"""Whether a topic is the one whose records a mirror has applied.

Offsets say nothing about a topic that was deleted and made again: it may end before them, or have
grown beyond them. So each mirror has the id of its topic. A topic of another id is still the same
if it has the same records at the same offsets, as `binlog-connector log copy` writes them.
"""

from collections.abc import Iterable

from stream_jobs.errors import MirrorError, record_errors
from stream_jobs.source.client import KafkaClient, refuse_shorter
from stream_jobs.source.requests import Partition
from stream_jobs.source.sequence import PackedSequence, PackedSequences
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.topic_state import TopicState

# After the last record before an offset come the marks of transactions, mostly one.
_TAIL_OFFSETS = 10


def refuse_made_again(
    client: KafkaClient, state: TopicState, ranges: Iterable[OffsetRange], topic_id: str
) -> None:
    """Raise MirrorError if a topic was made again since its mirror, or this stream, has read it.

    `topic_id` is "" if the brokers do not say it. A mirror of an earlier version learns the id.
    """
    refuse_shorter(ranges)
    own = state.mirror
    if own is not None and topic_id:
        # What the mirror has learned may not be committed yet.
        known = own.progress.topic_id or state.topic_id
        if known not in ("", topic_id) and not _has_applied(client, state.topic, own.progress):
            raise MirrorError(record_errors.TOPIC_MADE_AGAIN, topic=state.topic)
    state.topic_id = topic_id


def _has_applied(client: KafkaClient, topic: str, progress: Progress) -> bool:
    """Return whether a topic with another id is a copy of the one that was read.

    In a topic that was made again, the records before the offsets of the mirror are newer than what
    it has applied. In a copy they are the same, or retention has deleted all that was applied.
    """
    read = {(topic, number): end for number, end in progress.offsets.items() if end > 0}
    first = client.first_offsets(read)
    newest = {
        place: _last_sequence(client, place, first[place], end)
        for place, end in read.items()
        if first[place] < end
    }
    known = [
        (sequence, progress.marks.get(number))
        for (_, number), sequence in newest.items()
        if sequence is not None
    ]
    return bool(known or not newest) and all(
        mark is not None and sequence <= mark for sequence, mark in known
    )


def _last_sequence(
    client: KafkaClient, place: Partition, first: int, end: int
) -> PackedSequence | None:
    """Return the sequence of the last record with first <= offset < end; None if there is none."""
    for columns in client.read_back(place, first, end, _TAIL_OFFSETS):
        if columns.values:
            return PackedSequences(columns.sequences.getvalue()).at(-1)
    return None
