"""The requests for records and for their deletion, and what the answers hold.

https://kafka.apache.org/protocol.html
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafka import errors
from kafka.protocol.admin import DeleteRecordsRequest
from kafka.protocol.consumer import FetchRequest, IsolationLevel

from stream_jobs.source.record_batches import AbortedTransaction, FetchResponse

# Which offset of a partition is asked for.
LATEST: Final = -1
EARLIEST: Final = -2
FETCH_BYTES: Final = 8 * 1024 * 1024
# Everything that is asked for is there: the broker does not wait for more.
_FETCH_WAIT_MS: Final = 500
_DELETE_VERSION_MAX: Final = 2
# Of a partition whose records stay: its topic is gone, compacted, or shorter than it was.
_STAY: Final = frozenset(
    kind.errno
    for kind in (
        errors.NoError,
        errors.UnknownTopicOrPartitionError,
        errors.PolicyViolationError,
        errors.OffsetOutOfRangeError,
    )
)
# Later versions name topics by ids.
_FETCH_VERSION_MAX: Final = 12

Partition = tuple[str, int]


def fetch_request(
    partitions: Sequence[Partition],
    wanted: Mapping[Partition, int],
    wait_ms: int = _FETCH_WAIT_MS,
    bytes_max: int = FETCH_BYTES,
    *,
    committed: bool = True,
) -> object:
    """Return the request for records of partitions, from the wanted offsets on.

    Those of open transactions are left out, unless `committed` is false.
    """
    topic = FetchRequest.FetchTopic
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=IsolationLevel(committed),
        topics=[
            topic(
                topic=name,
                partitions=[
                    topic.FetchPartition(
                        partition=number,
                        fetch_offset=wanted[name, number],
                        partition_max_bytes=bytes_max,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(partitions)
        ],
        rack_id="",
        min_version=4,
        max_version=_FETCH_VERSION_MAX,
    )


def read_fetch_response(answer: Any, gone: list[Partition]) -> list[FetchResponse]:
    """Return the records in an answer; partitions without the wanted ones are added to `gone`."""
    raise_for_code(answer.error_code or 0)
    responses = []
    for topic in answer.responses:
        for part in topic.partitions:
            if part.error_code == errors.OffsetOutOfRangeError.errno:
                gone.append((topic.topic, part.partition_index))
                continue
            raise_for_code(part.error_code)
            aborted = tuple(
                AbortedTransaction(aborted.producer_id, aborted.first_offset)
                for aborted in part.aborted_transactions or ()
            )
            data = bytes(part.records or b"")
            responses.append(FetchResponse(topic.topic, part.partition_index, data, aborted))
    return responses


def delete_request(
    partitions: Sequence[Partition], before: Mapping[Partition, int], timeout_ms: int
) -> object:
    """Return the request to delete the records before an offset of each partition."""
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    return DeleteRecordsRequest(
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.DeleteRecordsPartition(
                        partition_index=number, offset=before[name, number]
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(partitions)
        ],
        timeout_ms=timeout_ms,
        max_version=_DELETE_VERSION_MAX,
    )


def read_delete_response(answer: Any) -> None:
    """Raise the first error of a partition whose records were to be deleted."""
    for topic in answer.topics:
        for part in topic.partitions:
            if part.error_code not in _STAY:
                raise_for_code(part.error_code)


def by_topic(partitions: Iterable[Partition]) -> list[tuple[str, list[int]]]:
    """Group partitions by topic, in their order."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def raise_for_code(code: int) -> None:
    """Raise the error that a code of the protocol stands for."""
    if code:
        raise errors.for_code(code)
