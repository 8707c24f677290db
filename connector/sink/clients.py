"""Kafka's clients as the sink opens them: those of brokers, or what stands for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer

from connector.sink.producer import TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.records.record_batch import RecordBatch


class Producer(Protocol):
    """A producer that has taken over its transactional id; every method may raise KafkaError."""

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka may not have acknowledged."""
        ...

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic."""
        ...

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        ...

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction, once there is room for it."""
        ...

    def wake(self) -> None:
        """Send what is queued."""
        ...

    def commit_transaction(self) -> None:
        """Commit; where it raises, the outcome is not known."""
        ...

    def abort_transaction(self) -> None:
        """Abort; where it raises, Kafka aborts in time."""
        ...

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """How each kind is opened; what is raised is KafkaError or OSError."""

    # The seconds that a transaction may take, and the client's arguments.
    open_producer: Callable[..., Producer]
    # The client's arguments; kafka-python has no types.
    open_consumer: Callable[..., Any]
    open_admin: Callable[..., Any]


KAFKA_CLIENTS = KafkaClients(TransactionalProducer, KafkaConsumer, KafkaAdminClient)
