"""The Kafka clients that the sink opens: its transactional producer, consumers and admin clients.

A simulation replaces them by its own `KafkaClients`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer

from connector.kafka.producer import TransactionalProducer


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """The functions that open each kind of client; they raise KafkaError or OSError."""

    # A client's arguments, the transactional id, its timeout in seconds, and the compression.
    open_producer: Callable[[dict[str, Any], str, float, str], TransactionalProducer]
    # The client's arguments; kafka-python has no types.
    open_consumer: Callable[..., Any]
    open_admin: Callable[..., Any]


KAFKA_CLIENTS = KafkaClients(TransactionalProducer, KafkaConsumer, KafkaAdminClient)
