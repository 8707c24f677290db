"""Values of row images become SQL literals without a Python object; one writer for each column.

They write what `sql_values.literal` returns. Text is written in the character set of the
connection if it can be, else as bytes with the column's character set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from mypy_extensions import i64, u8

from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.integers import IntegerReader, YearReader
from connector.binlog.columns.old_temporal import DatetimeReader, TimeReader, TimestampReader
from connector.binlog.columns.strings import StringReader
from connector.binlog.columns.temporal import (
    DateReader,
    Datetime2Reader,
    Time2Reader,
    Timestamp2Reader,
)
from connector.codec.quoted_text import QUOTE, SQL_TEXTS, put_text
from connector.dump.text.value_text import ValueText
from connector.dump.text.value_texts import PrintedText, QuotedText
from connector.flashback.sql_values import UTF8_CHARSETS, literal

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader

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
        if put_text(out, image.data, start, image.offset, SQL_TEXTS):
            out.append(u8(QUOTE))
        else:
            out.truncate(written)
            out.write(literal(self._column, image.data[start : image.offset]).encode())


@final
class _OtherLiteral(ValueText):
    """All other values."""

    __slots__ = ("_column", "_reader")

    def __init__(self, column: Column, reader: ColumnReader) -> None:
        self._column = column
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.write(literal(self._column, self._reader.read(image)).encode())
