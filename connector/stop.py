"""SIGTERM and SIGINT: the first asks for a clean stop, the second does not wait for it."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_SLICE_SECONDS = 0.1


class StoppedHard(BaseException):
    """A second signal, or a clean stop that took too long: leave at once.

    What was not committed is aborted by Kafka and read again by the next run.
    """


class StopSignals:
    """While entered, SIGTERM and SIGINT set `requested`.

    A plain attribute, not a `threading.Event`: a signal handler that takes a lock which the main
    thread holds would wait for itself.
    """

    def __init__(self, grace_seconds: int = 30) -> None:
        """Give a clean stop `grace_seconds` before it becomes a hard one."""
        self.requested = False
        self._grace_seconds = grace_seconds
        self._previous: dict[signal.Signals, object] = {}

    def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond a request to stop."""
        end = time.monotonic() + seconds
        while not self.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def __enter__(self) -> Self:
        """Install the handlers."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._previous[number] = signal.signal(number, self._request)
        self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._stop_hard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put back the handlers that were there."""
        signal.alarm(0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # it came from signal.signal

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            self._stop_hard(number, frame)
        self.requested = True
        signal.alarm(self._grace_seconds)

    def _stop_hard(self, number: int, frame: FrameType | None) -> None:
        del frame
        raise StoppedHard(number)
