"""Names of what the connector asked of Kafka, for error texts."""

from __future__ import annotations

from connector.errors import kafka_attempts
from connector.errors.message import Message


def creating(*topics: str) -> Message:
    """Return the name of the attempt to create topics."""
    return Message(kafka_attempts.CREATE_TOPICS, {"topics": topics})


def creating_tables() -> Message:
    """Return the name of the check whether topics of tables can be created."""
    return Message(kafka_attempts.CREATE_TABLES, {})


def reading(*topics: str) -> Message:
    """Return the name of the attempt to read topics."""
    return Message(kafka_attempts.READ_TOPICS, {"topics": topics})


def writing(topic: str) -> Message:
    """Return the name of the attempt to send a record."""
    return Message(kafka_attempts.WRITE_TOPIC, {"topic": topic})


def taking_over(transactional_id: str) -> Message:
    """Return the name of the attempt to fence older instances."""
    return Message(kafka_attempts.TAKE_OVER, {"id": transactional_id})


def committing() -> Message:
    """Return the name of the attempt to commit a transaction."""
    return Message(kafka_attempts.COMMIT, {})


def aborting() -> Message:
    """Return the name of the attempt to abort a transaction."""
    return Message(kafka_attempts.ABORT, {})


def looking_at_limits() -> Message:
    """Return the name of the comparison of settings and brokers."""
    return Message(kafka_attempts.LOOK_AT_LIMITS, {})
