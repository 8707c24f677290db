"""Cells whose JSON is the server's printed form: numbers, dates and times, documents.

The forms are those of `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, u8

from connector.binlog.columns.bits import BitReader
from connector.binlog.columns.json import DocumentReader
from connector.codec.json_strings import QUOTE
from connector.envelope.cells.cell_writer import CellWriter

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column_reader import PrintedReader
    from connector.codec.payload import PayloadReader
    from connector.contract import SchemaColumn

_DATE_LENGTH: Final = 10
_T: Final = 0x54
_Z: Final = 0x5A

_NUMBERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "float", "double", "year", "vector"}
)


def printed_writer(column: SchemaColumn, reader: PrintedReader) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` prints."""
    kind = column["type"]
    if kind in _NUMBERS or (kind == "bigint" and not column.get("unsigned", False)):
        return NumberWriter(reader)
    if kind == "timestamp":
        return _TimestampWriter(reader)
    if isinstance(reader, DocumentReader):
        return DocumentWriter(reader)
    if isinstance(reader, BitReader) and column.get("length") == 1:
        return _FlagWriter(reader)
    return QuotedWriter(reader)


@final
class NumberWriter(CellWriter):
    """Numbers whose printed form is a JSON number."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number as it is printed."""
        self._reader.put(image, out)


@final
class QuotedWriter(CellWriter):
    """Digits and signs that are not a JSON number; they need quotes but no escape."""

    __slots__ = ("_reader",)

    def __init__(self, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the printed form in quotes."""
        out.append(u8(QUOTE))
        self._reader.put(image, out)
        out.append(u8(QUOTE))


@final
class _TimestampWriter(CellWriter):
    """TIMESTAMP, in UTC."""

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
class DocumentWriter(CellWriter):
    """JSON, as a string with the text of the document."""

    __slots__ = ("_reader",)

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text of the document, escaped, in quotes."""
        out.append(u8(QUOTE))
        self._reader.put_in_string(image, out)
        out.append(u8(QUOTE))
