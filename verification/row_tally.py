"""How often each row is there, on both sides: rows without a key are counted.

A record has 32 bytes: the digest of a row, and both counts. Records are on disk, in buckets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from stream_jobs.apply.keys import distinct
from verification.buckets import Buckets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream_jobs.apply.keys import Keys
    from verification.digests import Digest

_RECORD: Final = np.dtype(
    [("first", "<i8"), ("second", "<i8"), ("source", "<i8"), ("mirror", "<i8")]
)


class Counts(NamedTuple):
    """How often both sides have a row."""

    source: int
    mirror: int


class RowTally:
    """Takes the rows of both sides in any order, then says which counts differ."""

    def __init__(self, folder: Path, rows: int) -> None:
        """Keep records in `folder`; `rows` is about the number of rows of both sides."""
        self._buckets = Buckets(folder, rows)

    def add(self, rows: Keys, *, source: int = 0, mirror: int = 0) -> None:
        """Add so many of each of these rows to the sides."""
        if not len(rows.first):
            return
        # Equal rows need one record, so a table of few different rows stays small.
        once, places = distinct(rows)
        times = np.bincount(places, minlength=len(once.first))
        records = np.empty(len(once.first), _RECORD)
        records["first"], records["second"] = once.first, once.second
        records["source"], records["mirror"] = times * source, times * mirror
        self._buckets.add(records)

    def unequal(self) -> Iterator[tuple[Digest, Counts]]:
        """Yield the rows with other counts."""
        for path in self._buckets.paths:
            records = np.fromfile(path, _RECORD)
            if not len(records):
                continue
            records = records[np.lexsort((records["second"], records["first"]))]
            first, second = records["first"], records["second"]
            is_other = (np.diff(first) != 0) | (np.diff(second) != 0)
            starts = np.append(0, np.flatnonzero(is_other) + 1)
            source, mirror = (np.add.reduceat(records[name], starts) for name in Counts._fields)
            for place in np.flatnonzero(source != mirror).tolist():
                digest = int(first[starts[place]]), int(second[starts[place]])
                yield digest, Counts(int(source[place]), int(mirror[place]))
