"""The versions of a history that changes can end, as the data files have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from stream_jobs.apply.modes.versions import End, Version
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.schema.sequence import HI, LO, PackedSequence, is_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_jobs.apply.facts import MirrorFacts
    from stream_jobs.apply.key_index import Indexed
    from stream_jobs.apply.keys import Keys
    from stream_jobs.apply.work import Work
    from stream_jobs.delta.data_file import DataFile

FROM, TO, IS_CURRENT = "_cdc_valid_from", "_cdc_valid_to", "_cdc_is_current"
END_OP, END_HI, END_LO = "_cdc_end_op", "_cdc_end_hi", "_cdc_end_lo"


class KnownVersions:
    """The newest version of each key of a batch that the data files have."""

    def __init__(self, work: Work, keys: Keys, indexed: Indexed) -> None:
        """Look `keys` up in the data files, and read the rows that are found."""
        self._files: list[DataFile] = []
        count = len(keys.first)
        file = np.full(count, -1, np.int64)
        hi, lo, position = (np.full(count, -1, np.int64) for _ in range(3))
        for number, found in enumerate(work.lookup(indexed).live_rows(keys)):
            self._files.append(found.file)
            newer = is_above(found.hi, found.lo, hi[found.change], lo[found.change])
            order = np.flatnonzero(newer)[np.lexsort((found.lo[newer], found.hi[newer]))]
            # Of a key that comes twice, the last one stays.
            change = found.change[order]
            file[change], position[change] = number, found.positions[order]
            hi[change], lo[change] = found.hi[order], found.lo[order]
        self._file, self._position = file, position
        self._place = np.full(count, -1, np.int64)
        tables = [_empty(work.mirror)]
        rows = 0
        for number, each in enumerate(self._files):
            own = np.flatnonzero(file == number)
            self._place[own] = np.arange(rows, rows + len(own))
            rows += len(own)
            storage, mirror = work.task.storage, work.mirror
            tables.append(rows_at(storage, mirror.path, each, mirror.columns, position[own]))
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
        end = None if is_current else End(PackedSequence(end_hi, end_lo), end_us, end_op)
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
    found: list[int | None] = times.cast(pa.int64()).to_pylist()
    return found


def _empty(mirror: MirrorFacts) -> pa.Table:
    return pa.schema([(column.name, column.type) for column in mirror.columns]).empty_table()
