"""The clock: an argument of everything that waits, so that a simulation can have its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Clock:
    """Two clocks: a monotonic one, and the time of day."""

    monotonic: Callable[[], float]  # seconds
    time_ns: Callable[[], int]  # since the epoch


CLOCK = Clock(time.monotonic, time.time_ns)
