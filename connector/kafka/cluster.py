"""Which broker leads each partition, which one coordinates, and connections to all of them.

Any thread may ask. What is known may be out of date: a broker that is asked in vain says so, and
then `refresh` or `find_coordinator` ask again, over a connection of their own.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from kafka import errors
from kafka.protocol.consumer import IsolationLevel, ListOffsetsRequest, OffsetSpec
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from connector.kafka import kafka_python
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.failures import ACTIONS, Action, Attempts, action_of
from connector.kafka.transaction_requests import PartitionId

Address: TypeAlias = tuple[str, int]
_MS: Final = 1000
# Before they are found again, where all are tried at the same time. Each may take its whole time.
_ASKED_IN_TURN: Final = 3
# Brokers before Kafka 0.11 have no isolation.
_LIST_OFFSETS_VERSION: Final = 2


class Network(NamedTuple):
    """How connections are made, and how time passes between attempts; a simulation has others."""

    connect: Callable[..., kafka_python.LoggedIn]
    find_brokers: Callable[..., tuple[dict[int, Address], kafka_python.LoggedIn]]
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


NETWORK: Final = Network(kafka_python.connect, kafka_python.find_brokers)


class Cluster:
    """The brokers that the settings of a client lead to."""

    def __init__(self, settings: Mapping[str, Any], network: Network = NETWORK) -> None:
        """Find the brokers; raises KafkaError or OSError."""
        self._settings = settings
        self._network = network
        self.request_seconds: float = settings["request_timeout_ms"] / _MS
        self._brokers: dict[int, Address] = {}
        # Leaders by topic and partition; -1 without one.
        self._leaders: dict[str, dict[int, int]] = {}
        # For requests about the cluster.
        self._connection: BrokerConnection | None = None
        self._turn = threading.Lock()
        # How often `interrupt` was called.
        self._interruptions = 0
        with self._turn:
            self._find()

    def close(self) -> None:
        """Close the connection for questions about the cluster."""
        with self._turn:
            self._drop()

    def interrupt(self) -> None:
        """Have a request of another thread fail, after one more broker at most."""
        self._interruptions += 1
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    def partitions_of(self, topic: str, check: Callable[[], None]) -> set[int]:
        """Return the partitions of a topic; a new one is waited for, for the time of a request.

        Raises KafkaError or OSError, and what `check` raises.
        """
        attempts = self.attempts(self.request_seconds, check)
        while topic not in self._leaders:
            try:
                self.refresh([topic])
            except (OSError, errors.KafkaError) as error:
                if action_of(error) not in (Action.RETRY, Action.REFRESH):
                    raise
                attempts.wait(error)
            else:
                if topic not in self._leaders:
                    attempts.wait(errors.UnknownTopicOrPartitionError(topic))
        return set(self._leaders[topic])

    def now(self) -> float:
        """Return the time, in seconds since some moment."""
        return self._network.now()

    def attempts(self, seconds: float, check: Callable[[], None]) -> Attempts:
        """Begin attempts at one thing; see `Attempts`."""
        return Attempts(seconds, check, self._network.now, self._network.sleep)

    def leader_of(self, partition: PartitionId) -> int:
        """Return the broker that leads a partition; raises LeaderNotAvailableError."""
        topic, number = partition
        leader = self._leaders.get(topic, {}).get(number, -1)
        if leader < 0:
            raise errors.LeaderNotAvailableError(partition)
        return leader

    def topics(self) -> dict[str, int]:
        """Return the number of partitions of every topic; raises as `refresh` does."""
        return {
            topic.name: len(topic.partitions)
            for topic in self._ask_about(None)
            if not topic.error_code and not topic.is_internal
        }

    def described(self, topics: Collection[str]) -> list[Any]:
        """Return error code, id and partitions of some topics; raises KafkaError or OSError.

        Brokers before 2.8 know no ids.
        """
        return self._ask_about(topics) if topics else []

    def refresh(self, topics: Collection[str]) -> None:
        """Ask who leads the partitions of some topics; raises KafkaError or OSError."""
        for topic in self._ask_about(topics):
            if ACTIONS.get(topic.error_code, Action.ABORT) in (Action.ABORT, Action.STOP):
                raise errors.for_code(topic.error_code)(topic.name)

    def find_coordinator(self, transactional_id: str) -> int:
        """Return the broker that coordinates a transactional id; raises KafkaError or OSError."""
        kind = CoordinatorType.TRANSACTION
        request = FindCoordinatorRequest(
            key=transactional_id, key_type=kind, min_version=1, max_version=3
        )
        with self._turn:
            response = self._answer(request)
            if response.error_code:
                raise errors.for_code(response.error_code)(response.error_message)
            node = int(response.node_id)
            self._brokers = self._brokers | {node: (response.host, response.port)}
        return node

    def connect(self, node: int) -> BrokerConnection:
        """Return a new connection to a broker; raises KafkaError or OSError, no TimeoutError."""
        address = self._brokers.get(node)
        if address is None:
            raise errors.NodeNotReadyError(node)
        try:
            logged_in = self._network.connect(self._settings, *address, self.request_seconds)
        except TimeoutError as error:
            raise errors.KafkaConnectionError from error
        return self._opened(logged_in)

    def _opened(self, logged_in: kafka_python.LoggedIn) -> BrokerConnection:
        return BrokerConnection(logged_in, self._settings["client_id"], self.request_seconds)

    def _answer(self, request: Any) -> Any:
        """Return the response of the last broker, of others, or of one that is found again."""
        nodes = random.sample(list(self._brokers), min(len(self._brokers), _ASKED_IN_TURN))
        interruptions = self._interruptions
        for node in [None, *nodes]:
            try:
                if node is not None:
                    self._connection = self.connect(node)
                if self._interruptions != interruptions:
                    # Each broker may take the whole time of a request.
                    raise errors.KafkaConnectionError
                if self._connection is not None:
                    return self._connection.ask(request)
            except errors.IncompatibleBrokerVersion:
                raise
            except (OSError, errors.KafkaError) as error:
                self._drop()
                if self._interruptions != interruptions:
                    raise errors.KafkaConnectionError from error
        try:
            self._find()
            assert self._connection is not None
            return self._connection.ask(request)
        except TimeoutError as error:
            # Of a question, nothing is left undone.
            self._drop()
            raise errors.KafkaConnectionError from error

    def _find(self) -> None:
        self._brokers, logged_in = self._network.find_brokers(self._settings, self.request_seconds)
        self._connection = self._opened(logged_in)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask_about(self, topics: Collection[str] | None) -> list[Any]:
        """Note the brokers, and the leaders of some topics or of all; return the descriptions."""
        described = MetadataRequest.MetadataRequestTopic
        request = MetadataRequest(
            topics=None if topics is None else [described(name=name) for name in sorted(topics)],
            # A broker that is asked for a deleted topic would make it again.
            allow_auto_topic_creation=False,
            min_version=4,
            # Later versions may name topics by ids alone.
            max_version=11,
        )
        with self._turn:
            response = self._answer(request)
            # A cluster that is started knows no broker at first.
            if not response.brokers:
                raise errors.MetadataEmptyBrokerList
            self._brokers = {
                broker.node_id: (broker.host, broker.port) for broker in response.brokers
            }
            asked: list[Any] = response.topics
            leaders = {} if topics is None else dict(self._leaders)
            for topic in asked:
                partitions = {one.partition_index: one.leader_id for one in topic.partitions}
                if partitions:
                    leaders[topic.name] = partitions
                else:
                    leaders.pop(topic.name, None)
            self._leaders = leaders
        return asked


def end_offsets(
    leader: BrokerConnection, partitions: Collection[PartitionId], isolation: IsolationLevel
) -> dict[PartitionId, int]:
    """Return the offset after what readers see of each partition; raises KafkaError or OSError."""
    topic_of = ListOffsetsRequest.ListOffsetsTopic
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    request = ListOffsetsRequest(
        isolation_level=isolation,
        topics=[
            topic_of(
                name=topic,
                partitions=[
                    topic_of.ListOffsetsPartition(
                        partition_index=number, timestamp=OffsetSpec.LATEST
                    )
                    for number in own
                ],
            )
            for topic, own in numbers.items()
        ],
        min_version=_LIST_OFFSETS_VERSION,
    )
    ends: dict[PartitionId, int] = {}
    for topic in leader.ask(request).topics:
        for one in topic.partitions:
            if one.error_code:
                raise errors.for_code(one.error_code)(topic.name)
            ends[topic.name, one.partition_index] = one.offset
    return ends
