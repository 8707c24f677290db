"""The keys of rows as numbers, and digests of whole rows.

A key that is one integer column is that number. Any other key is the 128-bit hash of its typed
values, in two halves, which can be sorted and searched.

Digests of two rows are equal if all their values are. The digest covers a head, which has the
same length in all rows of the same columns, and the texts:

    head    for each column: 0 for NULL, else 1 (1 byte), then the value (8 bytes, a DECIMAL 16),
            or the length of the text (8)
    texts   in the order of their columns; NULL has none

Two different keys or rows have the same hash once in 10^38 pairs.

https://github.com/Cyan4973/xxHash
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

_LENGTH: Final = struct.Struct("<I")


class Keys(NamedTuple):
    """The keys of many rows."""

    first: NDArray[np.int64]
    second: NDArray[np.int64] | None  # None for integers

    def take(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> "Keys":
        """Return the keys of some rows."""
        return Keys(self.first[places], None if self.second is None else self.second[places])


def is_integer_key(kinds: Sequence[pa.DataType]) -> bool:
    """Return whether keys of columns with these types are numbers, not hashes."""
    return len(kinds) == 1 and pa.types.is_integer(kinds[0])


def keys_of(columns: Sequence[pa.ChunkedArray]) -> Keys:
    """Return the keys of rows; `columns` are those of the key, in key order, without NULL."""
    assert not any(column.null_count for column in columns)
    if is_integer_key([column.type for column in columns]):
        return Keys(columns[0].to_numpy().astype(np.int64, copy=False), None)
    return _key_hashes([_bytes_of(column) for column in columns])


def distinct(keys: Keys) -> tuple[Keys, NDArray[np.intp]]:
    """Return each key once, and for each of `keys` its place among them."""
    if keys.second is None:
        first, places = np.unique(keys.first, return_inverse=True)
        return Keys(first, None), places
    pairs = np.empty(len(keys.first), [("first", "<i8"), ("second", "<i8")])
    pairs["first"], pairs["second"] = keys.first, keys.second
    unique, places = np.unique(pairs, return_inverse=True)
    return Keys(unique["first"].copy(), unique["second"].copy()), places


def _key_hashes(parts: Sequence[list[bytes]]) -> Keys:
    texts = parts[0] if len(parts) == 1 else [b"".join(part) for part in zip(*parts, strict=True)]
    digest = xxhash.xxh3_128_digest
    halves = np.frombuffer(b"".join([digest(text) for text in texts]), "<i8").reshape(-1, 2)
    return Keys(halves[:, 0].copy(), halves[:, 1].copy())


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


# Bytes of values that are copied at a time.
_BYTES: Final = 16 * 1024 * 1024
_TEXT: Final = pa.large_binary()


class _Part(NamedTuple):
    """One column of some rows."""

    head: list[NDArray[np.generic]]  # its words in the heads
    texts: pa.Array | None = None


def digests_of_rows(columns: Sequence[pa.ChunkedArray]) -> Keys:
    """Return the digests of rows; NULL equals NULL, and a zero of a FLOAT the other one."""
    rows, size = len(columns[0]), sum(column.nbytes for column in columns)
    step = -(-rows // (size // _BYTES + 1)) or 1
    hashes = [_hashed(columns, start, step) for start in range(0, rows, step)]
    halves = np.frombuffer(b"".join(hashes), "<i8").reshape(-1, 2)
    return Keys(halves[:, 0].copy(), halves[:, 1].copy())


def _hashed(columns: Sequence[pa.ChunkedArray], start: int, count: int) -> bytes:
    """Return the digests of some rows."""
    parts = [_part(column.slice(start, count)) for column in columns]
    words = [word for part in parts for word in part.head]
    heads = np.empty(len(words[0]), [(str(n), word.dtype) for n, word in enumerate(words)])
    for number, word in enumerate(words):
        heads[str(number)] = word
    width, digest = heads.dtype.itemsize, xxhash.xxh3_128_digest
    texts = [part.texts for part in parts if part.texts is not None]
    if not texts:
        data = heads.tobytes()
        return b"".join([digest(data[at : at + width]) for at in range(0, len(data), width)])
    buffers = [None, pa.py_buffer(heads)]
    first = pa.Array.from_buffers(pa.binary(width), len(heads), buffers).cast(_TEXT)
    joined = pc.binary_join_element_wise(first, *texts, pa.scalar(b"", _TEXT))
    return b"".join([digest(row) for row in joined.to_pylist()])


def _part(column: pa.ChunkedArray) -> _Part:
    kind, types = column.type, pa.types
    are_present = column.is_valid().to_numpy().astype(np.uint8)
    if types.is_string(kind) or types.is_binary(kind):
        return _part_of_texts(are_present, column.cast(_TEXT))
    if types.is_decimal128(kind):
        both = np.concatenate([_words(chunk) for chunk in column.chunks])
        both[are_present == 0] = 0
        return _Part([are_present, both[:, 0], both[:, 1]])
    if types.is_floating(kind):
        # Zero has two signs.
        return _Part([are_present, _filled(column).to_numpy().astype(np.float64) + 0.0])
    if types.is_date(kind):
        column = column.cast(pa.int32())
    if types.is_timestamp(kind):
        column = column.cast(pa.int64())
    if types.is_boolean(kind) or types.is_integer(column.type):
        return _Part([are_present, _filled(column).to_numpy().astype(np.int64)])
    texts = [None if value is None else repr(value).encode() for value in column.to_pylist()]
    return _part_of_texts(are_present, pa.chunked_array([texts], _TEXT))


def _part_of_texts(are_present: NDArray[np.uint8], texts: pa.ChunkedArray) -> _Part:
    one = (texts.fill_null(b"") if texts.null_count else texts).combine_chunks()
    return _Part([are_present, pc.binary_length(one).to_numpy()], one)


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # A column with NULLs would become one of floating numbers.
    return (
        column.fill_null(pa.scalar(0, pa.int8()).cast(column.type)) if column.null_count else column
    )


def _words(decimals: pa.Array) -> NDArray[np.int64]:
    """Return the two words of each decimal; those of NULL may be any."""
    words = np.frombuffer(decimals.buffers()[1], np.int64).reshape(-1, 2)
    return words[decimals.offset : decimals.offset + len(decimals)]
