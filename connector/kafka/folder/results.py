"""What the log in a folder is asked for and answers: topics, offsets, batches, transactions."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

PartitionId = tuple[str, int]  # topic, partition
NO_OFFSET: Final = -1
# The address of the broker, as its clients know it; they connect to the folder's socket.
HOST: Final = "folder"
PORT: Final = 1


def by_topic(partitions: Iterable[PartitionId]) -> dict[str, list[int]]:
    """Return the numbers of partitions by topic, in their order."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


class FolderInUse(Exception):
    """Another process, or another object of this one, has the lock of the folder."""


class Topic(NamedTuple):
    """A topic; `topic_id` has 16 bytes, and `configuration` what differs from the defaults."""

    name: str
    topic_id: bytes
    partitions: int
    configuration: Mapping[str, str]


class Fetched(NamedTuple):
    """Whole record batches, control batches included, from the one that has the offset on.

    `aborted` has producer id and first offset of each transaction that was aborted and has records
    among these, in the order of the first offsets; it is empty unless committed ones are wanted.
    """

    records: bytes
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]]


class Offsets(NamedTuple):
    """Offsets of a partition: its first one, the one after its last record, the last stable one."""

    earliest: int
    latest: int
    last_stable: int


class TimedOffset(NamedTuple):
    """The offset of a record and its timestamp, in milliseconds."""

    offset: int
    timestamp_ms: int


class OpenTransaction(NamedTuple):
    """A transaction that is not ended; `partitions` has first offsets, or NO_OFFSET."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    start_ms: int
    partitions: Mapping[PartitionId, int]


class PartitionProducer(NamedTuple):
    """A producer in a partition: the number of its last record, and where its transaction begins.

    Both are -1 without one.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_ms: int
    transaction_start: int
