"""Whether source and Kafka answer; a log line says when one is lost, and when it is back."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from connector.errors import fields

if TYPE_CHECKING:
    from connector.errors import ConnectorError


class PeerState:
    """The state of one peer; any thread may change it."""

    def __init__(self, name: str) -> None:
        """Use `name` for the peer in log lines and error texts."""
        self.name = name
        self._lock = threading.Lock()
        self._up: bool | None = None  # None before the first attempt
        self._error: ConnectorError | None = None
        self._since = time.monotonic()

    @property
    def up(self) -> bool:
        """Whether the last attempt succeeded; False before the first."""
        return self._up is True

    @property
    def lost(self) -> bool:
        """Whether the last attempt failed; False before the first."""
        return self._up is False

    @property
    def error(self) -> ConnectorError | None:
        """Why the peer does not answer; None if it answers."""
        return self._error

    @property
    def away_seconds(self) -> float:
        """For how many seconds the peer has not answered; 0 if it answers."""
        return time.monotonic() - self._since if self.lost else 0.0

    def lose(self, error: ConnectorError) -> bool:
        """Note that the peer failed with `error`; return whether it answered before."""
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
        """Note that the peer answers."""
        if self._up:
            return
        with self._lock:
            before, self._up = self._up, True
            self._error = None
            away, self._since = time.monotonic() - self._since, time.monotonic()
        if before is False:
            structlog.get_logger().info(f"{self.name} is back", away_seconds=round(away, 1))

    def words(self) -> str:
        """Return the state as one line of text."""
        if self._up is None:
            return f"{self.name} has not been reached yet"
        if self._up:
            return f"{self.name} answers"
        return f"{self.name} has not answered for {self.away_seconds:.0f} s: {self._error}"
