"""The rows in the data files of a mirror, in the types of the source.

Files are read with pyarrow, without Spark and without the key indexes of the job: those are a part
of what is checked.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from connector.errors import MirrorError, verification
from stream_jobs.delta import parquet_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.snapshot import Snapshot
    from stream_jobs.delta.storage import Storage
    from stream_jobs.delta.table import DeltaTable

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
        raise MirrorError(verification.COLUMN_GONE, table=self._table, column=name)

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
            raise MirrorError(verification.OTHER_TYPE, table=self._table, column=name) from error


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
