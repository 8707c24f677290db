"""The key of a row as numbers that can be sorted and searched.

A key that is one integer column is that number. Any other key is the 128-bit hash of its typed
values, in two halves: two different keys have the same hash once in 10^38 pairs.

https://github.com/Cyan4973/xxHash
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LENGTH: Final = struct.Struct("<I")


class Keys(NamedTuple):
    """The keys of many rows."""

    first: NDArray[np.int64]
    second: NDArray[np.int64] | None  # None for integers

    def take(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> Keys:
        """Return the keys of some rows."""
        return Keys(self.first[places], None if self.second is None else self.second[places])


def is_integer_key(kinds: Sequence[pa.DataType]) -> bool:
    """Return whether keys of columns with these types are numbers, not hashes."""
    return len(kinds) == 1 and pa.types.is_integer(kinds[0])


def keys_of(columns: Sequence[pa.ChunkedArray]) -> Keys:
    """Return the keys of rows; `columns` are those of the key, in key order.

    NULL counts as the least value: only rows from before another key have it.
    """
    columns = [column if not column.null_count else _filled(column) for column in columns]
    if is_integer_key([column.type for column in columns]):
        return Keys(columns[0].to_numpy().astype(np.int64, copy=False), None)
    return _hashed([_bytes_of(column) for column in columns])


def distinct(keys: Keys) -> tuple[Keys, NDArray[np.intp]]:
    """Return each key once, and for each of `keys` its place among them."""
    if keys.second is None:
        first, places = np.unique(keys.first, return_inverse=True)
        return Keys(first, None), places
    pairs = np.empty(len(keys.first), [("first", "<i8"), ("second", "<i8")])
    pairs["first"], pairs["second"] = keys.first, keys.second
    found, places = np.unique(pairs, return_inverse=True)
    return Keys(found["first"].copy(), found["second"].copy()), places


def _hashed(parts: Sequence[list[bytes]]) -> Keys:
    texts = parts[0] if len(parts) == 1 else [b"".join(each) for each in zip(*parts, strict=True)]
    digest = xxhash.xxh3_128_digest
    halves = np.frombuffer(b"".join([digest(text) for text in texts]), "<i8").reshape(-1, 2)
    return Keys(halves[:, 0].copy(), halves[:, 1].copy())


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_binary(kind):
        least = pa.scalar(b"").cast(kind)
    elif types.is_decimal(kind):
        least = pa.scalar(Decimal(0), kind)
    elif types.is_timestamp(kind):
        least = pa.scalar(0, pa.int64()).cast(kind)
    else:
        least = pa.scalar(0, pa.int32()).cast(kind)
    return column.fill_null(least)


def _bytes_of(column: pa.ChunkedArray) -> list[bytes]:
    """Return bytes that are the same for the same value, and that no other value begins with."""
    kind = column.type
    types = pa.types
    if types.is_string(kind) or types.is_binary(kind):
        values = column.cast(pa.binary()).to_pylist()
        return [_LENGTH.pack(len(value)) + value for value in values]
    if types.is_integer(kind):
        return _cells(column.cast(pa.int64()), 8)
    if types.is_floating(kind):
        # Zero has two signs and is one key.
        numbers = column.to_numpy().astype("<f8") + 0.0
        return [numbers[place : place + 1].tobytes() for place in range(len(numbers))]
    if types.is_decimal(kind):
        return [str(value).encode() + b"\0" for value in column.to_pylist()]
    if types.is_boolean(kind):
        return [b"\1" if value else b"\0" for value in column.to_pylist()]
    if types.is_date(kind):
        return _cells(column.cast(pa.int32()).cast(pa.int64()), 8)
    if types.is_timestamp(kind):
        return _cells(column.cast(pa.int64()), 8)
    # Other types cannot be a key of MySQL.
    return [repr(value).encode() + b"\0" for value in column.to_pylist()]


def _cells(column: pa.ChunkedArray, width: int) -> list[bytes]:
    data = column.to_numpy().tobytes()
    return [data[at : at + width] for at in range(0, len(data), width)]
