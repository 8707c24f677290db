"""A cell of a row image becomes its JSON text without a value in between, by one step a column.

The forms are those of `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.columns.bits import BitReader, EnumReader, SetReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.geometry import GeometryReader
from connector.binlog.columns.strings import CharacterReader
from connector.digits import put_uint
from connector.envelope.values import not_text
from connector.json_strings import QUOTE, put_utf8, put_written, quoted

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.envelope.contract import SchemaColumn
    from connector.payload import PayloadReader

_DATE_LENGTH: Final = 10
_T: Final = 0x54
_Z: Final = 0x5A
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D

_BINARY: Final = ("binary", "varbinary", "blob")
_NUMBERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "float", "double", "year", "vector"}
)


class CellWriter:
    """Writes the cells of one column that are not NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Take the cell at the front of `image`, and append its JSON.

        Raises DecodeError, or UnsupportedChange for what the envelope has no form for.
        """
        raise NotImplementedError


def cell_writer(column: SchemaColumn, reader: ColumnReader) -> CellWriter:
    """Return what writes the cells of `column`, which `reader` reads."""
    name, kind = column["name"], column["type"]
    if isinstance(reader, CharacterReader):
        if kind in _BINARY:
            return _BinaryWriter(reader)
        return _Utf8Writer(reader, name) if reader.utf8 else _TextWriter(reader, name)
    if isinstance(reader, EnumReader):
        return _EnumWriter(reader)
    if isinstance(reader, SetReader):
        return _SetWriter(reader, name)
    if isinstance(reader, GeometryReader):
        return _GeometryWriter(reader)
    assert isinstance(reader, PrintedReader)
    if kind == "timestamp":
        return _TimestampWriter(reader)
    if kind == "json":
        return _DocumentWriter(reader)
    if isinstance(reader, BitReader) and column.get("length") == 1:
        return _FlagWriter(reader)
    if kind in _NUMBERS or (kind == "bigint" and not column.get("unsigned", False)):
        return _NumberWriter(reader)
    return _QuotedWriter(reader)


@final
class _NumberWriter(CellWriter):
    """What is JSON as it is printed."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        self._reader.put(image, out)


@final
class _QuotedWriter(CellWriter):
    """Digits and signs that are not a number of JSON: they need no escape."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        self._reader.put(image, out)
        out.append(u8(QUOTE))


@final
class _TimestampWriter(CellWriter):
    """TIMESTAMP, which is in UTC."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        start: i64 = len(out)
        self._reader.put(image, out)
        out[start + _DATE_LENGTH] = u8(_T)
        out.append(u8(_Z))
        out.append(u8(QUOTE))


@final
class _FlagWriter(CellWriter):
    """BIT(1)."""

    __slots__ = ("_reader",)

    def __init__(self, reader: BitReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(b"true" if self._reader.read(image) else b"false")


@final
class _DocumentWriter(CellWriter):
    """JSON, as a string that holds the document."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = BytesWriter()
        self._reader.put(image, text)
        out.append(u8(QUOTE))
        put_written(out, text)
        out.append(u8(QUOTE))


@final
class _Utf8Writer(CellWriter):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_name", "_reader")

    def __init__(self, reader: CharacterReader, name: str) -> None:
        self._reader = reader
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        data = self._reader.read_bytes(image)
        out.append(u8(QUOTE))
        if not put_utf8(out, data, 0, len(data)):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class _TextWriter(CellWriter):
    """Text in another character set."""

    __slots__ = ("_name", "_reader")

    def __init__(self, reader: CharacterReader, name: str) -> None:
        self._reader = reader
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = self._reader.text_of(self._reader.read_bytes(image))
        if text is None:
            raise not_text(self._name)
        out.write(quoted(text))


@final
class _BinaryWriter(CellWriter):
    """Bytes, as base64."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        out.write(b64encode(self._reader.read_bytes(image)))
        out.append(u8(QUOTE))


@final
class _EnumWriter(CellWriter):
    """ENUM: the label, or the index that has none."""

    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [quoted(label) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        index = self._reader.read_index(image)
        if index < len(self._labels):
            out.write(self._labels[index])
            return
        out.write(b'{"index":')
        put_uint(out, index)
        out.append(u8(_CLOSE))


@final
class _SetWriter(CellWriter):
    """SET: the labels, with commas between them."""

    __slots__ = ("_labels", "_name", "_reader")

    def __init__(self, reader: SetReader, name: str) -> None:
        self._reader = reader
        self._name = name
        labels = reader.labels
        self._labels = None if labels is None else [quoted(label)[1:-1] for label in labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        mask = self._reader.read_mask(image)
        if self._labels is None:
            raise not_text(self._name)
        out.append(u8(QUOTE))
        several = False
        for label in self._labels:
            if mask & 1:
                if several:
                    out.append(u8(_COMMA))
                out.write(label)
                several = True
            mask >>= 1
        out.append(u8(QUOTE))


@final
class _GeometryWriter(CellWriter):
    """A geometry of any kind."""

    __slots__ = ("_reader",)

    def __init__(self, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        out.write(b'{"wkb":"')
        out.write(b64encode(stored.read_rest()))
        out.write(b'","srid":')
        put_uint(out, srid)
        out.append(u8(_CLOSE))
