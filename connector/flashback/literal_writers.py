"""Values of row images become SQL literals without a Python object; one writer for each column.

They write what `sql_values.literal` returns. Text is written in the character set of the
connection if it can be, else as bytes with the column's character set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.bits import EnumReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.floats import (
    FLOAT64_LENGTH,
    DoubleReader,
    put_float64_as_python,
    require_finite,
)
from connector.binlog.columns.integers import IntegerReader, YearReader
from connector.binlog.columns.json import JsonReader
from connector.binlog.columns.json_document import put_json
from connector.binlog.columns.old_temporal import DatetimeReader, TimeReader, TimestampReader
from connector.binlog.columns.strings import StringReader
from connector.binlog.columns.temporal import (
    DateReader,
    Datetime2Reader,
    Time2Reader,
    Timestamp2Reader,
)
from connector.codec.digits import put_uint
from connector.codec.quoted_text import QUOTE, SQL_TEXTS, put_text
from connector.dump.text.value_text import ValueText
from connector.dump.text.value_texts import PrintedText, QuotedText
from connector.flashback.sql_values import UTF8_CHARSETS, literal

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader

# The positive numbers that Python writes without an exponent.
_PLAIN_MIN: Final = 1e-4
_PLAIN_MAX: Final = 1e16
# The memory of a large document must be freed.
_KEPT_BYTES_MAX: Final = 1024 * 1024

_NUMBERS = (IntegerReader, DecimalReader, YearReader)
_TIMES = (
    DateReader,
    Timestamp2Reader,
    Datetime2Reader,
    Time2Reader,
    TimestampReader,
    DatetimeReader,
    TimeReader,
)


def literal_writer(column: Column, reader: ColumnReader) -> ValueText:
    """Return the writer for the values of `column`.

    `reader` reads text as bytes and labels as numbers (`raw_columns`). The writer raises
    DecodeError also for a value that has no literal.
    """
    if isinstance(reader, PrintedReader):
        if isinstance(reader, _NUMBERS):
            return PrintedText(reader)
        if isinstance(reader, _TIMES):
            # A TIMESTAMP is in UTC, the time zone of the session.
            return QuotedText(reader)
        if isinstance(reader, DoubleReader):
            return _DoubleLiteral(column)
        if isinstance(reader, JsonReader):
            return _JsonLiteral(column, reader)
    elif isinstance(reader, EnumReader):
        return _EnumLiteral(reader)
    elif isinstance(reader, StringReader) and column.charset in UTF8_CHARSETS:
        return _TextLiteral(column, reader)
    return _OtherLiteral(column, reader)


@final
class _TextLiteral(ValueText):
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
class _DoubleLiteral(ValueText):
    """Numbers with an exponent, which makes them a DOUBLE."""

    __slots__ = ("_column",)

    def __init__(self, column: Column) -> None:
        self._column = column

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        value = read_f64_le(image.data, image.take(FLOAT64_LENGTH))
        if _PLAIN_MIN <= abs(value) < _PLAIN_MAX:
            put_float64_as_python(out, value)
            out.write(b"e0")
        else:
            out.write(literal(self._column, require_finite(value)).encode())


@final
class _EnumLiteral(ValueText):
    """The numbers of labels."""

    __slots__ = ("_reader",)

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        put_uint(out, self._reader.read_index(image))


@final
class _JsonLiteral(ValueText):
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
class _OtherLiteral(ValueText):
    """All other values."""

    __slots__ = ("_column", "_reader")

    def __init__(self, column: Column, reader: ColumnReader) -> None:
        self._column = column
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(literal(self._column, self._reader.read(image)).encode())
