"""Rows as digests of 128 bits, of the key and of all values, and indexes of them on disk.

Two different rows have the same digest once in 10^38 pairs. An index holds records of 32 bytes in
buckets by the first bits of the digest. One bucket at a time is in memory, so memory does not grow
with the table, apart from one byte a row that says whether the source has its key.

`RowIndex` says which key has which row. `RowCounter` counts equal rows of tables without a key.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import Keys, digests_of_rows, distinct

Digest = tuple[int, int]


def digest_pairs(keys: Keys) -> list[Digest]:
    """Return digests as pairs of numbers."""
    assert keys.second is not None
    return list(zip(keys.first.tolist(), keys.second.tolist(), strict=True))


def places_of(wanted: Keys, own: Keys) -> list[int]:
    """Return the places of those digests in `own` that are wanted."""
    known = set(digest_pairs(wanted))
    places = np.flatnonzero(np.isin(own.first, wanted.first))
    pairs = zip(places.tolist(), digest_pairs(own.take(places)), strict=True)
    return [place for place, digest in pairs if digest in known]


def row_digests(data: pa.Table, names: Sequence[str]) -> Keys:
    """Return the digests of some columns; NULL equals NULL and nothing else."""
    return digests_of_rows([_exact(data[name]) for name in names])


def keys_by_digest(
    data: pa.Table, names: Sequence[str], keys: Keys, places: NDArray[np.intp]
) -> tuple[list[Digest], list[tuple[object, ...]]]:
    """Return the digests and the values of some keys; `names` are their columns in `data`."""
    columns = [data[name].take(places).to_pylist() for name in names]
    return digest_pairs(keys.take(places)), list(zip(*columns, strict=True))


def _exact(values: pa.ChunkedArray) -> pa.ChunkedArray:
    # As numbers, the two zeros would be equal.
    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(values.type)
    if bits is None:
        return values
    return pa.chunked_array([chunk.view(bits) for chunk in values.chunks], bits)


_BUCKET_RECORDS: Final = 1 << 20
_BITS_MAX: Final = 10


class DigestBuckets:
    """Files of records; the field `first` of a record chooses its file."""

    def __init__(self, folder: Path, count: int) -> None:
        """Keep files in `folder`; `count` is about the number of records."""
        bits = min(_BITS_MAX, max(0, (count // _BUCKET_RECORDS).bit_length()))
        self._shift = np.uint64(64 - bits)
        self.paths = [folder / f"rows-{number}" for number in range(1 << bits)]
        for path in self.paths:
            path.write_bytes(b"")

    def add(self, records: NDArray[Any]) -> None:
        """Append records to their files."""
        for number, places in self.places(records["first"]):
            with self.paths[number].open("ab") as file:
                file.write(records[places].tobytes())

    def places(self, first: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the number of each bucket that has some of the digests, and their places."""
        if len(self.paths) == 1:
            yield 0, np.arange(len(first))
            return
        buckets = first.view(np.uint64) >> self._shift
        for number in np.unique(buckets).tolist():
            yield int(number), np.flatnonzero(buckets == number)


_INDEX_RECORD: Final = np.dtype(
    [("first", "<i8"), ("second", "<i8"), ("row", "<i8"), ("rest", "<i8")]
)


# Says which rows are near: their numbers, and those of the source.
AreNear = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]]


