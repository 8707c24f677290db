"""Tables of Parquet files, and those of a folder.

A file is read by row groups, in slices, so memory does not grow with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.storage import StoredFile
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, delta_errors
from verification.foreign import foreign_errors
from verification.foreign.target import Choose, NamedKeys

# Rows that are in memory at a time.
_SLICE_ROWS: Final = 200_000
_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_FIELD_ID: Final = b"PARQUET:field_id"


class Part(NamedTuple):
    """One file of a state."""

    path: str
    physical: Mapping[str, str]  # names of its columns in the file, by those of the table
    constants: Mapping[str, pa.Scalar]  # of columns that the file may lack
    file: DataFile | None = None  # of a Delta table, with its dead rows
    # Of columns, by their names in the table: a file that has ids says with them which is which.
    ids: Mapping[str, int] | None = None


class FileReader:
    """Reads parts."""

    def __init__(self, open_file: Callable[[str], pa.NativeFile | None], schema: pa.Schema) -> None:
        """Read columns in the types of `schema`; `open_file` returns the file at a path."""
        self._open = open_file
        self._schema = schema

    def slices(
        self,
        part: Part,
        names: Sequence[str],
        dead: NDArray[np.bool_] | None,
        groups: Container[int] | None = None,
    ) -> Iterator[tuple[int, int, pa.Table]]:
        """Yield columns of the rows that are not dead, some at a time.

        With their row group, and how many rows of it came before. Only rows of `groups`, if given.
        """
        source = self._open(part.path)
        if source is None:
            raise MirrorError(delta_errors.FILE_MISSING, file=part.path)
        try:
            # Spark writes TIMESTAMP as INT96 by default.
            with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as reader:
                if dead is not None:
                    # It may end with the last dead row.
                    dead = np.pad(dead, (0, max(0, reader.metadata.num_rows - len(dead))))
                start = 0
                for group in range(reader.num_row_groups):
                    begin, before = start, 0
                    start += reader.metadata.row_group(group).num_rows
                    if groups is not None and group not in groups:
                        continue
                    for data in self._group(reader, group, part, names):
                        end = begin + data.num_rows
                        live = data
                        if dead is not None:
                            live = data.filter(pa.array(~dead[begin:end]))
                        begin = end
                        if live.num_rows:
                            yield group, before, live
                        before += live.num_rows
        except (pa.ArrowException, ValueError, OSError) as error:
            raise MirrorError(delta_errors.FILE_DAMAGED, file=part.path, why=error) from error

    def _group(
        self, reader: pq.ParquetFile, group: int, part: Part, names: Sequence[str]
    ) -> Iterator[pa.Table]:
        present = set(reader.schema_arrow.names)
        own = _names_in_file(reader.schema_arrow, part, names)
        read = [name for name in own if name in present]
        if not read:
            rows = reader.metadata.row_group(group).num_rows
            yield self._named(pa.table({"": pa.nulls(rows)}), part, names, own)
            return
        batches = reader.iter_batches(_SLICE_ROWS, row_groups=[group], columns=read)
        for batch in batches:
            yield self._named(pa.Table.from_batches([batch]), part, names, own)

    def _named(
        self, data: pa.Table, part: Part, names: Sequence[str], own: Sequence[str]
    ) -> pa.Table:
        arrays = []
        for name, physical in zip(names, own, strict=True):
            kind = self._schema.field(name).type
            if physical in data.column_names:
                values = data[physical]
                is_own = values.type == kind or pa.types.is_nested(kind)
                arrays.append(values if is_own else values.cast(kind))
            elif name in part.constants:
                arrays.append(pa.repeat(part.constants[name], data.num_rows))
            else:
                arrays.append(pa.nulls(data.num_rows, kind))
        return pa.Table.from_arrays(arrays, names=list(names))


def _names_in_file(schema: pa.Schema, part: Part, names: Sequence[str]) -> list[str]:
    """Return the names of columns in a file; a name that the file lacks for one it lacks."""
    if part.ids is not None:
        by_id = {
            int(field.metadata[_FIELD_ID]): field.name
            for field in schema
            if field.metadata and _FIELD_ID in field.metadata
        }
        if by_id:
            return [by_id.get(part.ids[name], "") for name in names]
    return [part.physical.get(name, name) for name in names]


class FileTarget(ABC):
    """What tables of files have in common."""

    has_versions = True

    def __init__(self, name: str) -> None:
        """Name the table for people."""
        self.name = name
        self.parts: list[Part] = []
        self.rows = 0
        self.schema = pa.schema([])

    @abstractmethod
    def refresh(self) -> str:
        """Read the newest state from now on; return its name."""

    @abstractmethod
    def _open(self, path: str) -> pa.NativeFile | None:
        """Return the file of a part."""

    def _dead(self, part: Part) -> NDArray[np.bool_] | None:
        """Return which rows of a part are deleted; None if no row is."""
        del part
        return None

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield columns of all rows, some at a time."""
        reader = FileReader(self._open, self.schema)
        for part in self.parts:
            dead = self._dead(part)
            for _, _, data in reader.slices(part, names, dead):
                yield data

    def chosen(
        self,
        names: Sequence[str],
        of: Sequence[str],
        choose: Choose,
        keys: NamedKeys | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the columns `names` of the rows that `choose` returns for their columns `of`."""
        del keys
        reader = FileReader(self._open, self.schema)
        for part in self.parts:
            dead = self._dead(part)
            hits: dict[int, list[NDArray[np.int64]]] = {}
            for group, before, data in reader.slices(part, of, dead):
                places = choose(data)
                if len(places):
                    hits.setdefault(group, []).append(places + before)
            if not hits:
                continue
            wanted = {group: np.concatenate(places) for group, places in hits.items()}
            for group, before, data in reader.slices(part, names, dead, wanted):
                places = wanted[group] - before
                inside = places[(places >= 0) & (places < data.num_rows)]
                if len(inside):
                    yield data.take(pa.array(inside, pa.int64()))

    def close(self) -> None:  # noqa: B027 - nothing is open between two reads
        """Do nothing: files are closed after each read."""


class FolderTarget(FileTarget):
    """A table whose files are all in one folder."""

    def __init__(self, name: str, path: str) -> None:
        """Look at the table at `path`, a local path or a URL of a storage.

        Raises ConfigError for a scheme that no storage has.
        """
        super().__init__(name)
        root, _, self.folder = path.rstrip("/").rpartition("/")
        if not root and not path.startswith("/"):
            root = "."
        self.storage = storage_of(root or "/")

    def _open(self, path: str) -> pa.NativeFile | None:
        return self.storage.open(path)


class ParquetTarget(FolderTarget):
    """The Parquet files of a folder and of its subfolders, such as `day=2026-03-01`.

    Files and folders whose names begin with `_` or `.` do not count, as for Spark. A program that
    replaces files can be seen in the middle, so one look at the folder proves nothing.
    """

    has_versions = False

    def refresh(self) -> str:
        """List the files, and read these from now on."""
        files = [file for file in self.storage.list(self.folder) if _counts(file)]
        if not files:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        schemas = []
        self.rows = 0
        self.parts = []
        for file in files:
            path = f"{self.folder}/{file.name}"
            schema, rows = self._head(path)
            constants = _partitions(file.name)
            for name, value in constants.items():
                if name not in schema.names:
                    schema = schema.append(pa.field(name, value.type))
            schemas.append(schema)
            self.rows += rows
            self.parts.append(Part(path, {}, constants))
        try:
            self.schema = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise MirrorError(foreign_errors.OTHER_SCHEMAS, target=self.name, why=error) from error
        return f"{len(files)} files"

    def _head(self, path: str) -> tuple[pa.Schema, int]:
        source = self.storage.open(path)
        if source is None:
            raise MirrorError(delta_errors.FILE_MISSING, file=path)
        try:
            with pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as reader:
                return reader.schema_arrow.remove_metadata(), reader.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise MirrorError(delta_errors.FILE_DAMAGED, file=path, why=error) from error


def _counts(file: StoredFile) -> bool:
    names = file.name.split("/")
    is_hidden = any(name.startswith((".", "_")) and "=" not in name for name in names)
    return names[-1].endswith((".parquet", ".parq")) and not is_hidden and file.size > 0


def _partitions(name: str) -> dict[str, pa.Scalar]:
    """Return the columns that the folders of a file name."""
    pairs = [part.split("=", 1) for part in name.split("/")[:-1] if "=" in part]
    return {
        unquote(column): pa.scalar(None if value == _HIVE_NULL else unquote(value), pa.string())
        for column, value in pairs
    }
