"""The rows of a mirror as digests: which key has which row.

A record has 32 bytes: 128 bits of the key and 128 bits of the whole row. Records are on disk, in
buckets. So memory does not grow with the table, apart from one byte a row that says whether the
source has its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream_jobs.apply.keys import Keys
from verification.buckets import Buckets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_RECORD: Final = np.dtype([("first", "<i8"), ("second", "<i8"), ("row", "<i8"), ("rest", "<i8")])


class RowIndex:
    """Takes all rows of a mirror first, then answers for rows of the source."""

    def __init__(self, folder: Path, rows: int) -> None:
        """Keep records in `folder`; `rows` is about the number of rows."""
        self._buckets = Buckets(folder, rows)
        self._seen: list[NDArray[np.bool_]] = []
        self.rows = 0

    def add(self, keys: Keys, rows: Keys) -> None:
        """Add rows of the mirror."""
        records = np.empty(len(keys.first), _RECORD)
        records["first"], records["second"] = keys.first, keys.second
        records["row"], records["rest"] = rows.first, rows.second
        self.rows += len(records)
        self._buckets.add(records)

    def complete(self) -> None:
        """Sort the records: all rows were added."""
        for path in self._buckets.paths:
            records = np.fromfile(path, _RECORD)
            order = np.lexsort((records["second"], records["first"]))
            records[order].tofile(path)
            self._seen.append(np.zeros(len(records), np.bool_))

    def are_equal(self, keys: Keys, rows: Keys) -> NDArray[np.bool_]:
        """Return which rows of the source the mirror has, once each, with the same values.

        Their keys count as seen, also if the rows differ.
        """
        equal = np.zeros(len(keys.first), np.bool_)
        for number, places in self._buckets.places(keys.first):
            equal[places] = self._in_bucket(number, keys.take(places), rows.take(places))
        return equal

    def unseen(self) -> Iterator[Keys]:
        """Yield the keys that the source did not have."""
        for number, path in enumerate(self._buckets.paths):
            records = np.fromfile(path, _RECORD)[~self._seen[number]]
            if len(records):
                yield Keys(records["first"].copy(), records["second"].copy())

    def _in_bucket(self, number: int, keys: Keys, rows: Keys) -> NDArray[np.bool_]:
        records = (
            np.memmap(self._buckets.paths[number], _RECORD, "r")
            if len(self._seen[number])
            else None
        )
        if records is None:
            return np.zeros(len(keys.first), np.bool_)
        begin = np.searchsorted(records["first"], keys.first, "left")
        end = np.searchsorted(records["first"], keys.first, "right")
        found = np.zeros(len(keys.first), np.intp)
        equal = np.zeros(len(keys.first), np.bool_)
        # Nearly always one record has these 64 bits.
        for step in range(int((end - begin).max(initial=0))):
            at = begin + step
            places = np.flatnonzero(at < end)
            own = records[at[places]]
            same = own["second"] == _second(keys)[places]
            hits = places[same]
            self._seen[number][at[hits]] = True
            found[hits] += 1
            is_row = (own["row"] == rows.first[places]) & (own["rest"] == _second(rows)[places])
            equal[places[same & is_row]] = True
        once: NDArray[np.bool_] = found == 1
        return equal & once


def _second(keys: Keys) -> NDArray[np.int64]:
    assert keys.second is not None
    return keys.second
