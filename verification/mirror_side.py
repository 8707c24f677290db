"""The mirror of a table: its current rows at one version, in the types of the source.

Data files are read with pyarrow, without Spark and without the key indexes of the job, which are a
part of what is checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.mode import CurrentRows
from stream_jobs.apply.modes.row_counts import RowCounts
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta import parquet_file
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import Column
from stream_jobs.delta.log import Log
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.pipeline_folder import PipelineFolder
from stream_jobs.source.column_types import ColumnType
from stream_jobs.source.sequence import HI, LO, PackedSequence, is_above
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.mirror_metadata import MODE_PROPERTY
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.quarantine_files import QuarantineFiles
from stream_jobs.tables.shard_view import shard_of_file
from verification import verify_errors
from verification.checksums import Checksums
from verification.digests import Digest, places_of, row_digests
from verification.key_ranges import KeyRanges, numbers_of
from verification.row_text import RowText
from verification.side import Found, wait_for

# Rows that are in memory at a time: those of a row group of the job's files.
_SLICE_ROWS: Final = 200_000


class FileRows:
    """Reads rows of one mirror by their positions in files."""

    def __init__(self, delta: DeltaTable, table: str, kinds: Mapping[str, pa.DataType]) -> None:
        """Read files of `delta`; `kinds` are the types of the columns of the source's `table`."""
        self._delta = delta
        self._table = table
        self.kinds = kinds

    def read(
        self,
        snapshot: Snapshot,
        file: DataFile,
        positions: NDArray[np.int64],
        names: Sequence[str],
    ) -> pa.Table:
        """Return columns of the rows of a file at these positions, by the names of `snapshot`.

        Raises MirrorError if a column is gone, or if its type is not only wider at the source.
        """
        storage, path = self._delta.storage, self._delta.path
        columns = [self.column(snapshot, name) for name in names]
        data = parquet_file.rows_at(storage, path, file, columns, positions)
        arrays = [self._cast(name, data[name]) for name in names]
        return pa.Table.from_arrays(arrays, names=list(names))

    def column(self, snapshot: Snapshot, name: str) -> Column:
        """Return the column with a name; raises MirrorError if the version does not have it.

        The mirror may follow a change of columns while it is compared.
        """
        for column in snapshot.columns:
            if column.name == name:
                return column
        raise MirrorError(verify_errors.COLUMN_GONE, table=self._table, column=name)

    def _cast(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return values in the type of the source: the mirror gets a wider one with the next row.

        Raises MirrorError if they do not fit: the type is not only wider.
        """
        kind = self.kinds.get(name)
        if kind is None or values.type == kind:
            return values
        try:
            return values.cast(kind)
        except pa.ArrowException as error:
            raise MirrorError(verify_errors.OTHER_TYPE, table=self._table, column=name) from error


def live_positions(
    storage: Storage, path: str, snapshot: Snapshot, key: Sequence[str]
) -> Iterator[tuple[DataFile, NDArray[np.int64]]]:
    """Yield the positions of the live rows of the table at `path`, some at a time.

    The columns `key` are read to count the rows of a file if its writer did not say it.
    """
    columns = [column for column in snapshot.columns if column.name in key]
    for file in snapshot.files.values():
        positions = parquet_file.live_positions(storage, path, file, columns)
        end = positions[-1] + 1 if len(positions) else 0
        edges = np.searchsorted(positions, np.arange(0, end + _SLICE_ROWS, _SLICE_ROWS))
        for begin, end in pairwise(edges.tolist()):
            if begin < end:
                yield file, positions[begin:end]


class MirrorSide:
    """Reads the mirror of one table."""

    def __init__(
        self, mirror: MirrorTable, schema: TableSchema, folder: PipelineFolder | None = None
    ) -> None:
        """Read `mirror`, whose table has the columns of `schema` now.

        In `folder`, the job says which tables are set aside; by default, beside the mirror.
        Raises MirrorError if the mirror does not hold the current rows.
        """
        load = mirror.progress.load
        if load is not None and load.phase != "complete":
            raise MirrorError(verify_errors.LOADING, table=schema.name)
        self._mirror = mirror
        # Only messages name the base.
        self._folder = folder or PipelineFolder(mirror.delta.storage, "")
        self._table = schema.name
        # What cuts call the Delta table.
        self.name_in_cuts = schema.mirror_name
        self._shard = schema.chosen.shard
        properties = mirror.delta.snapshot.configuration
        mode = properties.get(MODE_PROPERTY, "current")
        # Rows without a key are counted.
        self.mode = mode
        self.is_counted = mode == RowCounts.name
        current = MODES[mode].current_rows if mode in MODES else None
        if current is None or self.is_counted == bool(schema.key):
            raise MirrorError(verify_errors.MODE, table=schema.name, mode=mode)
        # Which of its rows the source has now.
        self.current = current
        self.key = schema.key
        has = {column.name for column in self.snapshot.columns}
        names = [column["name"] for column in schema.columns]
        # The columns on both sides: the mirror gets a new column with the next row.
        self.columns = [name for name in names if name in has]
        self.missing_columns = [name for name in names if name not in has]
        if not set(self.key) <= has:
            raise MirrorError(verify_errors.OTHER_KEY, table=schema.name, columns=list(self.key))
        # Of a journal: columns that are newer than changes that count, and rows of the source that
        # have not changed since it began.
        self.late_columns: list[str] = []
        self.rows_without_change = 0
        kinds = {column["name"]: ColumnType.of(column).stored for column in schema.columns}
        self._rows = FileRows(mirror.delta, schema.name, kinds)

    @property
    def snapshot(self) -> Snapshot:
        """The newest version that was read."""
        return self._mirror.delta.snapshot

    @property
    def log(self) -> Log:
        """The log of the table, which has older versions."""
        return self._mirror.delta.log

    @property
    def whole(self) -> DeltaTable:
        """The Delta table, in which a shard of several is only a part."""
        return self._mirror.delta.whole

    def has_file(self, whole: Snapshot, file: DataFile) -> bool:
        """Return whether a file of a version of the Delta table has rows of this side."""
        return self._shard is None or shard_of_file(whole, file) == self._shard.value

    def physical_name(self, name: str) -> str:
        """Return the name of a column in the statistics of files."""
        return self._rows.column(self.snapshot, name).physical_name

    @property
    def last_transaction(self) -> str | None:
        """The source transaction of the last applied change, as the mirror notes it."""
        last = self._mirror.progress.last
        return None if last is None else last.transaction

    @property
    def offsets(self) -> Mapping[int, int]:
        """What was applied of the topic, by partition."""
        return self._mirror.progress.offsets

    def batches(self, snapshot: Snapshot, ranges: KeyRanges | None = None) -> Iterator[pa.Table]:
        """Yield the current rows of a version; with `ranges`, only rows whose keys are in them."""
        for file, positions in self._slices(snapshot):
            some = positions
            if ranges is not None:
                keys, kept = self._current_rows(snapshot, file, positions, self.key[:1])
                some = kept[ranges.places(numbers_of(keys[self.key[0]])) >= 0]
            data = self._current_rows(snapshot, file, some, self.columns)[0]
            if data.num_rows:
                yield data

    def all_rows(
        self, names: Sequence[str]
    ) -> Iterator[tuple[DataFile, NDArray[np.int64], pa.Table]]:
        """Yield columns of the rows of the newest version, also of those that are not current.

        The rows of a file come with their positions, some at a time.
        """
        snapshot = self.snapshot
        for file, positions in MirrorSide._slices(self, snapshot):
            yield file, positions, self._rows.read(snapshot, file, positions, names)

    def row_at(self, file: DataFile, position: NDArray[np.int64]) -> dict[str, object]:
        """Return the key of the row at a position of a file."""
        (row,) = self.keys_at(self.snapshot, file, position)
        return row

    def keys_at(
        self, snapshot: Snapshot, file: DataFile, positions: NDArray[np.int64]
    ) -> list[dict[str, object]]:
        """Return the keys of rows of a file of a version, by their positions."""
        found: list[dict[str, object]] = self._rows.read(
            snapshot, file, positions, self.key
        ).to_pylist()
        return found

    def keys(self, snapshot: Snapshot) -> Iterator[pa.ChunkedArray]:
        """Yield the first column of the key, of the current rows of a version."""
        for file, positions in self._slices(snapshot):
            yield self._current_rows(snapshot, file, positions, self.key[:1])[0][self.key[0]]

    def has_rows_since(self, first: PackedSequence) -> bool:
        """Return whether a current row of the version that was read last has this or a later one.

        Deletes do not count: they bring no values. Raises MirrorError if a file cannot be read.
        """
        snapshot = self.snapshot
        for file, positions in self._slices(snapshot):
            data = self._current_rows(snapshot, file, positions, [HI, LO])[0]
            # Not below it.
            if not is_above(*first, data[HI].to_numpy(), data[LO].to_numpy()).all():
                return True
        return False

    def refresh(self) -> Snapshot:
        """Return the newest version."""
        self._mirror.refresh()
        return self.snapshot

    def rows_of(
        self,
        snapshot: Snapshot,
        wanted: Keys,
        near: NDArray[np.int64] | None = None,
        keys: Sequence[tuple[object, ...]] | None = None,
    ) -> pa.Table:
        """Return the current rows with these keys, and their sequences.

        With `near`, few rows have to be hashed.
        """
        del keys
        names = [*self.columns, HI, LO]
        tables = [
            self._rows.read(snapshot, file, hits, names)
            for file, positions in self._slices(snapshot)
            if len(hits := self._hits(snapshot, file, positions, wanted, near))
        ]
        return pa.concat_tables([self._no_rows(), *tables])

    def has_no_change(self, digest: Digest) -> bool:
        """Return whether a journal began without the row of a key that was asked for last."""
        del digest
        return False

    def _no_rows(self) -> pa.Table:
        kinds = [*(self._rows.kinds[name] for name in self.columns), pa.int64(), pa.int64()]
        names = [*self.columns, HI, LO]
        return pa.schema(list(zip(names, kinds, strict=True))).empty_table()

    def rows_in(
        self, file: DataFile, wanted: Keys, near: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Yield the rows of a file of any version with these keys, and their positions.

        Dead rows are rows, too; columns are those of the newest version. `near` as for `rows_of`.
        """
        snapshot = self.snapshot
        whole = replace(snapshot, files={file.path: replace(file, deletion_vector=None)})
        for own, positions in self._slices(whole):
            hits = self._hits(snapshot, own, positions, wanted, near)
            if len(hits):
                yield self._rows.read(snapshot, own, hits, self.columns), hits

    def current_rows(self, file: DataFile, positions: NDArray[np.int64]) -> pa.Table:
        """Return those of some rows of a file that are current; `rows_in` says of which version."""
        return self._current_rows(self.snapshot, file, positions, self.columns)[0]

    def wait_until_applied(
        self,
        ends: Mapping[int, int],
        has_records: Callable[[Mapping[int, int]], bool],
        patience_seconds: float,
    ) -> Snapshot:
        """Return the first version that has the topic up to its `ends`.

        Raises MirrorError if nothing more is applied for so long, or the table is set aside.
        """

        def late() -> MirrorError:
            for record in QuarantineFiles(*self._folder).records().values():
                if record.table == self._table:
                    why = f"[{record.code}] {record.reason}"
                    return MirrorError(verify_errors.SET_ASIDE, table=self._table, why=why)
            facts = {"table": self._table, "seconds": patience_seconds}
            return MirrorError(verify_errors.MIRROR_LAGS, **facts)

        return wait_for(self, ends, has_records, patience_seconds, late)

    def writes_texts_of(self, schema: TableSchema) -> bool:
        """Return whether a row can be written as the source does: RowText decides that alone."""
        del schema
        return True

    def sums(
        self, ranges: KeyRanges, text: RowText, show: Callable[[int], None]
    ) -> tuple[Checksums, NDArray[np.bool_]]:
        """Return the sums of `ranges`, and which of them are known: all; `show` gets rows."""
        own = Checksums(len(ranges))
        # To look which rows are in the ranges, the keys are read first.
        some = None if ranges.are_all else ranges
        for data in self.batches(self.snapshot, some):
            own.add(ranges.places(numbers_of(data[self.key[0]])), text.of_rows(data))
            show(data.num_rows)
        return own, np.ones(len(ranges), np.bool_)

    def again(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns: files have no connection."""
        return read()

    def close(self) -> None:
        """Do nothing: files are closed after each read."""

    def _slices(self, snapshot: Snapshot) -> Iterator[tuple[DataFile, NDArray[np.int64]]]:
        delta = self._mirror.delta
        return live_positions(delta.storage, delta.path, snapshot, self.key or (HI,))

    def _hits(
        self,
        snapshot: Snapshot,
        file: DataFile,
        positions: NDArray[np.int64],
        wanted: Keys,
        near: NDArray[np.int64] | None,
    ) -> NDArray[np.int64]:
        """Return which of some rows are current and have one of these keys, by their positions."""
        some = positions
        if near is not None:
            first, kept = self._current_rows(snapshot, file, positions, self.key[:1])
            some = kept[np.isin(numbers_of(first[self.key[0]]), near)]
            if not len(some):
                return some
        data, kept = self._current_rows(snapshot, file, some, self.key)
        return kept[places_of(wanted, row_digests(data, self.key))]

    def _current_rows(
        self,
        snapshot: Snapshot,
        file: DataFile,
        positions: NDArray[np.int64],
        names: Sequence[str],
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return columns of the rows that are current, and their positions."""
        assert isinstance(self.current, CurrentRows), "other rows have a side of their own"
        flag = self.current.column
        if flag is None:
            return self._rows.read(snapshot, file, positions, names), positions
        data = self._rows.read(snapshot, file, positions, [*names, flag])
        mask = pc.equal(data[flag], self.current.value)
        return data.drop_columns([flag]).filter(mask), positions[mask.to_numpy()]
