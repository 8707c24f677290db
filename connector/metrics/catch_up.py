"""How long it takes until nothing is left, by how fast what is left has become less."""

from __future__ import annotations

from collections import deque

# The speed is the mean of this time: batches come in jumps.
_SPAN_SECONDS = 60.0
# A shorter time says little.
_LEAST_SECONDS = 10.0


class CatchUp:
    """Is told from time to time what is left, in any unit."""

    def __init__(self) -> None:
        """Begin without knowledge."""
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
