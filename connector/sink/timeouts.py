"""The error if something takes longer than Kafka or the settings allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import KafkaTimeoutError

from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode


class TimedOut(KafkaTimeoutError):  # type: ignore[misc]  # the library has no types
    """Our error as one of the client's errors, so that the same handlers catch it."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)
