"""The versions of rows that changes open and close, key by key in the order of their sequences.

`StoredVersions` has the versions in the data files that the changes of a batch can end.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from stream_jobs.apply.key_index import IndexColumns
from stream_jobs.apply.modes.mode import ModeInput
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.apply.task_messages import MirrorDescription
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate, is_above


class VersionEnd(NamedTuple):
    """How a version ends."""

    sequence: PackedSequence
    us: int | None  # the source's time
    op: str


class KeyChange(NamedTuple):
    """One change of a key."""

    sequence: PackedSequence
    us: int | None
    op: str
    row: int  # the place of its values; -1 for a delete
    values: bytes | None = None  # equal for equal values; None if that does not matter
    # Whether all truncates below it are known: then a copied row may be the same version.
    is_covered: bool = True


class Version(NamedTuple):
    """The newest version of a key that the mirror has."""

    start: PackedSequence
    us: int | None  # from when it is valid
    end: VersionEnd | None  # of a delete or a truncate; None if it is open
    values: bytes | None = None


class NewVersion(NamedTuple):
    """A version that begins."""

    us: int | None
    end: VersionEnd | None


@dataclass(slots=True)
class Versions:
    """What a batch does to versions."""

    # By the place of their values: versions that begin.
    opened: dict[int, NewVersion] = field(default_factory=dict)
    # By number of a key: versions of the mirror that end.
    closed: dict[int, VersionEnd] = field(default_factory=dict)

    def follow(
        self,
        key: int,
        known: Version | None,
        changes: Iterable[KeyChange],
        truncates: Sequence[Truncate],
    ) -> None:
        """Add the `changes` of one key, in order; the mirror has the version `known`.

        Changes that come after `known` in their partition are above it. A truncate comes from
        another partition: a version that it has ended can end earlier.

        The order is that of the sequences. Times of the log can run backwards: it may have whole
        seconds, times of the beginnings of statements, and those of several servers. Then a border
        of the key is at the time of the one before it, so that no moment has two versions.
        """
        starts = [truncate.sequence for truncate in truncates]
        values = None if known is None else known.values
        # What ends the current version at the latest; its place is -1 if it is `known`.
        place: int | None = None if known is None else -1
        limit = None if known is None else known.end
        border_us = None if known is None else known.us
        for change in changes:
            is_open = place is not None and (limit is None or change.sequence < limit.sequence)
            is_copy = change.op == "r" and change.is_covered
            if is_open and is_copy and change.values == values:
                continue
            if place is not None and not is_open and limit is not None:
                border_us = later(border_us, limit.us)
            us = later(border_us, change.us)
            if place is not None and is_open:
                border_us = us
                self._end(key, place, VersionEnd(change.sequence, us, change.op))
            place = None
            if change.row >= 0:
                place, values = change.row, change.values
                after = bisect_right(starts, change.sequence)
                limit = None
                if after < len(starts):
                    limit = VersionEnd(starts[after], later(us, truncates[after].us), "t")
                border_us = us
                self.opened[place] = NewVersion(us, limit)

    def _end(self, key: int, place: int, end: VersionEnd) -> None:
        if place < 0:
            self.closed[key] = end
        else:
            self.opened[place] = self.opened[place]._replace(end=end)


def later(a: int | None, b: int | None) -> int | None:
    """Return the later of two times; None is an unknown one."""
    return max((bound for bound in (a, b) if bound is not None), default=None)


FROM, TO, IS_CURRENT = "_cdc_valid_from", "_cdc_valid_to", "_cdc_is_current"
END_OP, END_HI, END_LO = "_cdc_end_op", "_cdc_end_hi", "_cdc_end_lo"


class StoredVersions:
    """The newest version of each key of a batch that the data files have."""

    def __init__(self, work: ModeInput, keys: Keys, indexed: IndexColumns) -> None:
        """Look `keys` up in the data files, and read the rows that are found."""
        self._files: list[DataFile] = []
        count = len(keys.first)
        file = np.full(count, -1, np.int64)
        hi, lo, position = (np.full(count, -1, np.int64) for _ in range(3))
        for number, file_rows in enumerate(work.lookup(indexed).live_rows(keys)):
            self._files.append(file_rows.file)
            newer = is_above(file_rows.hi, file_rows.lo, hi[file_rows.change], lo[file_rows.change])
            order = np.flatnonzero(newer)[np.lexsort((file_rows.lo[newer], file_rows.hi[newer]))]
            # Of a key that comes twice, the last one stays.
            change = file_rows.change[order]
            file[change], position[change] = number, file_rows.positions[order]
            hi[change], lo[change] = file_rows.hi[order], file_rows.lo[order]
        self._file, self._position = file, position
        self._place = np.full(count, -1, np.int64)
        tables = [_empty(work.mirror)]
        rows = 0
        for number, data_file in enumerate(self._files):
            own = np.flatnonzero(file == number)
            self._place[own] = np.arange(rows, rows + len(own))
            rows += len(own)
            storage, mirror = work.task.storage, work.mirror
            tables.append(rows_at(storage, mirror.path, data_file, mirror.columns, position[own]))
        self.rows = pa.concat_tables(tables)
        names = [HI, LO, IS_CURRENT, END_HI, END_LO, END_OP]
        self._facts = [self.rows[name].to_pylist() for name in names]
        self._times = [microseconds(self.rows[name]) for name in (FROM, TO)]

    def place(self, key: int) -> int:
        """Return the place of a key's version in `rows`; -1 if there is none."""
        return int(self._place[key])

    def version(self, key: int, values: Sequence[bytes]) -> Version | None:
        """Return the version of a key; `values` are those of all rows, if they matter."""
        place = self.place(key)
        if place < 0:
            return None
        hi, lo, is_current, end_hi, end_lo, end_op = (facts[place] for facts in self._facts)
        start_us, end_us = (times[place] for times in self._times)
        end = None if is_current else VersionEnd(PackedSequence(end_hi, end_lo), end_us, end_op)
        return Version(PackedSequence(hi, lo), start_us, end, values[place] if values else None)

    def dead(self, keys: Iterable[int]) -> dict[str, bytes]:
        """Return the rows of the versions of `keys` in their data files."""
        own = np.array(list(keys), np.int64)
        dead = {}
        for number, file in enumerate(self._files):
            positions = self._position[own[self._file[own] == number]]
            if len(positions):
                dead[file.path] = BitMap(positions.astype(np.uint32)).serialize()
        return dead


def microseconds(times: pa.ChunkedArray) -> list[int | None]:
    """Return times as microseconds since 1970."""
    numbers: list[int | None] = times.cast(pa.int64()).to_pylist()
    return numbers


def _empty(mirror: MirrorDescription) -> pa.Table:
    return pa.schema([(column.name, column.type) for column in mirror.columns]).empty_table()
