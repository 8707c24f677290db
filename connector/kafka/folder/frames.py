r"""Frames of the journal: what happened, one after another, each with a checksum.

::

    "\xf0LOG" 4 │ length of the body 4 │ checksum 4 │ kind 1 │ synced 4 │ body

The checksum (CRC-32) covers the number of the segment, the frame's position in it, the header and
the body, so a frame is valid only where it was written. Of an append it covers the body up to the
checksum of the record batch, which covers the rest.

`synced` says how many bytes of the segment were on the disk for certain when the frame was
written. So damage can be told from the tail that a power failure leaves: what is lost before
`synced` of a valid frame had been kept.

The body of an append is the number of the topic, the partition and the record batch; that of each
other frame is JSON. The log numbers topics, and never uses a number again.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple

from connector.kafka.folder import batches
from connector.kafka.folder.folder_errors import LogNewer

MAGIC: Final = b"\xf0LOG"
_HEADER: Final = Struct(">4sIIBI")
HEADER_BYTES: Final = _HEADER.size
_CHECKED: Final = Struct(">QIIBI")
_PARTITION: Final = Struct(">II")
# Up to the attributes of the batch.
_APPEND_HEAD_BYTES: Final = _PARTITION.size + 21

Key = tuple[int, int]  # number of a topic, partition


class Kind(IntEnum):
    """What a frame says."""

    STATE = 1  # all that came before: the first frame of each segment
    APPEND = 2  # a record batch
    JOIN = 3  # partitions of a transaction
    END = 4  # a whole transaction is committed or aborted
    PRODUCER = 5  # a producer got its id, or its next epoch
    TOPIC = 6  # a topic was created or changed
    TOPIC_GONE = 7  # a topic was deleted
    START = 8  # records of a partition were deleted
    SEGMENT_GONE = 9  # a segment that nothing needs is about to be removed
    OPENING = 10  # a process has opened the folder, or closes it
    GROUP = 11  # a consumer group has committed offsets


class Frame(NamedTuple):
    """A frame with its place in a segment; `size` includes the header."""

    kind: Kind
    position: int
    size: int
    synced: int
    body: bytes


class Append(NamedTuple):
    """A record batch with its base offset set."""

    key: Key
    batch: bytes


class Join(NamedTuple):
    """Partitions are added to a transaction, which begins with its first ones."""

    producer_id: int
    time_ms: int
    keys: Sequence[Key]


class Marker(NamedTuple):
    """The end of a transaction in a partition; `first` is its first offset there, -1 without."""

    topic: int
    partition: int
    offset: int
    first: int


class End(NamedTuple):
    """The end of a transaction, everywhere at once; a greater epoch fences the producer."""

    producer_id: int
    epoch: int
    commit: bool
    time_ms: int
    markers: Sequence[Marker]


class ProducerEpoch(NamedTuple):
    """A producer; `previous_epoch` may ask for this one again, -1 if none may."""

    producer_id: int
    epoch: int
    transactional_id: str | None
    timeout_ms: int
    previous_epoch: int
    time_ms: int


class TopicForm(NamedTuple):
    """A topic; `topic_id` is in hex."""

    number: int
    name: str
    topic_id: str
    partitions: int
    configuration: Mapping[str, str]


class TopicGone(NamedTuple):
    """A topic that is deleted."""

    number: int


class Start(NamedTuple):
    """The earliest offset of a partition."""

    topic: int
    partition: int
    offset: int


class SegmentGone(NamedTuple):
    """The number of a segment."""

    segment: int


class Opening(NamedTuple):
    """How often the folder was opened."""

    number: int


class GroupCommit(NamedTuple):
    """Offsets that a consumer group has committed: number of a topic, partition, offset."""

    group: str
    time_ms: int
    offsets: Sequence[Sequence[int]]


Event = (
    Append
    | Join
    | End
    | ProducerEpoch
    | TopicForm
    | TopicGone
    | Start
    | SegmentGone
    | Opening
    | GroupCommit
)
_KINDS: Final[Mapping[type, Kind]] = {
    Append: Kind.APPEND,
    Join: Kind.JOIN,
    End: Kind.END,
    ProducerEpoch: Kind.PRODUCER,
    TopicForm: Kind.TOPIC,
    TopicGone: Kind.TOPIC_GONE,
    Start: Kind.START,
    SegmentGone: Kind.SEGMENT_GONE,
    Opening: Kind.OPENING,
    GroupCommit: Kind.GROUP,
}
_EVENTS: Final[Mapping[Kind, Any]] = {kind: event for event, kind in _KINDS.items()}


def body_of(event: Event) -> tuple[Kind, bytes]:
    """Return kind and body of the frame of an event."""
    if isinstance(event, Append):
        return Kind.APPEND, _PARTITION.pack(*event.key) + event.batch
    return _KINDS[type(event)], json_of(event)


def json_of(content: object) -> bytes:
    """Return compact JSON."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def event_of(frame: Frame) -> Event:
    """Return what a frame says, which is no state."""
    body = frame.body
    if frame.kind is Kind.APPEND:
        topic, partition = _PARTITION.unpack_from(body)
        return Append((topic, partition), body[_PARTITION.size :])
    fields = json.loads(body)
    if frame.kind is Kind.END:
        *others, markers = fields
        return End._make([*others, [Marker(*marker) for marker in markers]])
    if frame.kind is Kind.JOIN:
        *others, keys = fields
        return Join._make([*others, [(topic, partition) for topic, partition in keys]])
    event: Event = _EVENTS[frame.kind](*fields)
    return event


