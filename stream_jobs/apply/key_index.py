"""The index of a data file: its keys, with their positions and sequences.

An index is a file in a folder of the local disk, which all Python workers share and map into their
memory. It can be lost or damaged at any time: it is made again from the key columns of the data
file. The folder has a limit; the files that were used longest ago are removed first. If the disk is
full before, half of the folder is removed. While that does not help, an index is made each time.

    header: magic, rows, 1 if the keys are hashes, checksum of the rest: 4 times 8 bytes
    keys, sorted │ second halves of hashes, or nothing │ hi │ lo │ positions: 8 bytes a row each
"""

import errno
import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from connector.foundation.private_folders import is_ours_alone
from stream_jobs.apply.row_hashes import Keys, keys_of
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import Column
from stream_jobs.delta.parquet_file import read_columns
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.source.sequence import HI, LO

_MAGIC: Final = 0x31584449435F4342
_HEADER_NUMBERS: Final = 4
_WORD: Final = 8
# Indexes that a process keeps mapped. Small ones are read and kept in memory: 64 MB of them, and as
# much of tiny ones, of which thousands of tables have some each.
_MAPPED_MAX: Final = 512
_SMALL_BYTES: Final = 32 * 1024
_SMALL_MAX: Final = 2048
_TINY_BYTES: Final = 4 * 1024
_TINY_MAX: Final = 16 * 1024
# After new indexes of this part of the limit, a process looks at the size of the folder: a look
# takes as long as the folder has files. A small file counts as a block of the disk.
_LOOK_SHARE: Final = 64
_BLOCK_BYTES: Final = 4096
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
# What stays of the folder when the disk is full.
_FULL_SHARE: Final = 0.5


