"""Avro object container files, as far as Iceberg's manifests need them, written.

```
file    "Obj" 1, map of metadata, sync (16 bytes), then for each block:
        number of rows, size, rows (compressed with deflate), sync
```

Records are tuples, and so are the pairs of a map. A union is always of null and one type. Rows, and
parts of rows, are encoded once, and can be written to many files.

https://avro.apache.org/docs/1.12.0/specification/
"""

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from stream_jobs.iceberg.avro_reader import DAY_0, EXACT, LOW_BITS, MAGIC, SYNC_BYTES, AvroType

_Writer = Callable[[Any, bytearray], object]


def unscaled(value: Decimal, scale: int) -> int:
    """Return the integer that stands for a DECIMAL with `scale` digits after its point."""
    return int(value.scaleb(scale, EXACT))


def _write_long(value: int, out: bytearray) -> None:
    value = (value << 1) ^ (value >> 63)
    while value > LOW_BITS:
        out.append(value & LOW_BITS | LOW_BITS + 1)
        value >>= 7
    out.append(value)


def _write_bytes(value: bytes, out: bytearray) -> None:
    _write_long(len(value), out)
    out += value


def _write_text(value: str, out: bytearray) -> None:
    _write_bytes(value.encode(), out)


def _write_encoded(value: bytes, out: bytearray) -> None:
    out += value


# In place of the type of a field, or of several fields in a row: its values are encoded.
ENCODED: Final = "encoded"
_WRITERS: Final[dict[str, _Writer]] = {
    ENCODED: _write_encoded,
    "int": _write_long,
    "long": _write_long,
    "bytes": _write_bytes,
    "boolean": lambda value, out: out.append(value),
    "string": _write_text,
}


def _writer(kind: AvroType) -> _Writer:
    """Return what appends a value of a type to a buffer."""
    if isinstance(kind, str):
        return _WRITERS[kind]
    if isinstance(kind, list):
        return _nullable_writer(_writer(kind[1]))
    if kind["type"] == "record":
        return _record_writer([_writer(field["type"]) for field in kind["fields"]])
    if kind["type"] == "array":
        return _array_writer(_writer(kind["items"]))
    if kind["logicalType"] == "date":
        return lambda value, out: _write_long((value - DAY_0).days, out)
    scale, size = kind["scale"], kind["size"]

    def write_decimal(value: Decimal, out: bytearray) -> None:
        number = unscaled(Decimal(value), scale)
        out += number.to_bytes(size, "big", signed=True)

    return write_decimal


def _nullable_writer(write: _Writer) -> _Writer:
    def write_union(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(2)
            write(value, out)

    return write_union


def _record_writer(fields: Sequence[_Writer]) -> _Writer:
    def write_record(values: Sequence[Any], out: bytearray) -> None:
        for write, value in zip(fields, values, strict=True):
            write(value, out)

    return write_record


def _array_writer(write: _Writer) -> _Writer:
    def write_array(values: Sequence[Any], out: bytearray) -> None:
        if values:
            _write_long(len(values), out)
            for value in values:
                write(value, out)
        out.append(0)

    return write_array


_PAIR: Final = {
    "type": "record",
    "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "bytes"}],
}
_write_head: Final = _array_writer(_writer(_PAIR))


class Codec:
    """Writes rows of one type."""

    def __init__(self, schema: AvroType, given: AvroType | None = None) -> None:
        """Write rows of `schema`; they are given as `given`, if parts of them are encoded."""
        self._text = json.dumps(schema, separators=(",", ":"))
        self._write = _writer(schema if given is None else given)

    def encoded(self, row: Sequence[Any]) -> bytes:
        """Return a row as files have it."""
        out = bytearray()
        self._write(row, out)
        return bytes(out)

    def file(self, metadata: Mapping[str, str], rows: Sequence[bytes]) -> bytes:
        """Return a file with one block of encoded `rows`, and with `metadata` in its head."""
        head = {"avro.schema": self._text, "avro.codec": "deflate"} | dict(metadata)
        out, sync = bytearray(MAGIC), os.urandom(SYNC_BYTES)
        _write_head([(name, text.encode()) for name, text in head.items()], out)
        out += sync
        if rows:
            _write_long(len(rows), out)
            # Raw: without the head and the checksum of zlib.
            _write_bytes(zlib.compress(b"".join(rows), 1)[2:-4], out)
            out += sync
        return bytes(out)
