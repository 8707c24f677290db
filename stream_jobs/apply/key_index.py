"""The index of a data file: which keys it has, at which positions, and with which sequences.

An index is a file in a folder of the local disk, which all Python workers share and map into their
memory. It can be lost at any time: it is made again from the key columns of the data file. The
folder has a limit; the files that were used longest ago are removed first.

    header: magic, rows, 1 if the keys are hashes      3 times 8 bytes
    keys, sorted │ second halves of hashes, or nothing │ hi │ lo │ positions: 8 bytes a row each
"""

from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from stream_jobs.apply.keys import Keys, keys_of
from stream_jobs.delta.parquet_file import read_columns
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.storage import Storage

_MAGIC: Final = 0x31584449435F4342
_HEADER_NUMBERS: Final = 3
_WORD: Final = 8
# Indexes that a process keeps mapped.
_MAPPED_MAX: Final = 512
# After so many new indexes, a process looks at the size of the folder.
_WRITES_BETWEEN_LOOKS: Final = 50


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """The rows of a data file, sorted by key."""

    keys: Keys
    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    positions: NDArray[np.int64]

    @classmethod
    def of_rows(cls, data: pa.Table, key: Sequence[str]) -> KeyIndex:
        """Index the rows of a file; `data` has at least the key and the sequence."""
        keys = keys_of([data[name] for name in key])
        order = np.argsort(keys.first, kind="stable")
        return cls(
            keys.take(order),
            data[HI].to_numpy()[order],
            data[LO].to_numpy()[order],
            order.astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """The folder of indexes on one machine."""

    path: str
    bytes_max: int

    def of_file(
        self,
        storage: Storage,
        table: str,
        file: DataFile,
        columns: Sequence[Column],
    ) -> KeyIndex:
        """Return the index of a file; `columns` are the key, in key order, and the sequence."""
        path = self._path_of(table, file.path, columns)
        found = _mapped(path)
        if found is None:
            data = read_columns(storage, table, file, columns)
            found = KeyIndex.of_rows(data, [column.name for column in columns[:-2]])
            self._write(path, found)
        return found

    def keep(self, table: str, file: DataFile, columns: Sequence[Column], data: pa.Table) -> None:
        """Keep the index of a file that was just written with the rows `data`."""
        index = KeyIndex.of_rows(data, [column.name for column in columns[:-2]])
        self._write(self._path_of(table, file.path, columns), index)

    def _path_of(self, table: str, file: str, columns: Sequence[Column]) -> str:
        kinds = ",".join(f"{column.field_id} {column.type}" for column in columns)
        name = hashlib.blake2b(f"{table}\0{file}\0{kinds}".encode(), digest_size=20).hexdigest()
        return f"{self.path}/{name[:2]}/{name}"

    def _write(self, path: str, index: KeyIndex) -> None:
        """Write a file under its name only as a whole: another worker may do the same."""
        second = index.keys.second
        header = np.array([_MAGIC, len(index.hi), second is not None], np.int64)
        temporary = f"{path}.{uuid.uuid4().hex}"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        arrays = [header, index.keys.first, second, index.hi, index.lo, index.positions]
        with Path(temporary).open("wb") as out:
            for array in arrays:
                if array is not None:
                    out.write(np.ascontiguousarray(array, np.int64).data)
        Path(temporary).replace(path)
        _Writes.count += 1
        if _Writes.count % _WRITES_BETWEEN_LOOKS == 0:
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        """Remove indexes until the folder has room; a mapped one stays usable."""
        found = []
        total = 0
        for entry in Path(self.path).glob("*/*"):
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            total += stat.st_size
            found.append((max(stat.st_atime, stat.st_mtime), stat.st_size, entry))
        for _, size, entry in sorted(found):
            if total <= self.bytes_max:
                break
            entry.unlink(missing_ok=True)
            total -= size


class _Writes:
    """The number of indexes that this process has written."""

    count = 0


def _mapped(path: str) -> KeyIndex | None:
    """Return the index in a file; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - of one file in a hot path
    except FileNotFoundError:
        return None
    return _map(path, status.st_size)


@lru_cache(maxsize=_MAPPED_MAX)
def _map(path: str, size: int) -> KeyIndex | None:
    words = np.memmap(path, np.int64, "r")
    magic, rows, is_hashed = (int(word) for word in words[:_HEADER_NUMBERS])
    arrays = 5 if is_hashed else 4
    if magic != _MAGIC or size != (_HEADER_NUMBERS + arrays * rows) * _WORD:
        return None
    columns = [
        words[_HEADER_NUMBERS + number * rows : _HEADER_NUMBERS + (number + 1) * rows]
        for number in range(arrays)
    ]
    first = columns.pop(0)
    second = columns.pop(0) if is_hashed else None
    return KeyIndex(Keys(first, second), *columns)
