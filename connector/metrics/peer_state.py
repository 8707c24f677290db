"""Whether the source and Kafka answer: told once when one is lost, and once when it is back."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from connector.errors import fields

if TYPE_CHECKING:
    from connector.errors import ConnectorError


class PeerState:
    """The state of one peer; any thread may tell of it."""

    def __init__(self, name: str) -> None:
        """Watch the peer that log lines and answers call `name`."""
        self.name = name
        self._lock = threading.Lock()
        self._up: bool | None = None  # None before the first attempt
        self._error: ConnectorError | None = None
        self._since = time.monotonic()

    @property
    def up(self) -> bool:
        """Whether it answered last time."""
        return self._up is True

    @property
    def lost(self) -> bool:
        """Whether it did not answer last time; before the first attempt neither holds."""
        return self._up is False

    @property
    def away_seconds(self) -> float:
        """How long it has not answered; 0 where it does."""
        return time.monotonic() - self._since if self.lost else 0.0

    def lose(self, error: ConnectorError) -> bool:
        """Note that it does not answer, by `error`; return whether it did before."""
        with self._lock:
            before, self._up = self._up, False
            self._error = error
            if before is False:
                return False
            self._since = time.monotonic()
        event = "cannot be reached" if before is None else "was lost"
        structlog.get_logger().warning(f"{self.name} {event}", **fields(error))
        return before is True

    def answer(self) -> None:
        """Note that it answers."""
        if self._up:
            return
        with self._lock:
            before, self._up = self._up, True
            self._error = None
            away, self._since = time.monotonic() - self._since, time.monotonic()
        if before is False:
            structlog.get_logger().info(f"{self.name} is back", away_seconds=round(away, 1))

    def words(self) -> str:
        """Return the state as one line for people."""
        if self._up is None:
            return f"{self.name} has not been reached yet"
        if self._up:
            return f"{self.name} answers"
        return f"{self.name} has not answered for {self.away_seconds:.0f} s: {self._error}"
