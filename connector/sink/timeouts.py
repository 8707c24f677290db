"""Errors of our own as errors of the client, so that the same handlers catch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.errors import KafkaError, KafkaTimeoutError

from connector.errors import kafka
from connector.errors.message import Message

if TYPE_CHECKING:
    from kafka import TopicPartition

    from connector.errors import ConnectorError
    from connector.errors.code import ErrorCode


class TimedOut(KafkaTimeoutError):  # type: ignore[misc]  # the library has no types
    """Something takes longer than Kafka or the settings allow."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)


def open_transaction(consumer: Any, partition: TopicPartition, end: int) -> TimedOut:
    """Return that a transaction hides a partition from the position of `consumer` to `end`."""
    return TimedOut(
        kafka.OPEN_TRANSACTION,
        topic=partition.topic,
        partition=partition.partition,
        start=consumer.position(partition),
        end=end,
    )


class Interrupted(KafkaError):  # type: ignore[misc]  # the library has no types
    """A thread beside the producer knows why its wait is in vain."""

    def __init__(self, error: ConnectorError) -> None:
        """`error` is the reason."""
        self.error = error
        super().__init__(str(error))
