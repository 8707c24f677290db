"""A connection to Kafka: topics, offsets and raw record batches, with `read_committed`.

It sends its own requests over the connections of kafka-python, which handle TLS and logins. The
consumer of kafka-python decodes each record into an object, and that costs more than all the
other work. There is no thread: each call drives the connections until it has its answers. Threads
may share a client, but only one of them sends requests at a time.

`read_ranges` fetches the records of many offset ranges, and yields each range when it is
complete.

https://kafka.apache.org/protocol.html
"""

import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from kafka import errors
from kafka.net.compat import KafkaNetClient
from kafka.structs import TopicPartition

from connector.foundation.record_reader import RecordColumns
from stream_jobs.errors import MirrorError, job_errors, record_errors
from stream_jobs.source import requests
from stream_jobs.source.record_batches import FetchResponse, read_committed_records
from stream_jobs.source.topics import BrokerConfig, OffsetRange

_ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
_RETRY_SECONDS: Final = 0.1
# These answers never change by themselves.
_DEFINITE: Final = (
    errors.TopicAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.SaslAuthenticationFailedError,
    errors.UnsupportedSaslMechanismError,
    errors.UnsupportedVersionError,
)

_T = TypeVar("_T")


class KafkaClient:
    """The brokers of one cluster."""

    def __init__(self, facts: BrokerConfig) -> None:
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
        # The option of the client does not reach it. A topic that was deleted must not come again.
        self._manager.cluster.config["allow_auto_create_topics"] = False
        # Those whose leaders the client knows; it asks for all topics only where all are wanted.
        self._topics: set[str] = set()
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
            cluster.need_all_topic_metadata = True
            try:
                await cluster.refresh_metadata()
            finally:
                cluster.need_all_topic_metadata = False
            # A cluster that is started knows no broker at first; the library takes no note of such
            # an answer, and would know no topic.
            if not cluster.brokers():
                raise errors.MetadataEmptyBrokerList
            # Topics that were deleted would be asked for again and again.
            self._ask_for(self._topics & cluster.topics())
            return {
                topic: len(cluster.partitions_for_topic(topic) or ()) for topic in cluster.topics()
            }

        return self._until_answered(ask)

    def first_offsets(
        self, partitions: Iterable[requests.Partition]
    ) -> dict[requests.Partition, int]:
        """Return the offset of the first record that each partition still has."""
        return self._offsets(partitions, requests.EARLIEST)

    def end_offsets(
        self, partitions: Iterable[requests.Partition]
    ) -> dict[requests.Partition, int]:
        """Return the offset after the last record that is committed or rolled back."""
        return self._offsets(partitions, requests.LATEST)

    def have_open_transactions(self, partitions: Collection[requests.Partition]) -> bool:
        """Return whether records cannot be read because they, or earlier ones, are not ended."""
        return self.end_offsets(partitions) != self.written_offsets(partitions)

    def written_offsets(
        self, partitions: Iterable[requests.Partition]
    ) -> dict[requests.Partition, int]:
        """Return the offset after the last record, also of a transaction that has not ended."""
        return self._offsets(partitions, requests.LATEST, committed=False)

    def fetch(
        self, wanted: Mapping[requests.Partition, int], bytes_max: int = requests.FETCH_BYTES
    ) -> list[FetchResponse]:
        """Return records of some of the partitions, from the wanted offsets on.

        A broker returns what fits into `bytes_max`, beginning with the first partition, and at
        least one batch. Raises MirrorError if records that are wanted do not exist any more.
        """
        gone: list[requests.Partition] = []

        async def ask() -> list[FetchResponse]:
            # All brokers work at the same time.
            sent = [
                self._manager.send(
                    requests.fetch_request(
                        partitions, wanted, bytes_max=min(bytes_max, requests.FETCH_BYTES)
                    ),
                    node_id=node,
                )
                for node, partitions in (await self._by_leader(wanted)).items()
            ]
            return [
                response
                for future in sent
                for response in requests.read_fetch_response(await future, gone)
            ]

        responses = self._until_answered(ask)
        if gone:
            topic, number = gone[0]
            raise MirrorError(
                record_errors.RECORDS_GONE,
                topic=topic,
                partition=number,
                offset=wanted[gone[0]],
                first=self.first_offsets(gone[:1])[gone[0]],
            )
        return responses

    def fetch_open(self, place: requests.Partition, offset: int) -> list[FetchResponse]:
        """Return the first batch from `offset` on, also if its transaction has not ended."""

        async def ask() -> list[FetchResponse]:
            wanted = {place: offset}
            ((node, partitions),) = (await self._by_leader(wanted)).items()
            request = requests.fetch_request(partitions, wanted, 0, 1, committed=False)
            return requests.read_fetch_response(await self._manager.send(request, node_id=node), [])

        return self._until_answered(ask)

    def wait(self, positions: Mapping[requests.Partition, int], seconds: float) -> bool:
        """Wait until one of the partitions has a record at its position, at most `seconds`.

        Return whether there may be one.
        """

        async def ask() -> bool:
            wait_ms = round(seconds * 1000)
            sent = [
                self._manager.send(requests.fetch_request(own, positions, wait_ms, 1), node_id=node)
                for node, own in (await self._by_leader(positions)).items()
            ]
            answers = [await future for future in sent]
            return any(requests.has_content(answer) for answer in answers)

        return self._until_answered(ask)

    def _offsets(
        self, partitions: Iterable[requests.Partition], which: int, *, committed: bool = True
    ) -> dict[requests.Partition, int]:
        left = set(partitions)

        async def ask() -> dict[requests.Partition, int]:
            offsets: dict[requests.Partition, int] = {}
            for node, asked in (await self._by_leader(left)).items():
                request = requests.offsets_request(asked, which, committed=committed)
                answer: requests.KafkaResponse = await self._manager.send(request, node_id=node)
                for topic in answer.topics:
                    for part in topic.partitions:
                        requests.raise_for_code(part.error_code)
                        offsets[topic.name, part.partition_index] = part.offset
            return offsets

        return self._until_answered(ask) if left else {}

    async def _by_leader(
        self, partitions: Collection[requests.Partition]
    ) -> dict[int, list[requests.Partition]]:
        """Group partitions by the broker that leads them, in their order."""
        topics = {topic for topic, _ in partitions}
        if not topics <= self._topics:
            self._ask_for(self._topics | topics)
            await self._manager.cluster.refresh_metadata()
        groups: dict[int, list[requests.Partition]] = {}
        for partition in partitions:
            leader = self._manager.cluster.leader_for_partition(TopicPartition(*partition))
            if leader is None or leader < 0:
                raise errors.LeaderNotAvailableError
            groups.setdefault(leader, []).append(partition)
        return groups

    def _ask_for(self, topics: set[str]) -> None:
        """Name the topics for the next request; the library's own way asks at once, by itself."""
        self._topics = topics
        self._manager.cluster._topics = set(topics)  # noqa: SLF001

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

    def _failed(self, error: errors.KafkaError) -> MirrorError:
        return MirrorError(
            job_errors.KAFKA_FAILED,
            servers=list(self._facts.bootstrap_servers),
            said=error,
        )


