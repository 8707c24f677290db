"""The ranges of a table whose sums were equal: they are not summed again in the same pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from verification.key_ranges import GREATEST, LEAST, KeyRanges

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# So many are kept, each joined of neighbours: the file of a pass stays small.
_RANGES_MAX: Final = 10_000


class EqualRanges:
    """Collects the ranges of one table."""

    def __init__(self, ranges: KeyRanges, rows: NDArray[np.int64]) -> None:
        """Begin with some ranges and the number of rows in each."""
        self._ranges = ranges
        self._rows = rows
        # Called when there are more.
        self.on_more: Callable[[], None] = lambda: None

    @classmethod
    def none(cls) -> Self:
        """Begin with no range."""
        return cls.of_json({"low": [], "high": [], "rows": []})

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Self:
        """Read what `to_json` returned; raises KeyError, TypeError or ValueError for others."""
        low, high, rows = (np.array(found[name], np.int64) for name in ("low", "high", "rows"))
        if not len(low) == len(high) == len(rows):
            raise ValueError(len(low))
        return cls(KeyRanges(low, high), rows)

    def to_json(self) -> dict[str, Any]:
        """Return the ranges for a file."""
        kept = slice(0, _RANGES_MAX)
        names = (self._ranges.low, self._ranges.high, self._rows)
        return dict(
            zip(("low", "high", "rows"), (each[kept].tolist() for each in names), strict=True)
        )

    @property
    def rows(self) -> int:
        """How many rows are in the ranges."""
        return int(self._rows.sum())

    def add(self, ranges: KeyRanges, rows: NDArray[np.int64]) -> None:
        """Add ranges with no key of those before, and the number of rows in each."""
        low = np.concatenate([self._ranges.low, ranges.low])
        high = np.concatenate([self._ranges.high, ranges.high])
        order = np.argsort(low)
        every = KeyRanges(low[order], high[order])
        counts = np.concatenate([self._rows, rows])[order]
        self._ranges = every.joined()
        begins = np.searchsorted(every.low, self._ranges.low)
        self._rows = np.add.reduceat(counts, begins) if len(begins) else counts
        self.on_more()

    def rest(self) -> KeyRanges:
        """Return the ranges with all other keys."""
        # As Python's numbers: the key before the least one is none of 64 bits.
        low = [LEAST, *(each + 1 for each in self._ranges.high.tolist())]
        high = [*(each - 1 for each in self._ranges.low.tolist()), GREATEST]
        left = [both for both in zip(low, high, strict=True) if both[0] <= both[1]]
        found = np.array(left, np.int64).reshape(-1, 2)
        return KeyRanges(found[:, 0].copy(), found[:, 1].copy())