class RowIndex:
    """Takes all rows of a mirror first, then answers for rows of the source.

    Beside the digest of a row, there may be numbers that need not be equal, but near.
    """

    def __init__(
        self, folder: Path, rows: int, numbers: int = 0, are_near: AreNear | None = None
    ) -> None:
        """Keep records in `folder`; `rows` is about their number, each has so many `numbers`."""
        self._buckets = DigestBuckets(folder, rows)
        self._are_near = are_near
        self._record = _INDEX_RECORD
        if numbers:
            fields = [*_INDEX_RECORD.descr, ("numbers", "<f8", (numbers,))]
            self._record = np.dtype(fields)
        self._seen: list[NDArray[np.bool_]] = []
        self.rows = 0

    def add(self, keys: Keys, rows: Keys, numbers: NDArray[np.float64] | None = None) -> None:
        """Add rows of the mirror."""
        records = np.empty(len(keys.first), self._record)
        if self._are_near is not None:
            records["numbers"] = numbers
        records["first"], records["second"] = keys.first, keys.second
        records["row"], records["rest"] = rows.first, rows.second
        self.rows += len(records)
        self._buckets.add(records)

    def complete(self) -> None:
        """Sort the records: all rows were added."""
        for path in self._buckets.paths:
            records = np.fromfile(path, self._record)
            order = np.lexsort((records["second"], records["first"]))
            records[order].tofile(path)
            self._seen.append(np.zeros(len(records), np.bool_))

    def are_equal(
        self, keys: Keys, rows: Keys, numbers: NDArray[np.float64] | None = None
    ) -> NDArray[np.bool_]:
        """Return which rows of the source the mirror has, once each, with the same values.

        Their keys count as seen, also if the rows differ.
        """
        equal = np.zeros(len(keys.first), np.bool_)
        for number, places in self._buckets.places(keys.first):
            own = None if numbers is None else numbers[places]
            equal[places] = self._in_bucket(number, keys.take(places), rows.take(places), own)
        return equal

    def unseen(self) -> Iterator[Keys]:
        """Yield the keys that the source did not have."""
        for number, path in enumerate(self._buckets.paths):
            records = np.fromfile(path, self._record)[~self._seen[number]]
            if len(records):
                yield Keys(records["first"].copy(), records["second"].copy())

    def _in_bucket(
        self, number: int, keys: Keys, rows: Keys, numbers: NDArray[np.float64] | None
    ) -> NDArray[np.bool_]:
        records = (
            np.memmap(self._buckets.paths[number], self._record, "r")
            if len(self._seen[number])
            else None
        )
        if records is None:
            return np.zeros(len(keys.first), np.bool_)
        begin = np.searchsorted(records["first"], keys.first, "left")
        end = np.searchsorted(records["first"], keys.first, "right")
        seen = np.zeros(len(keys.first), np.intp)
        equal = np.zeros(len(keys.first), np.bool_)
        # Nearly always one record has these 64 bits.
        for step in range(int((end - begin).max(initial=0))):
            at = begin + step
            places = np.flatnonzero(at < end)
            own = records[at[places]]
            same = own["second"] == _second(keys)[places]
            hits = places[same]
            self._seen[number][at[hits]] = True
            seen[hits] += 1
            is_row = (own["row"] == rows.first[places]) & (own["rest"] == _second(rows)[places])
            if self._are_near is not None and numbers is not None:
                is_row &= self._are_near(own["numbers"], numbers[places])
            equal[places[same & is_row]] = True
        once: NDArray[np.bool_] = seen == 1
        return equal & once


def _second(keys: Keys) -> NDArray[np.int64]:
    assert keys.second is not None
    return keys.second


_COUNT_RECORD: Final = np.dtype(
    [("first", "<i8"), ("second", "<i8"), ("source", "<i8"), ("mirror", "<i8")]
)


class SideCounts(NamedTuple):
    """How often both sides have a row."""

    source: int
    mirror: int


class RowCounter:
    """Takes the rows of both sides in any order, then says which counts differ."""

    def __init__(self, folder: Path, rows: int) -> None:
        """Keep records in `folder`; `rows` is about the number of rows of both sides."""
        self._buckets = DigestBuckets(folder, rows)

    def add(self, rows: Keys, *, source: int = 0, mirror: int = 0) -> None:
        """Add so many of each of these rows to the sides."""
        if not len(rows.first):
            return
        # Equal rows need one record, so a table of few different rows stays small.
        once, places = distinct(rows)
        times = np.bincount(places, minlength=len(once.first))
        records = np.empty(len(once.first), _COUNT_RECORD)
        records["first"], records["second"] = once.first, once.second
        records["source"], records["mirror"] = times * source, times * mirror
        self._buckets.add(records)

    def unequal(self) -> Iterator[tuple[Digest, SideCounts]]:
        """Yield the rows with other counts."""
        for path in self._buckets.paths:
            records = np.fromfile(path, _COUNT_RECORD)
            if not len(records):
                continue
            records = records[np.lexsort((records["second"], records["first"]))]
            first, second = records["first"], records["second"]
            is_other = (np.diff(first) != 0) | (np.diff(second) != 0)
            starts = np.append(0, np.flatnonzero(is_other) + 1)
            source, mirror = (np.add.reduceat(records[name], starts) for name in SideCounts._fields)
            for place in np.flatnonzero(source != mirror).tolist():
                digest = int(first[starts[place]]), int(second[starts[place]])
                yield digest, SideCounts(int(source[place]), int(mirror[place]))
