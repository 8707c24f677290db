"""What stands for kafka-python: a consumer and an admin client, as far as the sink uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from connector.kafka.producer import TransactionalProducer
from connector.stream.sink.connection import KafkaClients
from tests.simulation.broker import is_visible
from tests.simulation.faults import Call, Fault
from tests.simulation.kafka_requests import Requests, SimulatedWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka import TopicPartition

    from tests.simulation.broker import Broker
    from tests.simulation.kafka_requests import LateMessages
    from tests.simulation.world import Process

_MS = 1000
_POLL_RECORDS_MAX = 64
# How often a broker does not know a topic that was created a moment ago.
_UNHEARD_OF = 0.02


def clients_of(process: Process, late: LateMessages) -> KafkaClients:
    """Return the clients that a process opens."""

    def open_producer(
        settings: dict[str, Any], transactional_id: str, timeout_seconds: float, _: str
    ) -> TransactionalProducer:
        fault = process.step(Call.TAKE_OVER)
        if fault is Fault.REFUSED:
            raise KafkaConnectionError
        if fault is Fault.DENIED:
            raise SaslAuthenticationFailedError
        requests = Requests(process, late)
        random = process.world.random
        producer = TransactionalProducer(
            settings,
            transactional_id,
            timeout_seconds,
            "none",
            requests.network(),
            lambda client, in_flight: SimulatedWriter(client, in_flight, random),
        )
        if fault is Fault.LOST:
            producer.close_now()
            raise _no_answer()
        return producer

    def open_consumer(**arguments: Any) -> SimulatedConsumer:
        return SimulatedConsumer(
            process, committed=arguments["isolation_level"] == "read_committed"
        )

    def open_admin(**arguments: Any) -> SimulatedAdmin:
        del arguments
        return SimulatedAdmin(process)

    def at_once(work: Callable[[], None]) -> Callable[[], bool]:
        work()
        return lambda: True

    return KafkaClients(open_producer, open_consumer, open_admin, at_once)


class _ConsumerRecord(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


class SimulatedConsumer:
    """A consumer of committed records; it is assigned one partition at a time.

    One that is not to see only those is asked for offsets alone.
    """

    def __init__(self, process: Process, *, committed: bool) -> None:
        self._process = process
        self._committed = committed
        self._broker: Broker = process.world.broker
        self._positions: dict[TopicPartition, int] = {}
        self._step()

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offsets."""
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets up to which records can be read now."""
        self._step()
        logs = {
            partition_id: self._broker.partition(tuple(partition_id)) for partition_id in partitions
        }
        if self._committed:
            return {partition_id: log.last_stable_offset for partition_id, log in logs.items()}
        return {partition_id: log.end for partition_id, log in logs.items()}

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read from partitions."""
        self._positions = dict.fromkeys(partitions, 0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read from `offset` on."""
        self._positions[partition] = offset

    def position(self, partition: TopicPartition) -> int:
        """Return the offset that is read next."""
        return self._positions[partition]

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[_ConsumerRecord]]:
        """Return what comes next, and stand behind it."""
        self._step()
        assert self._committed
        polled: dict[TopicPartition, list[_ConsumerRecord]] = {}
        for partition, position in self._positions.items():
            log = self._broker.partition(tuple(partition))
            end = min(position + _POLL_RECORDS_MAX, log.last_stable_offset)
            found = [
                _ConsumerRecord(entry.offset, entry.record.key, entry.record.value)
                for entry in log.entries[position:end]
                if entry.record is not None and is_visible(entry)
            ]
            if found:
                polled[partition] = found
            if end <= position:
                self._process.world.pass_time(timeout_ms / _MS)
                self._broker.mark_one(0)
            self._positions[partition] = max(position, end)
        return polled

    def close(self) -> None:
        """There is nothing to let go of."""

    def _step(self) -> None:
        if self._process.step(Call.READ) is Fault.REFUSED:
            raise KafkaConnectionError


class SimulatedAdmin:
    """Lists and creates topics, which have no limits."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._broker: Broker = process.world.broker

    def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        return list(self._broker.topics)

    def describe_topics(self, topics: list[str]) -> list[dict[str, Any]]:
        """Return whether each topic exists."""
        unknown = UnknownTopicOrPartitionError.errno
        return [
            {
                "name": name,
                "error_code": 0 if name in self._broker.topics else unknown,
                "partitions": self._broker.topics.get(name, ()),
            }
            for name in topics
        ]

    def describe_configs(self, asked: list[Any], **_: object) -> dict[str, Any]:
        """Return no settings, as for a user who may not see them."""
        if self._process.step(Call.ADMIN) is Fault.REFUSED:
            raise KafkaConnectionError
        return {"TOPIC": {resource.name: {} for resource in asked}}

    def create_topics(
        self,
        topics: dict[str, dict[str, Any]],
        *,
        wait_for_metadata: bool = False,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Create topics, which must not exist."""
        del wait_for_metadata
        fault = self._process.step(Call.ADMIN)
        if fault is Fault.REFUSED:
            raise KafkaConnectionError
        existing = [name for name in topics if name in self._broker.topics]
        for name, description in topics.items():
            self._broker.create_topic(name, description["num_partitions"])
        if existing and raise_errors:
            raise TopicAlreadyExistsError(existing[0])
        if fault is Fault.LOST:
            raise _no_answer()
        exists = TopicAlreadyExistsError.errno
        codes = {name: exists if name in existing else 0 for name in topics}
        return {"topics": [{"name": name, "error_code": code} for name, code in codes.items()]}

    def wait_for_topics(self, topics: list[str]) -> None:
        """Find that all brokers have heard of topics."""
        assert all(topic in self._broker.topics for topic in topics)

    def list_partition_offsets(self, latest: dict[TopicPartition, Any]) -> None:
        """Find every leader at work, or one that has not heard of its topic yet."""
        assert all(partition.topic in self._broker.topics for partition in latest)
        if self._process.world.random.random() < _UNHEARD_OF:
            raise UnknownTopicOrPartitionError

    def close(self) -> None:
        """There is nothing to let go of."""


def _no_answer() -> KafkaTimeoutError:
    return KafkaTimeoutError("no answer")
