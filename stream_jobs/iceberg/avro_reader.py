"""Avro object container files of any writer, read.

Records are tuples where only our own files are read, and else dicts by the names of their fields.
Blocks may be compressed by deflate, snappy or Zstandard.

https://avro.apache.org/docs/1.12.0/specification/
"""

import datetime as dt
import json
import zlib
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any, Final

import pyarrow as pa
import zstandard

# A type as JSON has it.
AvroType = Any
_Reader = Callable[["_Input"], Any]
# Makes the reader of a record of its names and the readers of its fields.
_Record = Callable[[Sequence[str], Sequence[_Reader]], _Reader]

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
# Of each byte of a number; the highest bit says that another byte follows.
LOW_BITS: Final = 0x7F
DAY_0: Final = dt.date(1970, 1, 1)
# Any value of 38 digits is exact.
EXACT: Final = Context(prec=80)
_CHECKSUM_BYTES: Final = 4


class _Input:
    """Bytes that are read from the start."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    @property
    def has_more(self) -> bool:
        return self._place < len(self._content)

    def take(self, size: int) -> bytes:
        end = self._place + size
        if not 0 <= size <= len(self._content) - self._place:
            raise ValueError(size)
        part, self._place = self._content[self._place : end], end
        return part

    def long(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & LOW_BITS) << shift
            if byte <= LOW_BITS:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def bytes(self) -> bytes:
        return self.take(self.long())

    def text(self) -> str:
        return self.bytes().decode()

    def count(self) -> int:
        """Return how many values the next block of an array or a map has; 0 at its end."""
        count = self.long()
        if count < 0:
            self.long()  # the size of the block in bytes
        return abs(count)


_READERS: Final[dict[str, _Reader]] = {
    "null": lambda _: None,
    "int": _Input.long,
    "long": _Input.long,
    "bytes": _Input.bytes,
    "boolean": lambda source: source.take(1) == b"\x01",
    "string": _Input.text,
    # No field that is needed has one.
    "float": lambda source: source.take(4),
    "double": lambda source: source.take(8),
}


class _Schema:
    """Makes readers of types; a type may be named before."""

    def __init__(self, record: _Record) -> None:
        self._record = record
        self._named: dict[str, _Reader] = {}

    def reader(self, kind: AvroType) -> _Reader:
        """Return what reads a value of a type; raises KeyError for none of Avro's."""
        if isinstance(kind, str):
            return _READERS[kind] if kind in _READERS else self._named[kind]
        if isinstance(kind, list):
            branches = {place: self.reader(branch) for place, branch in enumerate(kind)}
            return lambda source: branches[source.long()](source)
        own = self._complex(kind)
        if "name" in kind:
            self._named[kind["name"]] = own
        return own

    def _complex(self, kind: dict[str, Any]) -> _Reader:
        match kind["type"]:
            case "record":
                names = [field["name"] for field in kind["fields"]]
                return self._record(names, [self.reader(f["type"]) for f in kind["fields"]])
            case "array":
                return _array_reader(self.reader(kind["items"]))
            case "map":
                pairs = _array_reader(_tuples((), [_Input.text, self.reader(kind["values"])]))
                return lambda source: dict(pairs(source))
            case "enum":
                symbols = kind["symbols"]
                return lambda source: symbols[source.long()]
            case "fixed":
                size = kind["size"]
                return _logical(kind, lambda source: source.take(size))
            case other:
                return _logical(kind, self.reader(other))


def _logical(kind: dict[str, Any], read: _Reader) -> _Reader:
    """Return what reads dates and decimals as such, and other values as `read` does."""
    if kind.get("logicalType") == "date":
        return lambda source: DAY_0 + dt.timedelta(days=read(source))
    if kind.get("logicalType") == "decimal":
        scale = kind.get("scale", 0)

        def read_decimal(source: _Input) -> Decimal:
            number = int.from_bytes(read(source), "big", signed=True)
            return Decimal(number).scaleb(-scale, EXACT)

        return read_decimal
    return read


def _tuples(_: Sequence[str], fields: Sequence[_Reader]) -> _Reader:
    return lambda source: tuple(read(source) for read in fields)


def _dicts(names: Sequence[str], fields: Sequence[_Reader]) -> _Reader:
    pairs = list(zip(names, fields, strict=True))
    return lambda source: {name: read(source) for name, read in pairs}


def _array_reader(read: _Reader) -> _Reader:
    def read_array(source: _Input) -> list[Any]:
        values: list[Any] = []
        while count := source.count():
            values += [read(source) for _ in range(count)]
        return values

    return read_array


_read_head: Final = _array_reader(_tuples((), [_Input.text, _Input.bytes]))


def _snappy(block: bytes) -> bytes:
    """Return the content of a block, whose first number is its size."""
    compressed = block[:-_CHECKSUM_BYTES]
    size = shift = 0
    for byte in compressed:
        size |= (byte & LOW_BITS) << shift
        shift += 7
        if byte <= LOW_BITS:
            break
    content: bytes = pa.decompress(compressed, size, "snappy", asbytes=True)
    return content


_CODECS: Final[dict[bytes, Callable[[bytes], bytes]]] = {
    b"null": bytes,
    b"deflate": lambda block: zlib.decompress(block, -zlib.MAX_WBITS),
    b"snappy": _snappy,
    b"zstandard": lambda block: zstandard.ZstdDecompressor().decompressobj().decompress(block),
}


def read_file(content: bytes) -> list[tuple[Any, ...]]:
    """Return the rows of a file as tuples.

    Raises ValueError, KeyError or zlib.error for other content.
    """
    return _rows(content, _tuples)


def read_records(content: bytes) -> list[dict[str, Any]]:
    """Return the rows of a file as dicts; raises as `read_file`."""
    return _rows(content, _dicts)


def _rows(content: bytes, record: _Record) -> list[Any]:
    source = _Input(content)
    if source.take(len(MAGIC)) != MAGIC:
        raise ValueError(content[: len(MAGIC)])
    head = dict(_read_head(source))
    read = _Schema(record).reader(json.loads(head["avro.schema"]))
    decompress = _CODECS[head.get("avro.codec", b"null")]
    source.take(SYNC_BYTES)
    rows: list[Any] = []
    while source.has_more:
        count = source.long()
        block = _Input(decompress(source.bytes()))
        rows += [read(block) for _ in range(count)]
        source.take(SYNC_BYTES)
    return rows
