"""Checksums of key ranges on both sides: which ranges are not proven to be equal.

If rows change meanwhile, many ranges have different checksums. These ranges are divided and
compared again with the other side as it is then, so few rows are left to be read one by one.
"""

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from verification.checksums import Checksums, ServerChecksums
from verification.key_ranges import EqualRanges, KeyRanges, range_rows
from verification.row_text import RowText

# Rows of a range, in the first round and in the second. Beside others, a statement has one range
# of the first round.
ROWS_OF_A_RANGE: Final = (200, 20)
# So few rows are read one by one without another round.
_FEW_ROWS: Final = 20_000


class SummedSide(Protocol):
    """The side that is compared with the source."""

    def divided(self, ranges: KeyRanges, rows: int, rows_of_a_range: int) -> KeyRanges:
        """Read the newest state from now on, and divide ranges by its keys.

        About `rows` are in all of them, and `rows_of_a_range` in each of the result.
        """
        ...

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Return the sums of `ranges`, and which of them are known; `show` gets rows."""
        ...


class ChecksumRounds:
    """Compares the sums of one table."""

    def __init__(
        self,
        sums: ServerChecksums,
        side: SummedSide,
        text: RowText,
        show: Callable[[int], None],
        equal: EqualRanges | None = None,
    ) -> None:
        """Sum rows as `text` writes them; `show` gets the rows that were read of both sides.

        Ranges with equal sums are added to `equal`.
        """
        self._sums = sums
        self._side = side
        self._text = text
        self._show = show
        self._equal = equal
        # Those of ranges with equal sums.
        self.rows = 0

    def unequal(self, ranges: KeyRanges, rows: int) -> KeyRanges:
        """Return the ranges, divided, whose rows are not proven to be equal.

        About `rows` are in all of them. Raises the errors of reading.
        """
        for rows_of_a_range in ROWS_OF_A_RANGE:
            if not len(ranges):
                break
            ranges = self._side.divided(ranges, rows, rows_of_a_range)
            ranges, rows = self._round(ranges, range_rows(rows, rows_of_a_range))
            if rows <= _FEW_ROWS:
                break
        return ranges

    def _round(self, ranges: KeyRanges, rows_of_a_range: int) -> tuple[KeyRanges, int]:
        """Return the ranges with other sums, and about how many rows they have."""
        begun = self._sums.begin(ranges, rows_of_a_range)
        own, is_own_known = self._side.sums(ranges, self._text, self._show)

        def note(places: slice, some: Checksums) -> None:
            if self._equal is not None:
                same = (own.rows[places] == some.rows) & (own.xors[places] == some.xors)
                same &= is_own_known[places]
                self._equal.add(ranges.take(places).take(same), some.rows[same])

        theirs, is_known = self._sums.gathered(begun, len(ranges), self._show, note)
        equal = is_known & is_own_known & (own.rows == theirs.rows) & (own.xors == theirs.xors)
        self.rows += int(own.rows[equal].sum())
        left = np.maximum(own.rows, theirs.rows)[~equal]
        return ranges.take(~equal), int(left.sum())
