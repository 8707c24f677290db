"""A mirror of a mode with `LastChanges`, such as `journal`.

The last change is the one with the highest sequence. A key is gone if that is a delete, or if a
truncate has a higher one.

A journal may begin later than its table. It has all rows if the connector has copied the table into
it, or after a truncate. Otherwise a row without any change in the journal is no difference. Columns
that are newer than changes that still count are NULL in those, so they are not compared.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import OP_DELETE, OP_READ, OP_TRUNCATE
from stream_jobs.apply.modes.journal import OP
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.pipeline_folder import PipelineFolder
from stream_jobs.source.sequence import HI, LO, PackedSequence, is_above
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_table import MirrorTable
from verification.digests import Digest, DigestBuckets, digest_pairs, row_digests
from verification.key_ranges import numbers_of
from verification.mirror_side import MirrorSide
from verification.table_history import TableHistory

_NEVER: Final = PackedSequence(-1, -1)
_RECORD: Final = np.dtype(
    [
        ("first", "<i8"),
        ("second", "<i8"),
        ("hi", "<i8"),
        ("lo", "<i8"),
        ("file", "<i8"),
        ("position", "<i8"),
        ("is_gone", "?"),
    ]
)


class _Fold(NamedTuple):
    """The last changes of one version."""

    version: int
    are_current: dict[str, NDArray[np.bool_]]  # by the path of a file, for each position
    truncate: PackedSequence  # the last one
    has_copied_rows: bool


class _Last(NamedTuple):
    """The last change of one key."""

    sequence: PackedSequence
    op: str
    file: DataFile
    position: int


class JournalSide(MirrorSide):
    """Reads the current rows of one journal."""

    def __init__(
        self,
        mirror: MirrorTable,
        schema: TableSchema,
        history: TableHistory,
        folder: PipelineFolder | None = None,
    ) -> None:
        """Read `mirror`, whose table has a key, and the past that topics know.

        In `folder`, the job says which tables are set aside. Raises as `MirrorSide`.
        """
        super().__init__(mirror, schema, folder)
        self._fold = self._folded(self.snapshot)
        fold = self._fold
        has_copy = history.is_copied and fold.has_copied_rows
        self._is_whole = has_copy or fold.truncate != _NEVER
        others = [name for name in self.columns if name not in self.key]
        self.late_columns = history.late_columns(others, fold.truncate)
        self.columns = [name for name in self.columns if name not in self.late_columns]
        self._met: set[Digest] = set()

    def rows_of(
        self,
        snapshot: Snapshot,
        wanted: Keys,
        near: NDArray[np.int64] | None = None,
        keys: Sequence[tuple[object, ...]] | None = None,
    ) -> pa.Table:
        """Return the current rows with these keys, and their sequences; as `MirrorSide.rows_of`."""
        del keys
        digests = set(digest_pairs(wanted))
        last: dict[Digest, _Last] = {}
        truncate = _NEVER
        for file, positions in super()._slices(snapshot):
            data = self._rows.read(snapshot, file, positions, [*self.key, OP, HI, LO])
            truncate = max(truncate, _last_truncate(data))
            places = np.flatnonzero(pc.not_equal(data[OP], OP_TRUNCATE).to_numpy())
            if near is not None:
                numbers = numbers_of(data[self.key[0]].take(places))
                places = places[np.isin(numbers, near)]
            some = data.take(places)
            facts = zip(
                digest_pairs(row_digests(some, self.key)),
                positions[places].tolist(),
                *(some[name].to_pylist() for name in (OP, HI, LO)),
                strict=True,
            )
            for digest, position, op, hi, lo in facts:
                change = _Last(PackedSequence(hi, lo), op, file, position)
                if digest in digests and change.sequence >= last.get(digest, change).sequence:
                    last[digest] = change
        self._met = set(last)
        current = [
            change
            for change in last.values()
            if change.op != OP_DELETE and change.sequence > truncate
        ]
        return self._rows_at(snapshot, current)

    def has_no_change(self, digest: Digest) -> bool:
        """Return whether the journal began without the row of a key that was asked for last."""
        return not self._is_whole and digest not in self._met

    def _rows_at(self, snapshot: Snapshot, changes: Sequence[_Last]) -> pa.Table:
        places: dict[str, tuple[DataFile, list[int]]] = {}
        for change in changes:
            places.setdefault(change.file.path, (change.file, []))[1].append(change.position)
        names = [*self.columns, HI, LO]
        tables = [
            self._rows.read(snapshot, file, np.array(sorted(positions)), names)
            for file, positions in places.values()
        ]
        return pa.concat_tables([self._no_rows(), *tables])

    def _slices(self, snapshot: Snapshot) -> Iterator[tuple[DataFile, NDArray[np.int64]]]:
        if self._fold.version != snapshot.version:
            self._fold = self._folded(snapshot)
        for file, positions in super()._slices(snapshot):
            current = positions[self._fold.are_current[file.path][positions]]
            if len(current):
                yield file, current

    def _current_rows(
        self,
        snapshot: Snapshot,
        file: DataFile,
        positions: NDArray[np.int64],
        names: Sequence[str],
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        # `_slices` has chosen them.
        return self._rows.read(snapshot, file, positions, names), positions

    def _folded(self, snapshot: Snapshot) -> _Fold:
        """Find the last changes: on disk, apart from one byte for each change."""
        are_current: dict[str, NDArray[np.bool_]] = {}
        truncate, has_copied_rows = _NEVER, False
        with TemporaryDirectory(prefix="binlog-connector-verify-") as folder:
            buckets = DigestBuckets(Path(folder), snapshot.live_rows)
            for file, positions in super()._slices(snapshot):
                # The slices of a file come in the order of its positions.
                are_current[file.path] = np.zeros(positions[-1] + 1, np.bool_)
                data = self._rows.read(snapshot, file, positions, [*self.key, OP, HI, LO])
                truncate = max(truncate, _last_truncate(data))
                has_copied_rows |= bool(pc.any(pc.equal(data[OP], OP_READ)).as_py())
                buckets.add(self._records(data, positions, len(are_current) - 1))
            files = list(are_current.values())
            for path in buckets.paths:
                last = _last_of_keys(np.fromfile(path, _RECORD))
                above = is_above(last["hi"], last["lo"], *truncate)
                last = last[above & ~last["is_gone"]]
                for number in np.unique(last["file"]).tolist():
                    files[number][last["position"][last["file"] == number]] = True
        return _Fold(snapshot.version, are_current, truncate, has_copied_rows)

    def _records(self, data: pa.Table, positions: NDArray[np.int64], file: int) -> NDArray[np.void]:
        """Return the changes of keys among rows of a file."""
        places = np.flatnonzero(pc.not_equal(data[OP], OP_TRUNCATE).to_numpy())
        data = data.take(places)
        keys = row_digests(data, self.key)
        records = np.empty(len(places), _RECORD)
        records["first"], records["second"] = keys.first, keys.second
        records["hi"], records["lo"] = data[HI].to_numpy(), data[LO].to_numpy()
        records["file"], records["position"] = file, positions[places]
        records["is_gone"] = pc.equal(data[OP], OP_DELETE).to_numpy()
        return records


def _last_of_keys(records: NDArray[np.void]) -> NDArray[np.void]:
    """Return the last change of each key."""
    order = np.lexsort([records[name] for name in ("lo", "hi", "second", "first")])
    records = records[order]
    others = [np.diff(records[name]) != 0 for name in ("first", "second")]
    last: NDArray[np.void] = records[np.append(others[0] | others[1], True)[: len(records)]]
    return last


def _last_truncate(data: pa.Table) -> PackedSequence:
    truncates = data.filter(pc.equal(data[OP], OP_TRUNCATE))
    sequences = zip(truncates[HI].to_pylist(), truncates[LO].to_pylist(), strict=True)
    return max((PackedSequence(*pair) for pair in sequences), default=_NEVER)
