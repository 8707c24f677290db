"""Data files: rows become a Parquet file with field ids, and are read again by position.

Rows have logical names in Arrow and physical names in the file. A column that a file lacks was
added later: its values there are NULL.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#writer-requirements-for-column-mapping
"""

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import Column, physical_schema
from stream_jobs.delta.data_skipping import write_statistics
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors

# A reader skips row groups; each of them costs a footer entry for every column.
_ROW_GROUP_ROWS = 200_000
# Measured: 500,000 rows take 13 MB and 136 ms with zstd, 23 MB and 104 ms with Snappy; with
# dictionaries 13 MB and 189 ms. For 11 rows, zstd doubles the time, and so do statistics; to skip
# such a file saves less than they cost.
_SMALL_ROWS = 1000
# To map such a file, or to ask for its parts, takes longer than to read it.
_READ_BYTES = 64 * 1024


def write_file(
    storage: Storage,
    table: str,
    columns: Sequence[Column],
    data: pa.Table,
    *,
    key: Collection[str] = (),
    partition_values: Mapping[str, str | None] | None = None,
    tags: Mapping[str, str] | None = None,
) -> DataFile:
    """Write `data` as a new file of the table at the path `table`; the rows keep their order.

    `data` has the logical names of `columns`, in any order; `columns` are those that the file has,
    without the columns of a partitioned table that `partition_values` gives (by physical name).
    `key` are names of columns whose texts get statistics, too. The file is not part of the table
    before a commit adds it. Raises MirrorError if the storage fails, pa.ArrowInvalid if values do
    not fit into their columns.
    """
    physical = file_rows(columns, data)
    content = written_bytes(physical)
    path = f"part-{uuid.uuid4()}.parquet"
    storage.write(f"{table}/{path}", memoryview(content))
    return DataFile(
        path,
        content.size,
        data.num_rows,
        time.time_ns() // 1_000_000,
        statistics=write_statistics(physical, columns, key),
        partition_values=partition_values or {},
        tags=tags or {},
    )


def file_rows(columns: Sequence[Column], data: pa.Table) -> pa.Table:
    """Return `data` as a file has it, with the physical names of `columns` and their field ids.

    Raises pa.ArrowInvalid if values do not fit into their columns.
    """
    arrays = [
        _renamed(_cast(data[column.name], column.type), column.physical_field.type)
        if column.type.num_fields
        else data[column.name]
        for column in columns
    ]
    # Casts the others.
    return pa.Table.from_arrays(arrays, schema=physical_schema(columns))


def written_bytes(physical: pa.Table) -> pa.Buffer:
    """Return a Parquet file with these rows."""
    sink = pa.BufferOutputStream()
    is_small = physical.num_rows < _SMALL_ROWS
    pq.write_table(
        physical,
        sink,
        compression="snappy" if is_small else "zstd",
        compression_level=None if is_small else 1,
        use_dictionary=False,
        write_statistics=not is_small,
        store_schema=False,
        row_group_size=_ROW_GROUP_ROWS,
    )
    return sink.getvalue()


def read_columns(
    storage: Storage, table: str, file: DataFile, columns: Sequence[Column]
) -> pa.Table:
    """Return `columns` of all rows of a file, dead ones too, in the order of their positions.

    Raises MirrorError if the file is missing or cannot be read.
    """
    return _read(
        storage,
        table,
        file,
        columns,
        lambda reader, names: reader.read(columns=names, use_threads=False),
    )


