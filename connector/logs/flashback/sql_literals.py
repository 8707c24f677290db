"""SQL literals of stored values, which the server reads back to the same value.

`literal_writer` writes the values of a column from the bytes of row images, without a Python object
for each value. Text is written in the character set of the connection if it can be, else as bytes
with the column's character set.

`literal` returns the same text for a decoded value. It writes text in the column's own character
set, so that no conversion changes it; therefore text columns are read as bytes (`raw_columns`).
ENUM and SET are written as numbers, floats as the exact DOUBLE, geometries and vectors as their
stored bytes.

https://dev.mysql.com/doc/refman/8.4/en/literals.html
https://dev.mysql.com/doc/refman/8.4/en/charset-introducer.html
"""

import json
from dataclasses import replace
from struct import pack
from typing import Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.character_sets import BINARY_COLLATION
from connector.binlog.columns import floats, temporal
from connector.binlog.columns.column import (
    Column,
    ColumnReader,
    ColumnType,
    EnumIndex,
    Geometry,
    PrintedReader,
    Value,
)
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.integers import EnumReader, IntegerReader, YearReader
from connector.binlog.columns.json import JsonReader
from connector.binlog.columns.json_document import put_json
from connector.binlog.columns.json_scalars import double_text
from connector.binlog.columns.strings import StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.sql_text import (
    QUOTE,
    SQL_ESCAPES,
    SQL_TEXTS,
    ansi_identifier,
    put_text,
    sql_text,
)
from connector.binlog.text_writer import put_uint
from connector.foundation.errors import DecodeError
from connector.logs import undo_errors
from connector.logs.dump.text.string_values import ValueWriter
from connector.logs.dump.text.values import NumberText, TemporalText

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


def literal(column: Column, value: Value) -> str:
    """Return the literal of a value that was read from the log's `column`, one of `raw_columns`.

    Raises DecodeError for a JSON document that the server would read back as another one.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return _string(value, column.charset)
    if isinstance(value, str):
        return _text(column, value)
    if isinstance(value, int):
        if column.real_type == ColumnType.BIT:
            return f"b'{value:0{column.length}b}'"
        return str(value)
    if isinstance(value, float):
        # With an exponent, a number is a DOUBLE, and a FLOAT is widened to one without change.
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    if isinstance(value, EnumIndex):
        return str(value.index)
    return _hex(stored_bytes(value))


def matches(column: Column, value: Value) -> str:
    """Return the condition that the column holds exactly `value`, NULL included.

    Text is compared byte by byte, because a collation may treat different texts as equal.
    """
    name = ansi_identifier(column.name or "")
    if value is None:
        return f"{name} IS NULL"
    if isinstance(value, (bytes, list, Geometry)):
        return f"CAST({name} AS BINARY) = {_hex(stored_bytes(value))}"
    if column.real_type == ColumnType.JSON:
        assert isinstance(value, str)
        return f"CAST({name} AS CHAR) COLLATE utf8mb4_bin = {string_literal(value)}"
    if column.real_type == ColumnType.YEAR:
        # Otherwise 0 would be read as the year 2000.
        return f"{name} + 0 = {value}"
    return f"{name} = {literal(column, value)}"


def stored_bytes(value: Value) -> bytes:
    """Return the bytes of a string, a geometry or a vector as the column stores them."""
    if isinstance(value, Geometry):
        return value.srid.to_bytes(4, "little") + value.wkb
    if isinstance(value, list):
        return pack(f"<{len(value)}f", *value)
    assert isinstance(value, bytes)
    return value


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


def _text(column: Column, value: str) -> str:
    if column.real_type == ColumnType.ENUM:
        # Without labels the only text is '', the error value, which is index 0.
        return "0"
    if column.real_type == ColumnType.JSON:
        _require_plain_json(value)
        return f"CAST({string_literal(value)} AS JSON)"
    if column.real_type == ColumnType.NEWDECIMAL:
        return value
    return string_literal(value)


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
    raise DecodeError(undo_errors.JSON_DECIMAL, length=len(number))


# The positive numbers that Python writes without an exponent.
_PLAIN_MIN: Final = 1e-4
_PLAIN_MAX: Final = 1e16
# The memory of a large document must be freed.
_KEPT_BYTES_MAX: Final = 1024 * 1024

_NUMBERS = (IntegerReader, DecimalReader, YearReader)
_TIMES = (
    temporal.DateReader,
    temporal.Timestamp2Reader,
    temporal.Datetime2Reader,
    temporal.Time2Reader,
    temporal.TimestampReader,
    temporal.DatetimeReader,
    temporal.TimeReader,
)


def literal_writer(column: Column, reader: ColumnReader) -> ValueWriter:
    """Return the writer for the values of `column`.

    `reader` reads text as bytes and labels as numbers (`raw_columns`). The writer raises
    DecodeError also for a value that has no literal.
    """
    if isinstance(reader, PrintedReader):
        if isinstance(reader, _NUMBERS):
            return NumberText(reader)
        if isinstance(reader, _TIMES):
            # A TIMESTAMP is in UTC, the time zone of the session.
            return TemporalText(reader)
        if isinstance(reader, floats.DoubleReader):
            return _DoubleLiteral(column)
        if isinstance(reader, JsonReader):
            return _JsonLiteral(column, reader)
    elif isinstance(reader, EnumReader):
        return _EnumLiteral(reader)
    elif isinstance(reader, StringReader) and column.charset in UTF8_CHARSETS:
        return _TextLiteral(column, reader)
    return _OtherLiteral(column, reader)


@final
class _TextLiteral(ValueWriter):
    """Text that is stored in the character set of the connection."""

    __slots__ = ("_column", "_prefix")

    def __init__(self, column: Column, reader: StringReader) -> None:
        self._column = column
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
            out.write(literal(self._column, data[start:end]).encode())


@final
class _DoubleLiteral(ValueWriter):
    """Numbers with an exponent, which makes them a DOUBLE."""

    __slots__ = ("_column",)

    def __init__(self, column: Column) -> None:
        self._column = column

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        value = read_f64_le(image.data, image.take(floats.FLOAT64_LENGTH))
        if _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
            floats.put_float64_as_python(out, value)
            out.write(b"e0")
        else:
            out.write(literal(self._column, floats.require_finite(value)).encode())


@final
class _EnumLiteral(ValueWriter):
    """The numbers of labels."""

    __slots__ = ("_reader",)

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_uint(out, self._reader.read_index(image))


@final
class _JsonLiteral(ValueWriter):
    """Documents."""

    __slots__ = ("_column", "_reader", "_text")

    def __init__(self, column: Column, reader: JsonReader) -> None:
        self._column = column
        self._reader = reader
        self._text = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = self._text
        text.truncate(0)
        has_decimal = put_json(text, self._reader.read_document(image))
        document = text.getvalue()
        if has_decimal or not document.isascii():
            # The server may read a number back as another one, and text may need to be bytes.
            out.write(literal(self._column, document.decode()).encode())
        else:
            out.write(b"CAST('")
            put_text(out, document, 0, len(document), SQL_TEXTS)
            out.write(b"' AS JSON)")
        if len(document) > _KEPT_BYTES_MAX:
            self._text = BytesWriter()


@final
class _OtherLiteral(ValueWriter):
    """All other values."""

    __slots__ = ("_column", "_reader")

    def __init__(self, column: Column, reader: ColumnReader) -> None:
        self._column = column
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(literal(self._column, self._reader.read(image)).encode())
