"""What takes longer than Kafka or the settings give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.errors import KafkaTimeoutError

from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode


class TimedOut(KafkaTimeoutError):  # type: ignore[misc]  # the library has no types
    """An error of ours among those of the client: it is caught where these are."""

    def __init__(self, code: ErrorCode, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)