def rows_at(
    storage: Storage,
    table: str,
    file: DataFile,
    columns: Sequence[Column],
    positions: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> pa.Table:
    """Return `columns` of the rows at `positions` of a file, in that order.

    Only the row groups that have them are read. Raises MirrorError as `read_columns`.
    """

    def read(reader: pq.ParquetFile, names: list[str]) -> pa.Table:
        metadata = reader.metadata
        if len(positions) == metadata.num_rows and (np.diff(positions) == 1).all():
            # All rows, as of most small files: nothing has to be looked for.
            return reader.read(columns=names, use_threads=False)
        rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        starts = np.cumsum([0, *rows])
        group_of = np.searchsorted(starts, positions, "right") - 1
        groups, place = np.unique(group_of, return_inverse=True)
        # Where the first row of each group is in what is read.
        begin = np.cumsum([0, *(rows[number] for number in groups.tolist())])[:-1]
        data = reader.read_row_groups(groups.tolist(), columns=names, use_threads=False)
        return data.take(pa.array(begin[place] + positions - starts[group_of]))

    return _read(storage, table, file, columns, read, len(positions))


def _read(
    storage: Storage,
    table: str,
    file: DataFile,
    columns: Sequence[Column],
    read: Callable[[pq.ParquetFile, list[str]], pa.Table],
    rows: int | None = None,
) -> pa.Table:
    """Return `columns` of the rows that `read` returns with the names of the file.

    If the file has none of the columns, `rows` says how many there are.
    """
    path, source = f"{table}/{file.location}", None
    if 0 < file.size <= _READ_BYTES:
        content = storage.read(path)
        source = None if content is None else pa.BufferReader(content)
    else:
        source = storage.open(path)
    if source is None:
        raise MirrorError(delta_errors.FILE_MISSING, file=f"{table}/{file.path}")
    try:
        # Spark writes TIMESTAMP as INT96 by default.
        reader = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        present = set(reader.schema_arrow.names)
        data = read(reader, [c.physical_name for c in columns if c.physical_name in present])
        arrays = [
            _cast(_renamed(data[column.physical_name], column.type), column.type)
            if column.physical_name in present
            else _constant(column, file, data.num_rows if rows is None else rows)
            for column in columns
        ]
    except (pa.ArrowException, ValueError, OSError) as error:
        raise MirrorError(
            delta_errors.FILE_DAMAGED, file=f"{table}/{file.path}", why=error
        ) from error
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def live_rows(storage: Storage, table: str, file: DataFile, columns: Sequence[Column]) -> pa.Table:
    """Return `columns` of the rows of a file that are not dead, in the order of their positions.

    Raises MirrorError if the file or its deletion vector is missing or cannot be read.
    """
    data = read_columns(storage, table, file, columns)
    if file.deletion_vector is None:
        return data
    dead = deletion_vectors.load(storage, table, file.deletion_vector)
    return data.filter(pa.array(live_mask(dead, data.num_rows)))


def live_positions(
    storage: Storage, table: str, file: DataFile, columns: Sequence[Column]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the positions of the rows of a file that are not dead, in their order.

    Another writer need not count rows: then `columns` are read, which may be any. Raises
    MirrorError as `live_rows`.
    """
    rows = file.rows
    if rows < 0:
        rows = read_columns(storage, table, file, columns).num_rows
    positions = np.arange(rows, dtype=np.int64)
    if file.deletion_vector is None:
        return positions
    dead = deletion_vectors.load(storage, table, file.deletion_vector)
    return positions[live_mask(dead, rows)]


def live_mask(dead: BitMap, rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each of `rows` positions whether it is not in `dead`."""
    mask = np.ones(rows, dtype=np.bool_)
    mask[np.asarray(dead.to_array())] = False
    return mask


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return values if values.type == kind else values.cast(kind)


def _renamed(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return `values` with the field names of `kind`; fields of a STRUCT are matched by place."""
    if not pa.types.is_nested(kind) or values.type.equals(kind, check_metadata=True):
        return values
    return pa.chunked_array([chunk.view(kind) for chunk in values.chunks], type=kind)


def _constant(column: Column, file: DataFile, rows: int) -> pa.Array:
    value = file.partition_values.get(column.physical_name)
    if not value:
        return pa.nulls(rows, column.type)
    return pa.repeat(pa.scalar(value).cast(column.type), rows)
