"""Errors of our own as errors of the client, so that the same handlers catch them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import KafkaError, KafkaTimeoutError

from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors import ConnectorError
    from connector.errors.code import ErrorCode


class TimedOut(KafkaTimeoutError):  # type: ignore[misc]  # the library has no types
    """Something takes longer than Kafka or the settings allow."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)


class Interrupted(KafkaError):  # type: ignore[misc]  # the library has no types
    """A thread beside the producer knows why its wait is in vain."""

    def __init__(self, error: ConnectorError) -> None:
        """`error` is the reason."""
        self.error = error
        super().__init__(str(error))
