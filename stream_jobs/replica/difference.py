"""The difference of two versions of a table: keys that go, and rows that come.

A row that was changed after a cut has a sequence that is not below that of the cut, and every other
row was there at the cut with the same values. So new rows are found in files that also have old
ones, and a row that came and went in between is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream_jobs.delta.parquet_file import live_positions, rows_at
from stream_jobs.replica.history import DeadRows, History
from stream_jobs.schema.sequence import HI, LO, is_above

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.log import Log
    from stream_jobs.delta.snapshot import Snapshot
    from stream_jobs.schema.sequence import PackedSequence

# Rows that are in memory at a time.
_SLICE_ROWS: Final = 50_000
# If all rows go, and they are more, one DELETE without keys is faster.
_KEYS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """What makes the rows of one version those of `snapshot`."""

    log: Log
    snapshot: Snapshot
    # Of the cut before: rows below it are old. None: all rows of the target go, and all come.
    since: PackedSequence | None
    dead: Sequence[DeadRows] = ()
    new: Sequence[tuple[DataFile, bool]] = ()  # and whether the file has old rows, too

    @classmethod
    def whole(cls, log: Log, snapshot: Snapshot) -> Difference:
        """Return what makes any rows those of `snapshot`."""
        return cls(log, snapshot, None, (), [(file, False) for file in snapshot.files.values()])

    @classmethod
    def between(cls, log: Log, before: Snapshot, since: PackedSequence, version: int) -> Difference:
        """Return what makes the rows of `before`, at the cut `since`, those of `version`.

        Raises MirrorError as `History.follow`.
        """
        history = History(log, before)
        snapshot = history.follow(version)
        new = [
            (snapshot.files[path], is_mixed)
            for path, is_mixed in history.new.items()
            if path in snapshot.files
        ]
        has_old = len(new) < len(snapshot.files) or any(is_mixed for _, is_mixed in new)
        dead = sum(f.live if rows is None else len(rows) for f, rows in history.dead)
        if history.is_rewritten or (dead > _KEYS_MAX and not has_old):
            return cls.whole(log, snapshot)
        return cls(log, snapshot, since, history.dead, new)

    @property
    def live(self) -> int | None:
        """How many rows the version has; None if a file does not say it."""
        counts = [file.live for file in self.snapshot.files.values()]
        return None if any(count < 0 for count in counts) else sum(counts)

    @property
    def is_empty(self) -> bool:
        """Whether no row differs."""
        return self.since is not None and not self.dead and not self.new

    def dead_keys(self, key: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the columns `key` of rows that go, some at a time.

        Raises MirrorError if a file is gone or damaged.
        """
        for file, positions in self.dead:
            if positions is None:
                places = self._live(file)
            else:
                places = np.asarray(positions.to_array(), dtype=np.int64)
            for rows in self._slices(file, places, [*key, HI, LO]):
                old = self._are_new(rows, is_wanted=False)
                if old.num_rows:
                    yield old.select(list(key))

    def new_rows(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the columns `names` of rows that come, some at a time.

        Raises MirrorError as `dead_keys`.
        """
        for file, is_mixed in self.new:
            wanted = [*names, HI, LO] if is_mixed else names
            for rows in self._slices(file, self._live(file), wanted):
                new = self._are_new(rows, is_wanted=True) if is_mixed else rows
                if new.num_rows:
                    yield new.select(list(names))

    def _are_new(self, rows: pa.Table, *, is_wanted: bool) -> pa.Table:
        """Return the rows that have changed since the cut before, or the others."""
        assert self.since is not None
        hi, lo = rows[HI].to_numpy(), rows[LO].to_numpy()
        are_old = is_above(self.since.hi, self.since.lo, hi, lo)
        return rows.filter(pa.array(~are_old if is_wanted else are_old))

    def _live(self, file: DataFile) -> NDArray[np.int64]:
        return live_positions(self.log.storage, self.log.path, file, self._columns([HI]))

    def _slices(
        self, file: DataFile, positions: NDArray[np.int64], names: Sequence[str]
    ) -> Iterator[pa.Table]:
        columns = self._columns(names)
        for start in range(0, len(positions), _SLICE_ROWS):
            own = positions[start : start + _SLICE_ROWS]
            yield rows_at(self.log.storage, self.log.path, file, columns, own)

    def _columns(self, names: Sequence[str]) -> list[Column]:
        by_name = {column.name: column for column in self.snapshot.columns}
        return [by_name[name] for name in names]
