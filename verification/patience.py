"""A server that is away is waited for, and what was being read is read anew.

A lost session takes along what it held: a snapshot, a watermark, the rest of an answer. So whatever
is read again begins with these: a statement, a chunk, or a table that one snapshot has to show.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Final, TypeVar

import structlog

from connector.foundation import errors
from connector.foundation.errors import ConnectorError, SourceUnavailable
from connector.foundation.settings.sections import RetrySettings
from connector.replication.server.server_error_numbers import DEADLOCK, LOCK_WAIT_TIMEOUT
from connector.stream.snapshot.time_limits import TIMEOUTS
from verification import verify_errors

Found = TypeVar("Found")

# The server has answered: another statement may help, or the rows one by one.
_ANSWERS: Final = TIMEOUTS | {LOCK_WAIT_TIMEOUT, DEADLOCK}
# No attempt changes them.
_FINAL: Final = (
    verify_errors.OTHER_SERVER,
    verify_errors.MOVED,
    verify_errors.OTHER_ANSWERS,
    verify_errors.LOST,
    verify_errors.AWAY,
    verify_errors.OFTEN_LOST,
)
# To connect takes less, so after an attempt that has lasted longer, the server was lost once more.
_CONNECTING_SECONDS: Final = 60.0
# So often a reading that takes longer than that is begun again.
_LOSSES_MAX: Final = 5


@dataclass(slots=True)
class Absences:
    """When servers were away: whoever has to write to them, or to read them, is late afterwards."""

    source: "Absences | None" = None  # those of the source, if these are the ones of a target
    _seconds: float = 0.0
    _ended_at: float = -math.inf

    @property
    def seconds(self) -> float:
        """How long all of them together were."""
        return self._seconds + (0.0 if self.source is None else self.source.seconds)

    @property
    def ended_at(self) -> float:
        """When the last one ended, by the clock of this process."""
        return max(self._ended_at, -math.inf if self.source is None else self.source.ended_at)

    def add(self, began: float, ended: float) -> None:
        """Note one; other threads may have noted a part of it."""
        self._seconds += max(0.0, ended - max(began, self._ended_at))
        self._ended_at = max(ended, self._ended_at)


class Patience:
    """How long a server that is away is waited for; several threads may use it."""

    def __init__(
        self,
        retry: RetrySettings,
        seconds: float,
        require: Callable[[], None] = lambda: None,
        side: str = "the source",
    ) -> None:
        """Wait for `seconds` at the most, with the pauses of `retry` between attempts.

        `require` raises an error if the wait is in vain. `side` names the server for people.
        """
        self.require = require
        self.retry = retry
        self.seconds = seconds
        self.side = side
        self.closing = Event()
        self.absences = Absences()
        # Whether a wait has ended in vain. The next tables do not wait as long, each again.
        self.is_over = False

    def for_target(self) -> "Patience":
        """Return the same patience with the server of the target; both end together."""
        other = Patience(self.retry, self.seconds, self.require, "the target")
        # The target of another table may be away while this one has to be equal.
        other.closing, other.absences = self.closing, Absences(self.absences)
        return other

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns; call it again while the server is away.

        Raises what `read` raises, and as `Attempts.wait_after`.
        """
        attempts = Attempts(self)
        while True:
            try:
                found = read()
            except SourceUnavailable as error:
                if error.number in _ANSWERS:
                    raise
                attempts.wait_after(error)
            else:
                self.is_over = False
                attempts.end()
                return found

    def close(self) -> None:
        """End all waits."""
        self.closing.set()


class Attempts:
    """The attempts to read one thing."""

    def __init__(self, patience: Patience) -> None:
        """Wait as long as `patience` says, from the loss of a connection on."""
        self._patience = patience
        self._pause = patience.retry.initial_seconds
        self._until: float | None = None
        self._began = time.monotonic()  # the last attempt
        self._losses = 0

    def end(self) -> None:
        """Note that what was to be read was read."""
        if self._until is not None:
            self._patience.absences.add(self._until - self._patience.seconds, time.monotonic())

    def wait_after(self, error: ConnectorError) -> None:
        """Wait until the next attempt.

        Raises SourceUnavailable if there is none, and the errors of `Patience.require`.
        """
        patience, now = self._patience, time.monotonic()
        if patience.closing.is_set() or error.code in _FINAL:
            raise error
        if self._until is None or now - self._began > _CONNECTING_SECONDS:
            self._until, self._pause = now + patience.seconds, patience.retry.initial_seconds
            self._losses += 1
        if self._losses > _LOSSES_MAX:
            raise SourceUnavailable(
                verify_errors.OFTEN_LOST, side=patience.side, times=self._losses, why=error
            ) from error
        if patience.is_over or now >= self._until:
            patience.is_over = True
            raise SourceUnavailable(
                verify_errors.AWAY, side=patience.side, seconds=patience.seconds, why=error
            ) from error
        # The last attempt is at the end of the time.
        pause = min(self._pause, self._until - now)
        self._pause = min(2 * self._pause, patience.retry.max_seconds)
        structlog.get_logger().warning(
            f"{patience.side} is away", **errors.fields(error), retry_in_seconds=round(pause, 3)
        )
        if patience.closing.wait(pause):
            raise error
        self._began = time.monotonic()
        patience.require()
