"""Which ranges of keys may differ: both sides sum their rows, and equal sums are equal rows.

If rows change meanwhile, many ranges have other sums. These are divided, and summed again with the
mirror as it is then, so that few rows are left to be read one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from connector.errors import MirrorError, verification
from verification.key_ranges import KeyRanges, numbers_of
from verification.row_text import RowText
from verification.source_sums import Pace, SourceSums

if TYPE_CHECKING:
    from collections.abc import Callable

    from verification.equal_ranges import EqualRanges
    from verification.pipeline import Pipeline
    from verification.report import TableResult
    from verification.sample import Sample
    from verification.side import Side
    from verification.source_table import SourceTable
    from verification.sums import Sums

# Rows of a range, in the first round and in the second.
_ROWS_OF_A_RANGE: Final = (2000, 100)
# So few rows are read one by one without another round.
_FEW_ROWS: Final = 20_000


class Narrowing:
    """Compares the sums of one table."""

    def __init__(
        self,
        sums: SourceSums,
        mirror: Side,
        text: RowText,
        result: TableResult,
        show: Callable[[int], None],
        equal: EqualRanges | None = None,
    ) -> None:
        """Count the rows of ranges with equal sums in `result`; `show` gets rows that were read.

        Those ranges are added to `equal`.
        """
        self._equal = equal
        self._sums = sums
        self._mirror = mirror
        self._text = text
        self._result = result
        self._show = show

    def unequal(self, ranges: KeyRanges) -> KeyRanges:
        """Return the ranges, divided, whose rows are not proven to be equal."""
        rows = self._mirror.snapshot.live_rows
        if not len(ranges):
            return ranges
        for rows_of_a_range in _ROWS_OF_A_RANGE:
            keys = map(numbers_of, self._mirror.keys(self._mirror.refresh()))
            ranges = ranges.divided(keys, rows, rows_of_a_range)
            ranges, rows = self._round(ranges)
            if rows <= _FEW_ROWS:
                break
        return ranges

    def _round(self, ranges: KeyRanges) -> tuple[KeyRanges, int]:
        """Return the ranges with other sums, and about how many rows they have."""
        begun = self._sums.begin(ranges)
        own, is_own_known = self._mirror.sums(ranges, self._text, self._show)

        def note(places: slice, some: Sums) -> None:
            if self._equal is not None:
                same = (own.rows[places] == some.rows) & (own.xors[places] == some.xors)
                same &= is_own_known[places]
                self._equal.add(ranges.take(places).take(same), some.rows[same])

        theirs, is_known = self._sums.gathered(begun, len(ranges), self._show, note)
        equal = is_known & is_own_known & (own.rows == theirs.rows) & (own.xors == theirs.xors)
        count = int(own.rows[equal].sum())
        self._result.rows += count
        self._result.mirror_rows += count
        self._result.summed_rows += count
        left = np.maximum(own.rows, theirs.rows)[~equal]
        return ranges.take(~equal), int(left.sum())


def unequal_ranges(
    pipeline: Pipeline,
    source: SourceTable,
    mirror: Side,
    pace: Pace,
    sample: Sample | None,
    result: TableResult,
    show: Callable[[int], None],
    equal: EqualRanges | None = None,
) -> KeyRanges | None:
    """Return the ranges whose rows have to be read, of all or of a `sample`; None for all rows.

    Ranges that are `equal` already are left out, and others that are found equal are added.
    Raises MirrorError if the table has no ranges to choose from.
    """
    key = source.key_number
    if key is None and sample is not None:
        raise MirrorError(verification.NO_RANGES, table=result.name)
    text = None
    if key is not None and mirror.writes_texts_of(source.schema):
        text = RowText.of(pipeline.session, source.schema, mirror.columns)
    if sample is None and text is None:
        return None
    ranges = KeyRanges.whole()
    if sample is not None:
        keys = map(numbers_of, mirror.keys(mirror.snapshot))
        every = ranges.divided(keys, mirror.snapshot.live_rows, _ROWS_OF_A_RANGE[0])
        ranges = sample.of(every)
        result.sample = f"{len(ranges)} of {len(every)} ranges of keys, --seed {sample.seed}"
    if key is None or text is None:
        return ranges
    if equal is not None:
        ranges = equal.rest()
        result.rows = result.mirror_rows = result.summed_rows = equal.rows
        result.rows_from_state = equal.rows
    settings = pipeline.settings.snapshot
    with SourceSums(pipeline.open_session, settings, pace, source.quoted_name, key, text) as sums:
        return Narrowing(sums, mirror, text, result, show, equal).unequal(ranges)
