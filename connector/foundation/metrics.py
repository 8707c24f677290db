"""Metrics of the connector and of the Spark job: durations, time to catch up, and a turning loop.

`http_server` publishes them; a process without that server needs no client of Prometheus.
"""

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations by size; it is replaced and never changed, so it needs no lock."""

    # Upper limits of the buckets in seconds; the last bucket has none.
    limits: tuple[float, ...]
    counts: tuple[int, ...]
    seconds: float = 0.0

    @classmethod
    def of(cls, *limits: float) -> "Histogram":
        """Return one without durations."""
        return cls(limits, (0,) * (len(limits) + 1))

    def plus(self, durations: Iterable[tuple[float, int]]) -> "Histogram":
        """Return this one with more durations, in seconds, each with its count."""
        counts, total = list(self.counts), self.seconds
        for seconds, count in durations:
            counts[bisect_left(self.limits, seconds)] += count
            total += seconds * count
        return replace(self, counts=tuple(counts), seconds=total)


# The speed is the mean of this time: batches come in jumps.
_SPAN_SECONDS = 60.0
# A shorter time says little.
_LEAST_SECONDS = 10.0


class CatchUpEstimate:
    """Is told from time to time what is left, in any unit."""

    def __init__(self) -> None:
        self._noted: deque[tuple[float, float]] = deque()

    def note(self, at: float, left: float) -> float | None:
        """Return the seconds until nothing is left of what is `left` `at` a time, in seconds.

        0 if nothing is. None if that is not known yet, or if it does not become less.
        """
        noted = self._noted
        if left <= 0 or (noted and at < noted[-1][0]):
            noted.clear()
        noted.append((at, left))
        if left <= 0:
            return 0.0
        while len(noted) > 1 and at - noted[1][0] >= _SPAN_SECONDS:
            noted.popleft()
        began, before = noted[0]
        if at - began < _LEAST_SECONDS or left >= before:
            return None
        return left * (at - began) / (before - left)


def turning(turned_at: float, turn_seconds_max: float) -> tuple[bool, str]:
    """Return whether a main loop turns that turned at `turned_at`, and the reason.

    The time is one of the monotonic clock.
    """
    seconds = time.monotonic() - turned_at
    said = f"the main loop turned {seconds:.0f} s ago"
    if seconds <= turn_seconds_max:
        return True, f"well: {said}"
    return False, (
        f"stuck: {said}, and a turn takes {turn_seconds_max:.0f} s at most: look at the "
        "log, and start the process again"
    )
