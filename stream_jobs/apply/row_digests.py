"""Whole rows as digests of 128 bits, which are equal if all values are.

What is hashed of a row; its head has the same length in all rows of the same columns:

    head    for each column: 0 for NULL, else 1 (1 byte), then the value (8 bytes, a DECIMAL 16),
            or the length of the text (8)
    texts   in the order of their columns; NULL has none

Two different rows have the same digest once in 10^38 pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from stream_jobs.apply.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
    found = [_hashed(columns, start, step) for start in range(0, rows, step)]
    halves = np.frombuffer(b"".join(found), "<i8").reshape(-1, 2)
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
