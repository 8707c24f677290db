"""What is tried of Kafka, for errors."""

from __future__ import annotations

from connector.errors import kafka_attempts
from connector.errors.message import Message


def creating(*topics: str) -> Message:
    """Return what is done when topics are created."""
    return Message(kafka_attempts.CREATE_TOPICS, {"topics": topics})


def creating_tables() -> Message:
    """Return what is done when it is seen whether topics of tables can be created."""
    return Message(kafka_attempts.CREATE_TABLES, {})


def reading(*topics: str) -> Message:
    """Return what is done when topics are read."""
    return Message(kafka_attempts.READ_TOPICS, {"topics": topics})


def writing(topic: str) -> Message:
    """Return what is done when a record is sent."""
    return Message(kafka_attempts.WRITE_TOPIC, {"topic": topic})


def taking_over(transactional_id: str) -> Message:
    """Return what is done when a run fences older ones."""
    return Message(kafka_attempts.TAKE_OVER, {"id": transactional_id})


def committing() -> Message:
    """Return what is done when a transaction is committed."""
    return Message(kafka_attempts.COMMIT, {})


def aborting() -> Message:
    """Return what is done when a transaction is aborted."""
    return Message(kafka_attempts.ABORT, {})


def looking_at_limits() -> Message:
    """Return what is done when settings and brokers are compared."""
    return Message(kafka_attempts.LOOK_AT_LIMITS, {})
