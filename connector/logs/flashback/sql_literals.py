"""SQL literals of stored values, which the server reads back to the same value.

They are written from the bytes of row images, by one writer for each family of columns. Text is
written in the character set of the connection if it can be, else as bytes with the column's
character set: no conversion changes it. Therefore text columns are read as bytes (`raw_columns`).
ENUM and SET are written as numbers, floats as the exact DOUBLE, geometries and vectors as their
stored bytes.

https://dev.mysql.com/doc/refman/8.4/en/literals.html
https://dev.mysql.com/doc/refman/8.4/en/charset-introducer.html
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.character_sets import BINARY_COLLATION
from connector.binlog.columns import floats
from connector.binlog.columns.cell_writers import CellWriter, EnumWriter, NumberWriter, SetWriter
from connector.binlog.columns.column import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    PRINTED,
    Column,
    ColumnReader,
    Family,
)
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.json_document import put_json
from connector.binlog.columns.json_scalars import double_text
from connector.binlog.columns.strings import CharacterReader, StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import (
    QUOTE,
    SQL_ESCAPES,
    SQL_TEXTS,
    ansi_identifier,
    put_text,
    sql_text,
)
from connector.binlog.text_writer import put_ascii
from connector.foundation.errors import UnsupportedChange
from connector.logs import undo_errors
from connector.logs.dump.text.values import bits, in_quotes

# Character sets whose bytes are written as text of the connection, which is utf8mb4.
UTF8_CHARSETS = ("utf8mb4", "utf8mb3", "ascii")
# Character sets of which that is true for ASCII characters.
_ASCII_LIKE = ("latin1", "latin2", "cp1250", "cp1251", "cp1257")

_INT64_MIN = -(1 << 63)
_UINT64_MAX = (1 << 64) - 1


def raw_columns(columns: list[Column]) -> list[Column]:
    """Return the columns with text as bytes and labels as numbers."""
    return [
        replace(
            column,
            collation=column.collation if column.collation == BINARY_COLLATION else None,
            labels=None,
        )
        for column in columns
    ]


def literal_writer(column: Column, reader: ColumnReader) -> CellWriter:
    """Return the writer for the values of `column`.

    `reader` reads text as bytes and labels as numbers (`raw_columns`). The writer raises
    UnsupportedChange for a JSON document that the server would read back as another one.
    """
    family = column.family
    assert family is not None
    return LITERALS[family](column, reader)


def condition(column: Column, reader: ColumnReader) -> tuple[bytes, CellWriter]:
    """Return what comes before the value in the condition that the column holds it, and its writer.

    Text is compared byte by byte, because a collation may treat different texts as equal.
    """
    name = ansi_identifier(column.name or "")
    family = column.family
    if family is Family.JSON:
        assert isinstance(reader, DocumentReader)
        return f"CAST({name} AS CHAR) COLLATE utf8mb4_bin = ".encode(), _JsonText(reader)
    if family is Family.YEAR:
        # Otherwise 0 would be read as the year 2000.
        return f"{name} + 0 = ".encode(), literal_writer(column, reader)
    if family in _STORED:
        return f"CAST({name} AS BINARY) = ".encode(), _BytesLiteral(column, reader)
    return f"{name} = ".encode(), literal_writer(column, reader)


def string_literal(text: str) -> str:
    """Return a string literal of the connection's character set.

    A client that reads the SQL in another one finds its end, too: in gbk, big5, cp932, sjis and
    gb18030, a backslash may be the second byte of a character.
    """
    escaped = text.translate(SQL_ESCAPES)
    if escaped == text or text.isascii():
        return f"'{escaped}'"
    return sql_text(text)


def _string(value: bytes, charset: str | None) -> str:
    if charset is None or charset == "binary":
        return _hex(value)
    if charset in UTF8_CHARSETS or (charset in _ASCII_LIKE and value.isascii()):
        try:
            return string_literal(value.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    return f"_{charset} {_hex(value)}"


def _hex(value: bytes) -> str:
    return f"X'{value.hex()}'"


def _require_plain_json(text: str) -> None:
    """Refuse a document with a number that the server would read as a different number.

    The server reads a DECIMAL in the text of a document as a DOUBLE.
    """

    def check_float(number: str) -> None:
        if double_text(float(number)) != number:
            _refuse(number)

    def check_int(number: str) -> None:
        if not _INT64_MIN <= int(number) <= _UINT64_MAX:
            _refuse(number)

    json.loads(text, parse_float=check_float, parse_int=check_int)


def _refuse(number: str) -> None:
    raise UnsupportedChange(undo_errors.JSON_DECIMAL, length=len(number))


# The positive numbers that Python writes without an exponent.
_PLAIN_MIN: Final = 1e-4
_PLAIN_MAX: Final = 1e16
# The memory of a large document must be freed.
_KEPT_BYTES_MAX: Final = 1024 * 1024


@final
class _TextLiteral(CellWriter):
    """Text that is stored in the character set of the connection."""

    __slots__ = ("_charset", "_prefix")

    def __init__(self, column: Column, reader: StringReader) -> None:
        self._charset = column.charset
        self._prefix: i64 = reader.prefix

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        start = image.take(image.read_length(self._prefix))
        written: i64 = len(out)
        out.append(u8(QUOTE))
        data, end = image.data, image.offset
        is_text = put_text(out, data, start, end, SQL_TEXTS)
        # An escape is longer than its character; see `string_literal`.
        is_escaped = len(out) - written - 1 != end - start
        if is_text and (not is_escaped or data[start:end].isascii()):
            out.append(u8(QUOTE))
        else:
            out.truncate(written)
            out.write(_string(data[start:end], self._charset).encode())


@final
class _CharsetLiteral(CellWriter):
    """Text in another character set, or compressed."""

    __slots__ = ("_charset", "_reader")

    def __init__(self, column: Column, reader: CharacterReader) -> None:
        self._charset = column.charset
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(_string(self._reader.read_bytes(image), self._charset).encode())


@final
class _BytesLiteral(CellWriter):
    """The bytes of strings, geometries and vectors, as the column stores them."""

    __slots__ = ("_prefix", "_reader")

    def __init__(self, column: Column, reader: ColumnReader) -> None:
        self._reader = reader if isinstance(reader, CharacterReader) else None
        self._prefix: i64 = column.metadata

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        reader = self._reader
        if reader is None:
            stored = image.read_bytes(image.read_length(self._prefix))
        else:
            stored = reader.read_bytes(image)
        out.write(_hex(stored).encode())


@final
class _FloatLiteral(CellWriter):
    """FLOAT and DOUBLE: with an exponent, a number is a DOUBLE, which holds each FLOAT."""

    __slots__ = ("_is_double", "_reader")

    def __init__(self, column: Column, reader: ColumnReader) -> None:
        self._is_double = column.family is Family.DOUBLE
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        if self._is_double:
            value = read_f64_le(image.data, image.take(floats.FLOAT64_LENGTH))
            if _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
                floats.put_float64_as_python(out, value)
                out.write(b"e0")
                return
            text = repr(floats.require_finite(value))
        else:
            text = repr(self._reader.read(image))
        put_ascii(out, text if "e" in text else f"{text}e0")


@final
class _JsonLiteral(CellWriter):
    """Documents."""

    __slots__ = ("_reader", "_text")

    def __init__(self, _: object, reader: DocumentReader) -> None:
        self._reader = reader
        self._text = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = self._text
        text.truncate(0)
        has_decimal = put_json(text, self._reader.read_document(image))
        document = text.getvalue()
        if has_decimal or not document.isascii():
            # The server may read a number back as another one, and text may need to be bytes.
            _require_plain_json(document.decode())
            out.write(b"CAST(%b AS JSON)" % string_literal(document.decode()).encode())
        else:
            out.write(b"CAST('")
            put_text(out, document, 0, len(document), SQL_TEXTS)
            out.write(b"' AS JSON)")
        if len(document) > _KEPT_BYTES_MAX:
            self._text = BytesWriter()


@final
class _JsonText(CellWriter):
    """The text of documents."""

    __slots__ = ("_reader",)

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(string_literal(self._reader.read_text(image)).encode())


def _text(column: Column, reader: CharacterReader) -> CellWriter:
    if isinstance(reader, StringReader) and column.charset in UTF8_CHARSETS:
        return _TextLiteral(column, reader)
    return _CharsetLiteral(column, reader)


def _number_of_enum(_: object, reader: EnumReader) -> CellWriter:
    return EnumWriter(reader, [])


def _mask_of_set(_: object, reader: SetReader) -> CellWriter:
    return SetWriter(reader, None)


# Compared by their bytes.
_STORED: Final = (*CHARACTERS, *BINARIES, Family.GEOMETRY, Family.VECTOR)

# Any stands for the reader of the family. A TIMESTAMP is in UTC, the time zone of the session.
LITERALS: Final[dict[Family, Callable[[Column, Any], CellWriter]]] = {
    **dict.fromkeys(INTEGERS, NumberWriter),
    **dict.fromkeys(CHARACTERS, _text),
    **dict.fromkeys(BINARIES, _BytesLiteral),
    **dict.fromkeys(PRINTED, in_quotes),
    Family.DECIMAL: NumberWriter,
    Family.FLOAT: _FloatLiteral,
    Family.DOUBLE: _FloatLiteral,
    Family.BIT: bits,
    Family.ENUM: _number_of_enum,
    Family.SET: _mask_of_set,
    Family.YEAR: NumberWriter,
    Family.JSON: _JsonLiteral,
    Family.GEOMETRY: _BytesLiteral,
    Family.VECTOR: _BytesLiteral,
}
