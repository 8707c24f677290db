"""The keys whose rows differ between two versions of a mirror.

The versions differ in files, and in dead rows of files. Rows that a compaction has only moved are
the same on both sides. Neither sequences nor the words of commits are trusted: whoever has written
rows by hand can have kept them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np

from stream_jobs.delta.parquet_file import live_positions
from verification.digests import digests, named
from verification.row_index import RowIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.snapshot import Snapshot
    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.mirror_side import MirrorSide

# Rows that are in memory at a time.
_SLICE_ROWS: Final = 200_000


class ChangedRows:
    """Compares two versions of one mirror."""

    def __init__(self, mirror: MirrorSide, before: Snapshot, now: Snapshot) -> None:
        """Compare `before` with `now`, in the columns of the newest version."""
        self._mirror = mirror
        self._before = before
        self._now = now

    def each(self) -> Iterator[tuple[list[Digest], list[Key]]]:
        """Yield digests and values of keys, some at a time; a key may come twice.

        Raises MirrorError if a file is gone or damaged.
        """
        mirror = self._mirror
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            index = RowIndex(Path(folder), self._count())
            for data in self._rows(self._before, self._now):
                index.add(digests(data, mirror.key), digests(data, mirror.columns))
            index.complete()
            for data in self._rows(self._now, self._before):
                keys = digests(data, mirror.key)
                equal = index.are_equal(keys, digests(data, mirror.columns))
                yield named(data, mirror.key, keys, np.flatnonzero(~equal))
            for unseen in index.unseen():
                for data in self._rows(self._before, self._now):
                    keys = digests(data, mirror.key)
                    places = np.flatnonzero(np.isin(keys.first, unseen.first))
                    yield named(data, mirror.key, keys, places)

    def _count(self) -> int:
        """Return about how many rows of `before` are in files that have changed."""
        files = self._before.files.values()
        return sum(max(0, file.live) for file in files if not self._now.has([file]))

    def _rows(self, one: Snapshot, other: Snapshot) -> Iterator[pa.Table]:
        """Yield the rows of a version at places where another version has none."""
        for file in one.files.values():
            if other.has([file]):
                continue
            own = self._live(file, one)
            theirs = other.files.get(file.path)
            if theirs is not None:
                own = np.setdiff1d(own, self._live(theirs, other), assume_unique=True)
            for start in range(0, len(own), _SLICE_ROWS):
                yield self._mirror.current_rows(file, own[start : start + _SLICE_ROWS])

    def _live(self, file: DataFile, snapshot: Snapshot) -> NDArray[np.int64]:
        log = self._mirror.log
        columns = [column for column in snapshot.columns if column.name in self._mirror.key]
        return live_positions(log.storage, log.path, file, columns)
