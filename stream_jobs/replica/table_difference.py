"""The difference of two versions of a table: keys to delete, and rows to insert.

A row that was changed after a cut has a sequence at or above the cut's, and every other row was
there at the cut with the same values. So new rows are found in files that also have old ones, and
a row that came and went in between is left out.

`CommitHistory` follows the commits between both versions. The log says which files a commit has
added and removed, and which of their rows have died. A commit without `dataChange` (compaction)
has moved rows and changed none: it is followed so that later deaths are found in the new files,
and costs nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import Column
from stream_jobs.delta.log import Log
from stream_jobs.delta.parquet_file import live_positions, rows_at
from stream_jobs.delta.snapshot import Snapshot, SnapshotBuilder
from stream_jobs.source.sequence import HI, LO, PackedSequence, is_above


class DeadRows(NamedTuple):
    """Rows of a file that have died."""

    file: DataFile
    positions: BitMap | None  # None: all that were live in `file`


class CommitHistory:
    """Follows the commits after one version."""

    def __init__(self, log: Log, since: Snapshot) -> None:
        """Begin at the version `since`."""
        self._log = log
        self._state = SnapshotBuilder.after(log.path, since)
        # Rows that died. Those of files with new rows alone are left out.
        self.dead: list[DeadRows] = []
        # Files with new rows, and whether a compaction has put older ones beside them.
        self.new: dict[str, bool] = {}
        # Whether rows have changed without changes of the source: other columns, or RESTORE.
        self.is_rewritten = False

    def follow(self, version: int) -> Snapshot:
        """Follow the commits up to `version`, and return it.

        Raises MirrorError if a commit or a deletion vector is gone or damaged.
        """
        for number in range(self._state.version + 1, version + 1):
            self._commit(number, self._log.content(number))
        return self._state.snapshot()

    def _commit(self, version: int, content: bytes) -> None:
        before = dict(self._state.files)
        actions = self._state.replay(version, content)
        is_moved = False
        for remove in (action["remove"] for action in actions if "remove" in action):
            file = before.get(remove["path"])
            if file is not None:
                is_moved |= self._remove(file, is_change=remove.get("dataChange", True))
        has_new = False
        for add in (action["add"] for action in actions if "add" in action):
            path = add["path"]
            if path in before:
                continue
            if add["dataChange"]:
                self.new[path] = False
                has_new = True
            elif is_moved:
                self.new[path] = True
        self.is_rewritten |= has_new and any("metaData" in action for action in actions)

    def _remove(self, file: DataFile, *, is_change: bool) -> bool:
        """Follow that a file is gone or has more dead rows.

        Return whether it had new rows which are in another file now.
        """
        now = self._state.files.get(file.path)
        if now is not None:
            self._die(file, now)
            return False
        is_mixed = self.new.pop(file.path, None)
        if not is_change:
            return is_mixed is not None
        if is_mixed is not False:
            self.dead.append(DeadRows(file, None))
        return False

    def _die(self, before: DataFile, now: DataFile) -> None:
        old, new = self._dead_in(before), self._dead_in(now)
        if old is not None and (new is None or old - new):
            self.is_rewritten = True
        if new is not None and self.new.get(now.path) is not False:
            self.dead.append(DeadRows(now, new if old is None else new - old))

    def _dead_in(self, file: DataFile) -> BitMap | None:
        vector = file.deletion_vector
        if vector is None:
            return None
        return deletion_vectors.load(self._log.storage, self._log.path, vector)


# Rows that are in memory at a time.
_SLICE_ROWS: Final = 50_000
# If all rows go, and they are more, one DELETE without keys is faster.
_KEYS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class TableDifference:
    """What makes the rows of one version those of `snapshot`."""

    log: Log
    snapshot: Snapshot
    # Of the cut before: rows below it are old. None: all rows of the target go, and all come.
    since: PackedSequence | None
    dead: Sequence[DeadRows] = ()
    new: Sequence[tuple[DataFile, bool]] = ()  # and whether the file has old rows, too

    @classmethod
    def whole(cls, log: Log, snapshot: Snapshot) -> "TableDifference":
        """Return what makes any rows those of `snapshot`."""
        return cls(log, snapshot, None, (), [(file, False) for file in snapshot.files.values()])

    @classmethod
    def between(
        cls, log: Log, before: Snapshot, since: PackedSequence, version: int
    ) -> "TableDifference":
        """Return what makes the rows of `before`, at the cut `since`, those of `version`.

        Raises MirrorError as `History.follow`.
        """
        history = CommitHistory(log, before)
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
