"""VECTOR (9.0): a length as in BLOB, then 32-bit floats, little-endian.

https://dev.mysql.com/doc/refman/9.0/en/vector.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import read_f32_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.floats import put_float32, require_finite
from connector.binlog.columns.strings import require_blob_length
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value
    from connector.codec.payload import PayloadReader

_FLOAT_LENGTH: Final = 4

_OPENING: Final = 91
_COMMA: Final = 44
_CLOSING: Final = 93


def vector_reader(column: Column) -> VectorReader:
    """Return what reads a VECTOR."""
    return VectorReader(require_blob_length(column))


@final
class VectorReader(PrintedReader):
    """A VECTOR as its numbers, widened to 64 bits; as text `[1.0,-2.5]`."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read values behind a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> Value:
        """Return the numbers."""
        stored = self._read_stored(image)
        return [
            require_finite(read_f32_le(stored, at)) for at in range(0, len(stored), _FLOAT_LENGTH)
        ]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the numbers, each with the fewest digits that read back to the same 32 bits."""
        stored = self._read_stored(image)
        out.append(u8(_OPENING))
        at: i64 = 0
        while at < len(stored):
            if at:
                out.append(u8(_COMMA))
            put_float32(out, stored, at)
            at += _FLOAT_LENGTH
        out.append(u8(_CLOSING))

    def _read_stored(self, image: PayloadReader) -> bytes:
        stored = image.read_bytes(image.read_length(self._prefix))
        if len(stored) % _FLOAT_LENGTH:
            raise DecodeError(log_values.VECTOR_LENGTH, length=len(stored))
        return stored

    def skip(self, image: PayloadReader) -> None:
        """Move behind the next value."""
        image.skip(image.read_length(self._prefix))
