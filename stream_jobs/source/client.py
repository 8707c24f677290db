"""A connection to Kafka: topics, offsets, and raw record batches, with `read_committed`.

It sends its own requests through the connections of kafka-python, which know TLS and logins. The
consumer of kafka-python decodes each record into an object, which costs more than all other work.
There is no thread: each call drives the connections until it has its answers. Threads may share a
client; one of them asks at a time.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.protocol.consumer import FetchRequest, IsolationLevel, ListOffsetsRequest
from kafka.structs import TopicPartition

from connector.errors import MirrorError, mirror, mirror_records
from stream_jobs.source.record_batches import AbortedTransaction, FetchedBytes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from stream_jobs.source.facts import KafkaFacts

_FETCH_BYTES: Final = 8 * 1024 * 1024
_ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
# Everything that is asked for is there: the broker does not wait for more.
_FETCH_WAIT_MS: Final = 500
# Later versions name topics by ids.
_FETCH_VERSION_MAX: Final = 12
_LATEST: Final = -1
_EARLIEST: Final = -2
_RETRY_SECONDS: Final = 0.1
# These answers never change by themselves.
_DEFINITE: Final = (
    errors.TopicAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.UnsupportedVersionError,
)

Partition = tuple[str, int]
_T = TypeVar("_T")


class _Answer(Protocol):
    """A response of the broker, whose fields kafka-python makes from the protocol's schema."""

    def __getattr__(self, name: str) -> Any: ...


class KafkaClient:
    """The brokers of one cluster."""

    def __init__(self, facts: KafkaFacts) -> None:
        """Connect. Raises MirrorError if no broker answers in time."""
        self._facts = facts
        self._turn = threading.Lock()
        timeout_ms = round(facts.timeout_seconds * 1000)
        self._client = KafkaNetClient(
            bootstrap_servers=list(facts.bootstrap_servers),
            client_id="binlog-connector-mirror",
            request_timeout_ms=timeout_ms,
            reconnect_backoff_max_ms=1000,
            receive_message_max_bytes=_ANSWER_BYTES_MAX,
            **dict(facts.security),
        )
        self._manager = self._client._manager  # noqa: SLF001  # the client has no other way in
        self._manager.cluster.need_all_topic_metadata = True
        try:
            self._manager.bootstrap(timeout_ms)
        except errors.KafkaError as error:
            self.close()
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of every topic.

        Raises MirrorError if the brokers do not answer in time.
        """

        async def ask() -> dict[str, int]:
            cluster = self._manager.cluster
            await cluster.refresh_metadata()
            return {
                topic: len(cluster.partitions_for_topic(topic) or ()) for topic in cluster.topics()
            }

        return self._until_answered(ask)

    def first_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offset of the first record that each partition still has."""
        return self._offsets(partitions, _EARLIEST)

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offset after the last record that is committed or rolled back."""
        return self._offsets(partitions, _LATEST)

    def fetch(self, wanted: Mapping[Partition, int]) -> list[FetchedBytes]:
        """Return records of some of the partitions, from the wanted offsets on.

        A broker returns what fits into an answer, beginning with the first partition. Raises
        MirrorError if records that are wanted do not exist any more.
        """
        gone: list[Partition] = []

        async def ask() -> list[FetchedBytes]:
            # All brokers work at the same time.
            sent = [
                self._manager.send(_fetch_request(partitions, wanted), node_id=node)
                for node, partitions in self._by_leader(wanted).items()
            ]
            return [each for future in sent for each in _fetched(await future, gone)]

        found = self._until_answered(ask)
        if gone:
            topic, number = gone[0]
            raise MirrorError(
                mirror_records.RECORDS_GONE,
                topic=topic,
                partition=number,
                offset=wanted[gone[0]],
                first=self.first_offsets(gone[:1])[gone[0]],
            )
        return found

    def wait(self, positions: Mapping[Partition, int], seconds: float) -> None:
        """Wait until one of the partitions has a record at its position, at most `seconds`."""

        async def ask() -> None:
            wait_ms = round(seconds * 1000)
            sent = [
                self._manager.send(_fetch_request(own, positions, wait_ms, 1), node_id=node)
                for node, own in self._by_leader(positions).items()
            ]
            for future in sent:
                await future

        self._until_answered(ask)

    def _offsets(self, partitions: Iterable[Partition], which: int) -> dict[Partition, int]:
        left = set(partitions)

        async def ask() -> dict[Partition, int]:
            found: dict[Partition, int] = {}
            for node, asked in self._by_leader(left).items():
                request = ListOffsetsRequest(
                    isolation_level=IsolationLevel.READ_COMMITTED,
                    topics=[
                        ListOffsetsRequest.ListOffsetsTopic(
                            name=topic,
                            partitions=[
                                ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                                    partition_index=number, timestamp=which
                                )
                                for number in numbers
                            ],
                        )
                        for topic, numbers in _by_topic(asked)
                    ],
                    min_version=2,
                )
                answer: _Answer = await self._manager.send(request, node_id=node)
                for topic in answer.topics:
                    for part in topic.partitions:
                        _require(part.error_code)
                        found[topic.name, part.partition_index] = part.offset
            return found

        return self._until_answered(ask) if left else {}

    def _by_leader(self, partitions: Iterable[Partition]) -> dict[int, list[Partition]]:
        """Group partitions by the broker that leads them, in their order."""
        groups: dict[int, list[Partition]] = {}
        for partition in partitions:
            leader = self._manager.cluster.leader_for_partition(TopicPartition(*partition))
            if leader is None or leader < 0:
                raise errors.LeaderNotAvailableError
            groups.setdefault(leader, []).append(partition)
        return groups

    def _until_answered(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Run `ask` until it has an answer; leaders may move meanwhile."""
        deadline = time.monotonic() + self._facts.timeout_seconds
        while True:
            try:
                with self._turn:
                    answer: _T = self._manager.run(ask)
            except errors.KafkaError as error:
                if isinstance(error, _DEFINITE) or time.monotonic() >= deadline:
                    raise self._failed(error) from error
                time.sleep(_RETRY_SECONDS)
                self._refresh()
            else:
                return answer

    def _refresh(self) -> None:
        try:
            with self._turn:
                self._manager.run(self._manager.cluster.refresh_metadata)
        except errors.KafkaError:
            # The caller tries again until its deadline, and reports its own error.
            return

    def _failed(self, error: Exception) -> MirrorError:
        return MirrorError(
            mirror.KAFKA_FAILED,
            servers=list(self._facts.bootstrap_servers),
            said=f"{type(error).__name__}: {error}",
        )


