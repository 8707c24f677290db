"""The index of a data file: which keys it has, at which positions, and with which sequences.

An index is a file in a folder of the local disk, which all Python workers share and map into their
memory. It can be lost or damaged at any time: it is made again from the key columns of the data
file. The folder has a limit; the files that were used longest ago are removed first.

    header: magic, rows, 1 if the keys are hashes, checksum of the rest: 4 times 8 bytes
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
import xxhash

from connector.errors import MirrorError, mirror
from stream_jobs.apply.keys import Keys, keys_of
from stream_jobs.delta.parquet_file import read_columns
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.delta.storage import Storage

_OTHERS_WRITE: Final = 0o022
_MAGIC: Final = 0x31584449435F4342
_HEADER_NUMBERS: Final = 4
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
        _make_private(self.path)
        kinds = ",".join(f"{column.field_id} {column.type}" for column in columns)
        name = hashlib.blake2b(f"{table}\0{file}\0{kinds}".encode(), digest_size=20).hexdigest()
        return f"{self.path}/{name[:2]}/{name}"

    def _write(self, path: str, index: KeyIndex) -> None:
        """Write a file under its name only as a whole: another worker may do the same."""
        second = index.keys.second
        every = [index.keys.first, second, index.hi, index.lo, index.positions]
        arrays = [np.ascontiguousarray(each, np.int64) for each in every if each is not None]
        facts = [_MAGIC, len(index.hi), second is not None, _checksum(arrays)]
        temporary = f"{path}.{uuid.uuid4().hex}"
        Path(path).parent.mkdir(exist_ok=True)
        with Path(temporary).open("wb") as out:
            out.writelines(array.data for array in (np.array(facts, np.int64), *arrays))
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


def _make_private(folder: str) -> None:
    """Create the folder of the indexes for this user alone.

    What another user writes into it would decide which rows are replaced. Raises MirrorError if
    another user could.
    """
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    status = Path(folder).stat()
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
        raise MirrorError(mirror.INDEX_FOLDER, path=folder)


def _checksum(arrays: Iterable[NDArray[np.int64]]) -> int:
    state = xxhash.xxh3_64()
    for array in arrays:
        state.update(array.data)
    return state.intdigest() - 2**63


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
    if size < _HEADER_NUMBERS * _WORD or size % _WORD:
        return None
    words = np.memmap(path, np.int64, "r")
    magic, rows, is_hashed, checksum = (int(word) for word in words[:_HEADER_NUMBERS])
    arrays = 5 if is_hashed else 4
    if magic != _MAGIC or size != (_HEADER_NUMBERS + arrays * rows) * _WORD:
        return None
    # After a loss of power, parts of a file may be zeros.
    if checksum != _checksum([words[_HEADER_NUMBERS:]]):
        return None
    columns = [
        words[_HEADER_NUMBERS + number * rows : _HEADER_NUMBERS + (number + 1) * rows]
        for number in range(arrays)
    ]
    first = columns.pop(0)
    second = columns.pop(0) if is_hashed else None
    return KeyIndex(Keys(first, second), *columns)
