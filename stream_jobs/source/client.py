"""A connection to Kafka: topics, offsets and raw record batches, with `read_committed`.

It sends its own requests, over connections of `connector.kafka`. The consumer of kafka-python
decodes each record into an object, and that costs more than all the other work. There is no
thread. Threads may share a client, but only one of them sends requests at a time.

https://kafka.apache.org/protocol.html
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from kafka import errors

from connector.foundation.record_reader import RecordColumns
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.cluster import Cluster
from connector.kafka.failures import Action, BrokersUnreachable, TimedOut, action_of
from stream_jobs.errors import MirrorError, job_errors, record_errors
from stream_jobs.source import requests
from stream_jobs.source.offset_requests import CLIENT_ID, FetchSession, send_list_offsets
from stream_jobs.source.record_batches import FetchResponse, read_committed_records
from stream_jobs.source.topics import BrokerConfig, OffsetRange

_RETRY_SECONDS: Final = 0.1
# After this time without a record, it is asked whether the wanted ones are still there.
_STALLED_SECONDS: Final = 5.0
_WITH_MESSAGE: Final = (BrokersUnreachable, TimedOut)

_T = TypeVar("_T")


class KafkaClient:
    """The brokers of one cluster."""

    def __init__(
        self, facts: BrokerConfig, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        """Connect. Raises MirrorError if no broker answers in time.

        A caller that `is_stopping` waits for no other answer than that of the present request.
        """
        self._facts = facts
        self._is_stopping = is_stopping
        self._turn = threading.Lock()
        self._connections: dict[int, BrokerConnection] = {}
        # Of `wait`, by broker.
        self._sessions: dict[int, FetchSession] = {}
        # Those whose leaders were asked for since the last error.
        self._topics: set[str] = set()
        settings = {
            "bootstrap_servers": list(facts.bootstrap_servers),
            "client_id": CLIENT_ID,
            "request_timeout_ms": round(facts.timeout_seconds * 1000),
            **dict(facts.security),
        }
        self._cluster = self._until_answered(lambda: Cluster(settings))

    def close(self) -> None:
        """Close the connections."""
        self._cluster.close()
        self._disconnect()

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of every topic.

        Raises MirrorError if the brokers do not answer in time.
        """
        return self._until_answered(self._cluster.topics)

    def partitions(self, topic: str) -> list[requests.Partition]:
        """Return the partitions of one topic, in order; none if the brokers do not show it.

        Takes no longer with more topics. Raises MirrorError as `partition_counts`.
        """
        (described,) = self._until_answered(lambda: self._cluster.described([topic]))
        count = 0 if described.error_code else len(described.partitions)
        return [(topic, number) for number in range(count)]

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """Return the id of each topic, in hex: one that is made again has another one.

        Topics that do not exist are left out, and all topics of brokers before 2.8.
        """
        described = self._until_answered(lambda: self._cluster.described(topics))
        ids = {topic.name: topic.topic_id for topic in described if not topic.error_code}
        return {name: own.hex for name, own in ids.items() if own is not None and own.int}

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

    def offsets_at(
        self, partitions: Iterable[requests.Partition], time_ms: int
    ) -> dict[requests.Partition, int]:
        """Return the offset of the first committed record of each partition from a time on.

        A partition without one is left out. `time_ms` is in milliseconds since 1970.
        """
        found = self._offsets(partitions, time_ms)
        return {place: offset for place, offset in found.items() if offset >= 0}

    def delete_records(self, before: Mapping[requests.Partition, int]) -> None:
        """Delete the records before an offset of each partition.

        Topics that are deleted, compacted, or made again and shorter stay as they are.
        """
        timeout_ms = round(self._facts.timeout_seconds * 1000)

        def ask() -> None:
            answers = self._ask_leaders(
                before, lambda own: requests.delete_request(own, before, timeout_ms)
            )
            for answer in answers:
                requests.read_delete_response(answer)

        if before:
            self._until_answered(ask)

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

        def ask() -> list[FetchResponse]:
            bytes_wanted = min(bytes_max, requests.FETCH_BYTES)
            answers = self._ask_leaders(
                wanted,
                lambda own: requests.fetch_request(own, wanted, bytes_max=bytes_wanted),
            )
            return [
                response
                for answer in answers
                for response in requests.read_fetch_response(answer, gone)
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

        def ask() -> list[FetchResponse]:
            (answer,) = self._ask_leaders(
                [place],
                lambda own: requests.fetch_request(own, {place: offset}, 0, 1, committed=False),
            )
            return requests.read_fetch_response(answer, [])

        return self._until_answered(ask)

    def read_ranges(
        self, ranges: Iterable[OffsetRange], bytes_max: int | None = None
    ) -> Iterator[tuple[OffsetRange, RecordColumns]]:
        """Yield each range with its committed records, as soon as it is complete.

        All ranges are fetched together: many small ones cost few requests. When the values of all
        together have more than `bytes_max` bytes, the rest is not read: the ranges that are then
        yielded end earlier. Raises MirrorError if a range cannot be read, or if its records are
        gone.
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
        moved_at = time.monotonic()
        while left and (bytes_max is None or size <= bytes_max):
            if time.monotonic() - moved_at >= _STALLED_SECONDS:
                self._refuse_lost(left)
                moved_at = time.monotonic()
            room = requests.FETCH_BYTES if bytes_max is None else bytes_max - size + 1
            for fetched in self.fetch({key: position[key] for key in left}, room):
                key = fetched.topic, fetched.partition
                wanted = left[key]
                known = len(columns[key].values)
                at = read_committed_records(fetched, position[key], wanted.end, columns[key])
                size += sum(len(value) for value in columns[key].values[known:] if value)
                if at > position[key]:
                    moved_at = time.monotonic()
                # The next request begins with a partition that this answer had no room for.
                del left[key]
                position[key] = at
                if at >= wanted.end:
                    yield wanted, columns.pop(key)
                else:
                    left[key] = wanted
        for key, wanted in left.items():
            yield wanted._replace(end=position[key]), columns[key]

    def read_back(
        self, place: requests.Partition, first: int, end: int, length: int
    ) -> Iterator[RecordColumns]:
        """Yield the committed records before `end`, then those before them, more each time.

        The first piece has `length` offsets, and the last one begins at the offset `first`. Raises
        as `read_ranges` does.
        """
        start = max(first, end - length)
        while True:
            ((_, columns),) = self.read_ranges([OffsetRange(*place, start, end)])
            yield columns
            if start <= first:
                return
            length *= 2
            start, end = max(first, start - length), start

    def wait(self, positions: Mapping[requests.Partition, int], seconds: float) -> bool:
        """Wait until one of the partitions has a record at its position, at most `seconds`.

        Return whether there may be one.
        """
        wait_ms = round(seconds * 1000)

        def send(node: int, own: list[requests.Partition]) -> Callable[[], bool]:
            connection = self._connected(node)
            session = self._sessions.setdefault(node, FetchSession(connection))
            return session.send({place: positions[place] for place in own}, wait_ms)

        return self._until_answered(lambda: any(self._ask_each(positions, send)))

    def _refuse_lost(self, ranges: Mapping[requests.Partition, OffsetRange]) -> None:
        """Raise MirrorError for a range beyond the end of its partition: the brokers lost records.

        A transaction that has not ended is no loss.
        """
        ends = self.written_offsets(ranges)
        refuse_shorter(OffsetRange(*place, ranges[place].end, end) for place, end in ends.items())

    def _offsets(
        self, partitions: Iterable[requests.Partition], which: int, *, committed: bool = True
    ) -> dict[requests.Partition, int]:
        wanted = set(partitions)

        def send(
            node: int, own: list[requests.Partition]
        ) -> Callable[[], dict[requests.Partition, int]]:
            return send_list_offsets(self._connected(node), own, which, committed=committed)

        def ask() -> dict[requests.Partition, int]:
            answers = self._ask_each(wanted, send)
            return {place: at for answer in answers for place, at in answer.items()}

        return self._until_answered(ask) if wanted else {}

    def _ask_leaders(
        self,
        partitions: Collection[requests.Partition],
        request_for: Callable[[list[requests.Partition]], Any],
    ) -> list[Any]:
        """Return the answers of the brokers that lead partitions to kafka-python's requests."""

        def send(node: int, own: list[requests.Partition]) -> Callable[[], Any]:
            connection, request = self._connected(node), request_for(own)
            connection.send_described(request)
            return lambda: connection.receive_described(request)

        return self._ask_each(partitions, send)

    def _ask_each(
        self,
        partitions: Collection[requests.Partition],
        send: Callable[[int, list[requests.Partition]], Callable[[], _T]],
    ) -> list[_T]:
        """Return the answers of the brokers that lead partitions; all work at the same time.

        `send` asks one of them about its partitions, and returns what awaits the answer.
        """
        if unknown := {topic for topic, _ in partitions} - self._topics:
            self._cluster.refresh(unknown)
            self._topics |= unknown
        groups: dict[int, list[requests.Partition]] = {}
        for partition in partitions:
            groups.setdefault(self._cluster.leader_of(partition), []).append(partition)
        # Each has its request before an answer is awaited.
        return [receive() for receive in [send(node, own) for node, own in groups.items()]]

    def _connected(self, node: int) -> BrokerConnection:
        if node not in self._connections:
            self._connections[node] = self._cluster.connect(node)
        return self._connections[node]

    def _until_answered(self, ask: Callable[[], _T]) -> _T:
        """Run `ask` until it has an answer; leaders may move meanwhile."""
        deadline = time.monotonic() + self._facts.timeout_seconds
        while True:
            try:
                with self._turn:
                    return self._tried(ask)
            except (OSError, errors.KafkaError) as error:
                is_refused = isinstance(error, errors.TopicAuthorizationFailedError)
                is_definite = is_refused or action_of(error) is Action.STOP
                is_late = time.monotonic() >= deadline or self._is_stopping()
                if is_definite or is_late:
                    raise self._failed(error) from error
                time.sleep(_RETRY_SECONDS)

    def _tried(self, ask: Callable[[], _T]) -> _T:
        try:
            return ask()
        except (OSError, errors.KafkaError):
            # Answers may still come that nobody waits for.
            self._disconnect()
            self._topics.clear()
            raise

    def _disconnect(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._sessions.clear()

    def _failed(self, error: Exception) -> MirrorError:
        return MirrorError(
            job_errors.KAFKA_FAILED,
            servers=list(self._facts.bootstrap_servers),
            # The stream's process sends the error to the driver, and these cannot be sent.
            said=error.message if isinstance(error, _WITH_MESSAGE) else error,
        )


def refuse_shorter(ranges: Iterable[OffsetRange]) -> None:
    """Raise MirrorError for a range whose partition ends before its start: it was longer."""
    for span in ranges:
        if span.start > span.end:
            raise MirrorError(
                record_errors.TOPIC_SHORTER,
                topic=span.topic,
                partition=span.partition,
                offset=span.start,
                end=span.end,
            )
