"""SIGTERM and SIGINT: the first requests a clean stop, the second stops at once."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType

_SLICE_SECONDS = 0.1


class StoppedHard(BaseException):
    """A second signal, or a clean stop that took too long: exit at once.

    Kafka aborts what was not committed, and the next run reads it again.
    """


class StopSignals:
    """Inside of `with`, SIGTERM and SIGINT set `requested`.

    It is a plain attribute, not a `threading.Event`: if the main thread held its lock, the signal
    handler would wait for itself.
    """

    def __init__(self, grace_seconds: int = 30) -> None:
        """Give a clean stop `grace_seconds` before it becomes a hard stop."""
        self.requested = False
        self._number = 0
        self._told = False
        self._grace_seconds = grace_seconds
        self._previous: dict[signal.Signals, object] = {}

    def tell(self) -> None:
        """Log the signal once after a stop was requested: a handler must not log."""
        if self.requested and not self._told:
            self._told = True
            name = signal.Signals(self._number).name if self._number else None
            from structlog import get_logger  # noqa: PLC0415  # keeps commands without a log fast

            get_logger().info("stop requested", signal=name)

    def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or a stop is requested."""
        end = time.monotonic() + seconds
        while not self.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def __enter__(self) -> Self:
        """Install the handlers."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._previous[number] = signal.signal(number, self._request)
        self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._stop_hard)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the earlier handlers."""
        signal.alarm(0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from signal.signal

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            self._stop_hard(number, frame)
        self.requested = True
        self._number = number
        signal.alarm(self._grace_seconds)

    def _stop_hard(self, number: int, frame: FrameType | None) -> None:
        del frame
        raise StoppedHard(number)