def read_ranges(
    client: KafkaClient, ranges: Iterable[OffsetRange], bytes_max: int | None = None
) -> Iterator[tuple[OffsetRange, RecordColumns]]:
    """Yield each range with its committed records, as soon as it is complete.

    All ranges are fetched together: many small ones cost few requests. When the values of all
    together have more than `bytes_max` bytes, the rest is not read: the ranges that are then
    yielded end earlier. Raises MirrorError if a range cannot be read.
    """
    left: dict[requests.Partition, OffsetRange] = {}
    for span in ranges:
        if span.start < span.end:
            left[span.topic, span.partition] = span
        else:
            yield span, RecordColumns()
    columns = {key: RecordColumns() for key in left}
    position = {key: span.start for key, span in left.items()}
    size = 0
    while left and (bytes_max is None or size <= bytes_max):
        room = requests.FETCH_BYTES if bytes_max is None else bytes_max - size + 1
        for fetched in client.fetch({key: position[key] for key in left}, room):
            key = fetched.topic, fetched.partition
            wanted = left[key]
            known = len(columns[key].values)
            at = read_committed_records(fetched, position[key], wanted.end, columns[key])
            size += sum(len(value) for value in columns[key].values[known:] if value)
            # The next request begins with a partition that this answer had no room for.
            del left[key]
            position[key] = at
            if at >= wanted.end:
                yield wanted, columns.pop(key)
            else:
                left[key] = wanted
    for key, wanted in left.items():
        yield wanted._replace(end=position[key]), columns[key]
