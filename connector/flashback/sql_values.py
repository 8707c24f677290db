"""Stored values become SQL literals that the server reads back to the same value.

Text is written in the column's own character set, so that no conversion changes it; therefore text
columns are read as bytes (`raw_columns`). ENUM and SET are written as numbers, floats as the exact
DOUBLE, geometries and vectors as their stored bytes.

https://dev.mysql.com/doc/refman/8.4/en/literals.html
https://dev.mysql.com/doc/refman/8.4/en/charset-introducer.html
"""

from __future__ import annotations

import json
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

from connector.binlog.charsets.collations import BINARY_COLLATION
from connector.binlog.columns.column_types import ColumnType
from connector.binlog.columns.json_scalars import double_text
from connector.binlog.columns.values import EnumIndex, Geometry
from connector.codec.quoted_text import SQL_ESCAPES
from connector.codec.sql_text import ansi_identifier, sql_text
from connector.errors import DecodeError, log_undo

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value

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
    raise DecodeError(log_undo.JSON_DECIMAL, length=len(number))
