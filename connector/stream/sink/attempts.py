"""Attempts at Kafka: their names in error texts, and the errors that end one early.

The errors are errors of the client, too, so the handlers of its errors also catch ours.
"""

from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation.errors import ConnectorError
from connector.foundation.errors.message import Message
from connector.kafka import connection_errors
from connector.kafka.failures import TimedOut
from connector.stream.sink import kafka_errors


def open_transaction_timeout(consumer: Any, partition: TopicPartition, end: int) -> TimedOut:
    """Return that a transaction hides a partition from the position of `consumer` to `end`."""
    return TimedOut(
        kafka_errors.OPEN_TRANSACTION,
        topic=partition.topic,
        partition=partition.partition,
        start=consumer.position(partition),
        end=end,
    )


class Interrupted(KafkaError):  # type: ignore[misc]  # the library has no types
    """A thread beside the producer knows why its wait is in vain."""

    def __init__(self, error: ConnectorError) -> None:
        self.error = error
        super().__init__(str(error))


def creating(*topics: str) -> Message:
    """Return the name of the attempt to create topics."""
    return Message(connection_errors.CREATE_TOPICS, {"topics": topics})


def creating_tables() -> Message:
    """Return the name of the check whether topics of tables can be created."""
    return Message(connection_errors.CREATE_TABLES, {})


def reading(*topics: str) -> Message:
    """Return the name of the attempt to read topics."""
    return Message(connection_errors.READ_TOPICS, {"topics": topics})


def writing(topic: str) -> Message:
    """Return the name of the attempt to send a record."""
    return Message(connection_errors.WRITE_TOPIC, {"topic": topic})


def taking_over(transactional_id: str) -> Message:
    """Return the name of the attempt to fence older instances."""
    return Message(connection_errors.TAKE_OVER, {"id": transactional_id})


def committing() -> Message:
    """Return the name of the attempt to commit a transaction."""
    return Message(connection_errors.COMMIT, {})


def aborting() -> Message:
    """Return the name of the attempt to abort a transaction."""
    return Message(connection_errors.ABORT, {})


def looking_at_limits() -> Message:
    """Return the name of the comparison of settings and brokers."""
    return Message(connection_errors.LOOK_AT_LIMITS, {})
