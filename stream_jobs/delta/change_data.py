"""The change data feed: files that say row by row what a commit has changed.

Readers learn from the log alone what a commit does that only adds files, or only removes them. A
commit that kills rows of a file says more: for it, each partition of the table gets a file with the
rows that have gone and those that have come. `_change_type` is `insert` or `delete`, or
`update_preimage` and `update_postimage` for a row that another one with its key replaces.

    _change_data/cdc-7d1c….parquet

The feed is on for tables with the property `delta.enableChangeDataFeed`. As readers see no other
files of such a commit, each of its rows is written twice, and the rows that die are read.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files
https://docs.delta.io/latest/delta-change-data-feed.html
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.parquet_file import file_rows, read_columns, rows_at, written_bytes
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, delta_errors

PROPERTY: Final = "delta.enableChangeDataFeed"
FOLDER: Final = "_change_data/"
_TYPE: Final = "_change_type"
# What readers add to the columns of a table.
_RESERVED: Final = frozenset((_TYPE, "_commit_version", "_commit_timestamp"))
# Of rows that are held at once, about; above it, a partition gets another file.
_BYTES_MAX: Final = 64 << 20


def is_on(configuration: Mapping[str, str]) -> bool:
    """Return whether a table with these properties has the feed."""
    return configuration.get(PROPERTY, "").lower() == "true"


class ChangeFile(NamedTuple):
    """A file of the feed."""

    path: str  # relative to the table
    size: int  # bytes
    partition_values: Mapping[str, str | None]

    def action(self) -> dict[str, Any]:
        """Return the action `cdc`."""
        return {
            "cdc": {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "dataChange": False,
            }
        }


class DeadRows(NamedTuple):
    """Rows of a file that a commit kills."""

    file: DataFile
    positions: BitMap


def write_changes(
    storage: Storage,
    table: str,
    metadata: Metadata,
    dead: Sequence[DeadRows],
    new: Sequence[DataFile],
    key: Sequence[str],
) -> Iterator[ChangeFile]:
    """Write what a commit changes, and yield the files.

    `key` are the columns that a row has in common with the one that it replaces; without any, no
    row replaces another one. Raises MirrorError if a column has a name of the feed, if a file
    cannot be read, or if the storage fails.
    """
    if taken := sorted(_RESERVED & {column.name for column in metadata.columns}):
        raise MirrorError(delta_errors.FEED_NAMES, path=table, columns=taken)
    gone_keys, come_keys = [], []
    if key and dead and new:
        columns = [column for column in metadata.columns if column.name in key]
        gone_keys = [_rows_of(storage, table, rows, columns) for rows in dead]
        come_keys = [read_columns(storage, table, file, columns) for file in new]
    writer = _Writer(storage, table, metadata)
    for rows in dead:
        data = _rows_of(storage, table, rows, metadata.columns)
        are_replaced = _have_key(data, come_keys, key)
        yield from writer.add(rows.file, data, are_replaced, "update_preimage", "delete")
    for file in new:
        data = read_columns(storage, table, file, metadata.columns)
        replace = _have_key(data, gone_keys, key)
        yield from writer.add(file, data, replace, "update_postimage", "insert")
    yield from writer.flush()


def _rows_of(storage: Storage, table: str, rows: DeadRows, columns: Sequence[Any]) -> pa.Table:
    positions = np.asarray(rows.positions.to_array(), np.int64)
    return rows_at(storage, table, rows.file, columns, positions)


def _have_key(data: pa.Table, others: Sequence[pa.Table], key: Sequence[str]) -> pa.Array:
    """Return for each row whether one of `others` has its key."""
    mask = np.zeros(data.num_rows, np.bool_)
    if others:
        # Columns can have any name.
        names = [f"key_{number}" for number in range(len(key))]
        own = data.select(key).rename_columns(names)
        own = own.append_column("place", pa.array(np.arange(data.num_rows)))
        found = pa.concat_tables([other.select(key).rename_columns(names) for other in others])
        joined = own.join(found, names, join_type="left semi", use_threads=False)
        mask[joined["place"].to_numpy()] = True
    return pa.array(mask)


class _Writer:
    """Collects the rows of each partition, and writes them."""

    def __init__(self, storage: Storage, table: str, metadata: Metadata) -> None:
        self._storage = storage
        self._table = table
        self._columns = metadata.file_columns
        self._rows: dict[tuple[tuple[str, str | None], ...], list[pa.Table]] = defaultdict(list)
        self._bytes = 0

    def add(
        self, file: DataFile, data: pa.Table, mask: pa.Array, chosen: str, other: str
    ) -> Iterator[ChangeFile]:
        """Add rows of a data file: of the type `chosen` where `mask` is true, else `other`."""
        if not data.num_rows:
            return
        types = pa.DictionaryArray.from_arrays(mask.cast(pa.int8()), [other, chosen])
        physical = file_rows(self._columns, data)
        physical = physical.append_column(_TYPE, types.cast(pa.string()))
        self._rows[tuple(sorted(file.partition_values.items()))].append(physical)
        self._bytes += physical.nbytes
        if self._bytes > _BYTES_MAX:
            yield from self.flush()

    def flush(self) -> Iterator[ChangeFile]:
        """Write what was collected."""
        for values, rows in self._rows.items():
            content = written_bytes(pa.concat_tables(rows))
            path = f"{FOLDER}cdc-{uuid.uuid4()}.parquet"
            self._storage.write(f"{self._table}/{path}", memoryview(content))
            yield ChangeFile(path, content.size, dict(values))
        self._rows.clear()
        self._bytes = 0
