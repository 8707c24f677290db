"""Transaction numbers as half-open intervals, kept as one sorted list of their bounds.

`1-4:7-9` is `[1, 5, 7, 10]`: even indexes start an interval, odd indexes end one. Neighbours never
touch. A number lies inside if the count of bounds at or below it is odd, so one bisection answers
every question, and changes are slice assignments.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_extensions import i64

# The server's GNO_END: numbers run from 1 to one below it.
GNO_END: Final = 2**63 - 1


@final
class Intervals:
    """A mutable set of transaction numbers."""

    __slots__ = ("_bounds",)

    def __init__(self, bounds: list[int] | None = None) -> None:
        """Take over `bounds`, which must be strictly rising and even in count."""
        self._bounds = [] if bounds is None else bounds

    def add(self, gno: i64) -> None:
        """Add one number; constant time if it follows the highest one."""
        bounds = self._bounds
        if bounds and bounds[-1] == gno:
            bounds[-1] = gno + 1
        else:
            self.add_range(gno, gno + 1)

    def add_range(self, start: int, end: int) -> None:
        """Add the numbers from `start` up to, but not including, `end`."""
        bounds = self._bounds
        # A bound equal to `start` or `end` disappears: touching intervals become one.
        low = bisect_left(bounds, start)
        high = bisect_right(bounds, end)
        outer = [] if low % 2 else [start]
        if not high % 2:
            outer.append(end)
        bounds[low:high] = outer

    def remove_range(self, start: int, end: int) -> None:
        """Remove the numbers from `start` up to, but not including, `end`."""
        bounds = self._bounds
        low = bisect_left(bounds, start)
        high = bisect_right(bounds, end)
        outer = [start] if low % 2 else []
        if high % 2:
            outer.append(end)
        bounds[low:high] = outer

    def contains_range(self, start: int, end: int) -> bool:
        """Return whether the set has every number from `start` up to, but not including, `end`."""
        after = bisect_right(self._bounds, start)
        return after % 2 == 1 and end <= self._bounds[after]

    def copy(self) -> Intervals:
        """Return an independent copy."""
        return Intervals(self._bounds.copy())

    def __contains__(self, gno: int) -> bool:
        return bisect_right(self._bounds, gno) % 2 == 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each interval, end exclusive, in rising order."""
        return zip(self._bounds[::2], self._bounds[1::2], strict=True)

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self._bounds) // 2

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return self._bounds == other._bounds

    # Equal by value and mutable, so not a key.
    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return the server's form: `1-4:7`."""
        return ":".join(
            str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in self
        )