@dataclass(frozen=True)
class IndexColumns:
    """What an index of a data file has."""

    key: tuple[Column, ...]  # in key order
    sequence: tuple[Column, ...]
    keys: Callable[[Sequence[pa.ChunkedArray]], Keys] = keys_of
    # Columns that decide which rows are in the index, and the decision; without it, all are.
    deciding: tuple[Column, ...] = ()
    are_found: Callable[[pa.Table], NDArray[np.bool_]] | None = None
    # Whether rows may be from before the table got this key. NULL in a column of it is no key, so
    # no change finds them: they are not in the index, either.
    may_lack_key: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read to make an index."""
        return (*self.key, *self.sequence, *self.deciding)

    @cached_property
    def kind(self) -> str:
        """What distinguishes this index of a file from others of the same file."""
        columns = [f"{column.field_id} {column.type}" for column in self.columns]
        rows = ["rows with a key"] if self.may_lack_key else []
        return ",".join([*columns, self.keys.__name__, *rows])

    def found_in(self, data: pa.Table) -> NDArray[np.bool_] | None:
        """Return which rows are in the index; None for all."""
        found = None if self.are_found is None else self.are_found(data)
        for column in self.key if self.may_lack_key else ():
            values = data[column.name]
            if values.null_count:
                have_key = values.is_valid().to_numpy()
                found = have_key if found is None else found & have_key
        return found


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """The rows of a data file, sorted by key."""

    keys: Keys
    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    positions: NDArray[np.int64]

    @classmethod
    def of_rows(cls, data: pa.Table, indexed: IndexColumns) -> "KeyIndex":
        """Index the rows of a file; `data` has at least the columns of `indexed`."""
        positions = np.arange(data.num_rows, dtype=np.int64)
        are_found = indexed.found_in(data)
        if are_found is not None:
            positions = np.flatnonzero(are_found)
            data = data.take(pa.array(positions))
        keys = indexed.keys([data[column.name] for column in indexed.key])
        hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        if len(positions) <= 1:
            return cls(keys, hi, lo, positions)
        order = np.argsort(keys.first, kind="stable")
        return cls(keys.take(order), hi[order], lo[order], positions[order])


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
        indexed: IndexColumns,
    ) -> KeyIndex:
        """Return the index of a file."""
        path = self._path_of(table, file.path, indexed)
        index = _mapped(path)
        if index is None:
            data = read_columns(storage, table, file, indexed.columns)
            index = KeyIndex.of_rows(data, indexed)
            self._write(path, index)
        return index

    def keep(self, table: str, file: DataFile, indexed: IndexColumns, data: pa.Table) -> None:
        """Keep the index of a file that was just written with the rows `data`."""
        self._write(self._path_of(table, file.path, indexed), KeyIndex.of_rows(data, indexed))

    def _path_of(self, table: str, file: str, indexed: IndexColumns) -> str:
        _make_private(self.path)
        named = f"{table}\0{file}\0{indexed.kind}".encode()
        name = hashlib.blake2b(named, digest_size=20).hexdigest()
        return f"{self.path}/{name[:2]}/{name}"

    def _write(self, path: str, index: KeyIndex) -> None:
        """Write a file under its name only as a whole: another worker may do the same."""
        second = index.keys.second
        every = [index.keys.first, second, index.hi, index.lo, index.positions]
        arrays = [np.ascontiguousarray(column, np.int64) for column in every if column is not None]
        facts = [_MAGIC, len(index.hi), second is not None, _checksum(arrays)]
        content = [np.array(facts, np.int64), *arrays]
        if not _is_written(path, content):
            self._remove_oldest(_FULL_SHARE)
            if not _is_written(path, content):
                # Whoever looks the file up makes its index again: that costs time, and no table.
                return
        _Written.size += max(_BLOCK_BYTES, sum(array.nbytes for array in arrays))
        if _Written.size * _LOOK_SHARE >= self.bytes_max:
            _Written.size = 0
            self._remove_oldest()

    def _remove_oldest(self, share: float = 1.0) -> None:
        """Remove indexes until the folder has room; a mapped one stays usable.

        At most a `share` of its bytes is left.
        """
        stored = []
        total = 0
        for entry in Path(self.path).glob("*/*"):
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            size = max(_BLOCK_BYTES, stat.st_size)
            total += size
            stored.append((max(stat.st_atime, stat.st_mtime), size, entry))
        bytes_max = min(self.bytes_max, share * total)
        for _, size, entry in sorted(stored):
            if total <= bytes_max:
                break
            entry.unlink(missing_ok=True)
            total -= size


def _make_private(folder: str) -> None:
    """Create the folder of the indexes for this user alone.

    What another user writes into it would decide which rows are replaced. Raises MirrorError if
    another user could.
    """
    try:
        is_private = is_ours_alone(folder)
    except FileNotFoundError:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        is_private = is_ours_alone(folder)
    if not is_private:
        raise MirrorError(job_errors.INDEX_FOLDER, path=folder)


def _is_written(path: str, content: Sequence[NDArray[np.int64]]) -> bool:
    """Write a file as a whole; return false if the disk is full."""
    temporary = f"{path}.{uuid.uuid4().hex}"
    try:
        file = _created(temporary)
        try:
            for part in _parts(content):
                rest = memoryview(part)
                while rest:
                    rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        Path(temporary).unlink(missing_ok=True)
        return False
    return True


def _created(path: str) -> int:
    """Open a new file to be written; its folder is made when it is needed."""
    # For a small index, pathlib and Python's own files would cost as much as the rest.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(path).parent.mkdir(exist_ok=True)
        return os.open(path, flags, 0o666)


def _parts(content: Sequence[NDArray[np.int64]]) -> Iterable[bytes]:
    """Return the bytes of arrays: of few rows as one, for one write."""
    parts = (array.tobytes() for array in content)
    return parts if content[-1].nbytes > _SMALL_BYTES else (b"".join(parts),)


def _checksum(arrays: Iterable[NDArray[np.int64]]) -> int:
    state = xxhash.xxh3_64()
    for array in arrays:
        state.update(array.data)
    return state.intdigest() - 2**63


class _Written:
    """Bytes of the indexes that this process has written since it looked at the folder."""

    size = 0


def _mapped(path: str) -> KeyIndex | None:
    """Return the index in a file; None if there is none, or if another worker removes it."""
    try:
        size = os.stat(path).st_size  # noqa: PTH116 - of one file in a hot path
        if size < _HEADER_NUMBERS * _WORD or size % _WORD:
            return None
        if size > _SMALL_BYTES:
            return _map(path, size)
        return _read_tiny(path, size) if size <= _TINY_BYTES else _read_small(path, size)
    except FileNotFoundError:
        return None


def _read(path: str, size: int) -> KeyIndex | None:
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        return _index(np.frombuffer(file.read(size), np.int64), size)


_read_tiny = lru_cache(maxsize=_TINY_MAX)(_read)
_read_small = lru_cache(maxsize=_SMALL_MAX)(_read)


@lru_cache(maxsize=_MAPPED_MAX)
def _map(path: str, size: int) -> KeyIndex | None:
    return _index(np.memmap(path, np.int64, "r"), size)


def _index(words: NDArray[np.int64], size: int) -> KeyIndex | None:
    """Return the index in the words of a file; None if it is damaged."""
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
