"""Looks up the rows in data files that changes replace.

A change is applied only if no row of its key, alive or dead, has its sequence or a higher one. So
a change that comes twice changes nothing, even if the row was deleted since.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.storage import Storage
from stream_jobs.source.sequence import PackedSequence, is_above

if TYPE_CHECKING:
    from stream_jobs.apply.key_index import IndexColumns, IndexFolder, KeyIndex
    from stream_jobs.apply.row_hashes import Keys
    from stream_jobs.delta.actions import DataFile


_NO_PLACES: Final = np.zeros(0, np.intp)


class LookupResult(NamedTuple):
    """What changes do to data files."""

    are_new: NDArray[np.bool_]  # of the changes: whether to apply it
    dead: dict[str, bytes]  # by path of a file, the positions of rows that die


class LiveRows(NamedTuple):
    """Rows of a data file that have the keys of changes."""

    file: DataFile
    change: NDArray[np.intp]  # the place of the key
    positions: NDArray[np.int64]
    hi: NDArray[np.int64]
    lo: NDArray[np.int64]


class Lookup:
    """The data files of one table."""

    def __init__(
        self,
        storage: Storage,
        index: IndexFolder,
        table: str,
        indexed: IndexColumns,
        files: Iterable[DataFile],
    ) -> None:
        """Look into `files`, by indexes of what `indexed` says."""
        self._storage = storage
        self._index = index
        self._table = table
        self._indexed = indexed
        self._files = tuple(files)

    def find(
        self,
        keys: Keys,
        hi: NDArray[np.int64],
        lo: NDArray[np.int64],
        floor: PackedSequence | None,
    ) -> LookupResult:
        """Find the rows of changes, one for each key; rows below `floor` die, if it is given."""
        are_new = np.ones(len(hi), np.bool_)
        dead: dict[str, bytes] = {}
        bounds = _bounds(keys)
        for file in self._files:
            if floor is None and not self._may_have(file, keys, bounds):
                continue
            if floor is not None and self._is_below(file, floor):
                self._add_dead(file, np.arange(file.rows), dead)
                continue
            index = self._index_of(file)
            change, row = _matches(keys, index)
            if not len(change) and floor is None:
                continue
            newer = is_above(hi[change], lo[change], index.hi[row], index.lo[row])
            are_new[change[~newer]] = False
            positions = index.positions[row[newer]]
            if floor is not None:
                below = ~is_above(index.hi, index.lo, floor.hi, floor.lo - 1)
                positions = np.concatenate([positions, index.positions[below]])
            if len(positions):
                self._add_dead(file, positions, dead)
        return LookupResult(are_new, dead)

    def live_rows(self, keys: Keys) -> list[LiveRows]:
        """Return the rows with some `keys` that are not dead, file by file."""
        lookups = []
        bounds = _bounds(keys)
        for file in self._files:
            if not self._may_have(file, keys, bounds):
                continue
            index = self._index_of(file)
            change, row = _matches(keys, index)
            if len(row) and file.deletion_vector is not None:
                vector = file.deletion_vector
                dead = deletion_vectors.load(self._storage, self._table, vector).to_array()
                are_live = ~np.isin(index.positions[row], np.asarray(dead))
                change, row = change[are_live], row[are_live]
            if len(row):
                sequences = index.hi[row], index.lo[row]
                lookups.append(LiveRows(file, change, index.positions[row], *sequences))
        return lookups

    def _index_of(self, file: DataFile) -> KeyIndex:
        return self._index.of_file(self._storage, self._table, file, self._indexed)

    def _may_have(self, file: DataFile, keys: Keys, bounds: tuple[int, int] | None) -> bool:
        if not len(keys.first):
            return False
        if bounds is None:
            return True
        own = file.bounds(self._indexed.key[0].physical_name)
        return own is None or (own[0] <= bounds[1] and own[1] >= bounds[0])

    def _is_below(self, file: DataFile, floor: PackedSequence) -> bool:
        """Return whether the log says that all rows of a file are below `floor`."""
        own = file.bounds(self._indexed.sequence[0].physical_name)
        return own is not None and file.rows >= 0 and own[1] < floor.hi

    def _add_dead(
        self, file: DataFile, positions: NDArray[np.int64], dead: dict[str, bytes]
    ) -> None:
        dead_rows = BitMap(positions.astype(np.uint32))
        if file.deletion_vector is not None:
            dead_rows -= deletion_vectors.load(self._storage, self._table, file.deletion_vector)
        if dead_rows:
            dead[file.path] = dead_rows.serialize()


def _bounds(keys: Keys) -> tuple[int, int] | None:
    """Return the least and the greatest key; None for hashes, which have no order."""
    if keys.second is not None or not len(keys.first):
        return None
    return int(keys.first.min()), int(keys.first.max())


def _matches(keys: Keys, index: KeyIndex) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs (place of a change, place in the index) with the same key."""
    own = index.keys
    first: Any = np.searchsorted(own.first, keys.first, "left")
    counts = np.searchsorted(own.first, keys.first, "right") - first
    most = counts.max(initial=0)
    if not most:
        return _NO_PLACES, _NO_PLACES
    if most == 1:
        # A file of the mode `current` has a key once.
        change = np.flatnonzero(counts)
        row = first[change]
    else:
        change = np.repeat(np.arange(len(keys.first)), counts)
        # Within the rows of one change: 0, 1, …
        nth = np.arange(len(change)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(first, counts) + nth
    if keys.second is not None and own.second is not None:
        same = keys.second[change] == own.second[row]
        change, row = change[same], row[same]
    return change, row
