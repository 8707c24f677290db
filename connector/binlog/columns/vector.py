"""VECTOR (9.0): a length as in BLOB, then 32-bit floats, little-endian.

https://dev.mysql.com/doc/refman/9.0/en/vector.html
"""

from __future__ import annotations

from struct import unpack
from typing import TYPE_CHECKING

from connector.binlog.columns.floats import require_finite
from connector.binlog.columns.strings import require_blob_length
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column
    from connector.payload import PayloadReader

_FLOAT_LENGTH = 4


def vector_reader(column: Column) -> Callable[[PayloadReader], list[float]]:
    """Return the function that reads a VECTOR as its numbers, widened to 64 bits."""
    prefix = require_blob_length(column)

    def read(image: PayloadReader) -> list[float]:
        stored = image.read_bytes(image.read_uint(prefix))
        count, rest = divmod(len(stored), _FLOAT_LENGTH)
        if rest:
            reason = f"a VECTOR of {len(stored)} bytes is not a row of 32-bit floats"
            raise DecodeError(reason)
        return [require_finite(number) for number in unpack(f"<{count}f", stored)]

    return read
