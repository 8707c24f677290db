"""Which rows of an Iceberg table's data files are deleted.

Deletion vectors and files of positions name places of rows; files of equality deletes name values:
a row of an older file with these values is deleted.

https://iceberg.apache.org/spec/#delete-formats
https://iceberg.apache.org/spec/#scan-planning
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_jobs.apply.row_hashes import Keys
from stream_jobs.delta import deletion_vectors
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.iceberg.puffin import vector_of
from verification.digests import row_digests
from verification.foreign import iceberg_state
from verification.foreign.file_target import FileReader, Part

# The columns of files of positions, by their ids.
_PATH_ID, _POSITION_ID = 2147483546, 2147483545
_POSITIONS: Final = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])

Positions = NDArray[np.int64]
# Returns bytes of a file: its URI, the first byte, and how many.
ReadPart = Callable[[str, int, int], bytes]


class _Scope(NamedTuple):
    """Data files to which equality deletes apply."""

    ids: tuple[int, ...]  # columns that are compared
    partition: tuple[object, ...] | None  # None: all


class _Deletes:
    """The keys of equality deletes, each with its newest sequence number."""

    def __init__(self, parts: Sequence[tuple[Keys, int]]) -> None:
        first = np.concatenate([keys.first for keys, _ in parts])
        second = np.concatenate([_second(keys) for keys, _ in parts])
        numbers = np.concatenate([np.full(len(keys.first), own) for keys, own in parts])
        order = np.lexsort((-numbers, second, first))
        self._first, self._second = first[order], second[order]
        self._numbers = numbers[order]

    def are_deleted(self, keys: Keys, sequence: int) -> NDArray[np.bool_]:
        """Return which rows of a file with this sequence number are deleted."""
        begin = np.searchsorted(self._first, keys.first, "left")
        end = np.searchsorted(self._first, keys.first, "right")
        deleted = np.zeros(len(keys.first), np.bool_)
        second = _second(keys)
        # The newest comes first; a file with several deletes of a key is rare.
        for step in range(int((end - begin).max(initial=0))):
            at = begin + step
            places = np.flatnonzero((at < end) & ~deleted)
            if not len(places):
                break
            own = at[places]
            same = self._second[own] == second[places]
            deleted[places[same & (self._numbers[own] > sequence)]] = True
        return deleted


def _second(keys: Keys) -> NDArray[np.int64]:
    assert keys.second is not None
    return keys.second


class DeadRows:
    """The deleted rows of one snapshot, read when they are asked for."""

    def __init__(
        self,
        state: iceberg_state.IcebergState,
        files: Iterable[iceberg_state.IcebergFile],
        open_file: Callable[[str], pa.NativeFile | None],
        read_part: ReadPart,
    ) -> None:
        """Know the files of deletes among `files`."""
        self._state = state
        self._open = open_file
        self._read_part = read_part
        self._vectors: dict[str, iceberg_state.IcebergFile] = {}
        self._position_files: list[iceberg_state.IcebergFile] = []
        self._equality: dict[_Scope, list[iceberg_state.IcebergFile]] = {}
        for file in files:
            if file.content == iceberg_state.EQUALITY_DELETES:
                # Without partitions, deletes apply to all files.
                partition = file.partition if file.partition_values else None
                scope = _Scope(file.equality_ids, partition)
                self._equality.setdefault(scope, []).append(file)
            elif file.content == iceberg_state.POSITION_DELETES and file.is_vector:
                self._vectors[file.referenced or ""] = file
            elif file.content == iceberg_state.POSITION_DELETES:
                self._position_files.append(file)
        self._positions: dict[str, list[tuple[int, Positions]]] | None = None
        self._deletes: dict[_Scope, _Deletes] = {}

    @property
    def count(self) -> int:
        """About how many rows are deleted by their places."""
        return sum(file.rows for file in [*self._vectors.values(), *self._position_files])

    def of(self, file: iceberg_state.IcebergFile, part: Part) -> NDArray[np.bool_] | None:
        """Return which rows of a data file are deleted; None if no row is."""
        positions = self._places(file)
        scopes = [
            scope
            for scope, own in self._equality.items()
            if scope.partition in (None, file.partition)
            and any(delete.sequence > file.sequence for delete in own)
        ]
        if positions is None and not scopes:
            return None
        highest = -1 if positions is None else int(positions.max(initial=-1))
        dead = np.zeros(max(file.rows, highest + 1), np.bool_)
        if positions is not None:
            dead[positions] = True
        for scope in scopes:
            dead[: file.rows] |= self._by_values(scope, file, part)[: file.rows]
        return dead

    def _places(self, file: iceberg_state.IcebergFile) -> Positions | None:
        vector = self._vectors.get(file.uri)
        if vector is not None and vector.sequence >= file.sequence:
            return self._vector(vector)
        if not self._position_files:
            return None
        if self._positions is None:
            self._positions = self._read_positions()
        found = [
            own for number, own in self._positions.get(file.uri, ()) if number >= file.sequence
        ]
        return np.concatenate(found) if found else None

    def _vector(self, file: iceberg_state.IcebergFile) -> Positions:
        blob = self._read_part(file.uri, file.offset, file.length)
        try:
            places = deletion_vectors.decode(vector_of(blob))
        except ValueError as error:
            facts = {"file": file.uri, "offset": file.offset}
            raise MirrorError(delta_errors.VECTOR_DAMAGED, **facts) from error
        return np.asarray(places.to_array()).astype(np.int64)

    def _read_positions(self) -> dict[str, list[tuple[int, Positions]]]:
        found: dict[str, list[tuple[int, Positions]]] = {}
        reader = FileReader(self._open, _POSITIONS)
        ids = {"file_path": _PATH_ID, "pos": _POSITION_ID}
        for file in self._position_files:
            part = Part(file.uri, {}, {}, ids=ids)
            for _, _, data in reader.slices(part, _POSITIONS.names, None):
                paths = data["file_path"].combine_chunks().dictionary_encode()
                if isinstance(paths, pa.ChunkedArray):
                    paths = paths.combine_chunks()
                places, codes = data["pos"].to_numpy(), paths.indices.to_numpy()
                for code, path in enumerate(paths.dictionary.to_pylist()):
                    found.setdefault(path, []).append((file.sequence, places[codes == code]))
        return found

    def _by_values(
        self, scope: _Scope, file: iceberg_state.IcebergFile, part: Part
    ) -> NDArray[np.bool_]:
        if scope not in self._deletes:
            parts = []
            for delete in self._equality[scope]:
                own = Part(delete.uri, {}, {})
                parts += [(keys, delete.sequence) for keys in self._keys(scope, own)]
            self._deletes[scope] = _Deletes(parts)
        deletes = self._deletes[scope]
        own = part._replace(file=None)
        dead = [deletes.are_deleted(keys, file.sequence) for keys in self._keys(scope, own)]
        return np.concatenate(dead) if dead else np.zeros(0, np.bool_)

    def _keys(self, scope: _Scope, part: Part) -> Iterable[Keys]:
        """Yield the digests of the compared columns of all rows of a file."""
        fields = self._state.columns_of(scope.ids)
        names = [str(field.field_id) for field in fields]
        schema = pa.schema([(str(field.field_id), field.kind) for field in fields])
        ids = {str(field.field_id): field.field_id for field in fields}
        by_name = {field.name: str(field.field_id) for field in fields}
        constants = {
            by_name[name]: value for name, value in part.constants.items() if name in by_name
        }
        physical = {str(field.field_id): field.name for field in fields}
        own = part._replace(physical=physical, constants=constants, ids=ids)
        for _, _, data in FileReader(self._open, schema).slices(own, names, None):
            yield row_digests(data, names)
