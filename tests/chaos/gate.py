"""Where writers pass between two transactions, and can be held."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.chaos.failure import ChaosFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOLD_SECONDS = 60.0


class Gate:
    """Open at first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._holders = 0

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Do something while nobody holds the gate."""
        with self._changed:
            self._changed.wait_for(lambda: not self._holders)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do something while nobody passes; raises ChaosFailure when one does not come out."""
        deadline = time.monotonic() + _HOLD_SECONDS
        with self._changed:
            self._holders += 1
            while self._inside:
                if not self._changed.wait(deadline - time.monotonic()):
                    self._holders -= 1
                    self._changed.notify_all()
                    reason = f"a writer's transaction did not end within {_HOLD_SECONDS:.0f} s"
                    raise ChaosFailure(reason)
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()