def _fetch_request(
    partitions: Sequence[Partition],
    wanted: Mapping[Partition, int],
    wait_ms: int = _FETCH_WAIT_MS,
    bytes_max: int = _FETCH_BYTES,
) -> object:
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=IsolationLevel.READ_COMMITTED,
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                partitions=[
                    FetchRequest.FetchTopic.FetchPartition(
                        partition=number,
                        fetch_offset=wanted[topic, number],
                        partition_max_bytes=bytes_max,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in _by_topic(partitions)
        ],
        rack_id="",
        min_version=4,
        max_version=_FETCH_VERSION_MAX,
    )


def _fetched(answer: _Answer, gone: list[Partition]) -> list[FetchedBytes]:
    """Return the records in an answer; partitions without the wanted ones are added to `gone`."""
    _require(answer.error_code or 0)
    found = []
    for topic in answer.responses:
        for part in topic.partitions:
            if part.error_code == errors.OffsetOutOfRangeError.errno:
                gone.append((topic.topic, part.partition_index))
                continue
            _require(part.error_code)
            aborted = tuple(
                AbortedTransaction(each.producer_id, each.first_offset)
                for each in part.aborted_transactions or ()
            )
            data = bytes(part.records or b"")
            found.append(FetchedBytes(topic.topic, part.partition_index, data, aborted))
    return found


def _by_topic(partitions: Iterable[Partition]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def _require(code: int) -> None:
    """Raise the error that a code of the protocol stands for."""
    if code:
        raise errors.for_code(code)