def encode(segment: int, position: int, kind: Kind, body: bytes, synced: int) -> bytes:
    """Return the bytes of a frame at its place."""
    checksum = _checksum(segment, position, kind, body, synced)
    return _HEADER.pack(MAGIC, len(body), checksum, kind, synced) + body


def decode(segment: int, data: bytes, position: int, origin: int = 0) -> Frame | None:
    """Return the frame at a position of a segment; None if there is no valid one.

    `data` begins at the position `origin`. Raises LogNewer for a kind that is not known here.
    """
    at = position - origin
    if len(data) - at < HEADER_BYTES:
        return None
    magic, length, checksum, kind, synced = _HEADER.unpack_from(data, at)
    end = at + HEADER_BYTES + length
    if magic != MAGIC or end > len(data):
        return None
    body = data[at + HEADER_BYTES : end]
    if checksum != _checksum(segment, position, kind, body, synced):
        return None
    if kind not in _EVENTS and kind != Kind.STATE:
        raise LogNewer(what="a frame of kind", number=kind)
    if kind == Kind.APPEND and not batches.is_whole(memoryview(body)[_PARTITION.size :]):
        return None
    return Frame(Kind(kind), position, HEADER_BYTES + length, synced, body)


def frames(segment: int, data: bytes) -> Iterator[Frame]:
    """Yield the frames of a segment, up to the first that is not valid."""
    position = 0
    while (frame := decode(segment, data, position)) is not None:
        yield frame
        position += frame.size


def kept_after(segment: int, data: bytes, position: int) -> Frame | None:
    """Return a valid frame after a position, by which the bytes there had been on the disk."""
    at = data.find(MAGIC, position + 1)
    while at >= 0:
        frame = decode(segment, data, at)
        if frame is not None and frame.synced > position:
            return frame
        at = data.find(MAGIC, at + 1)
    return None


def _checksum(segment: int, position: int, kind: int, body: bytes, synced: int) -> int:
    head = _CHECKED.pack(segment, position, len(body), kind, synced)
    covered = body[:_APPEND_HEAD_BYTES] if kind == Kind.APPEND else body
    return zlib.crc32(covered, zlib.crc32(head))
