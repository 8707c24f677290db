"""Statements that undo rows, from decoded values: the oracle for those that are made from bytes."""

from __future__ import annotations

from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

from connector.binlog.columns.column import (
    ABSENT,
    Column,
    ColumnType,
    EnumIndex,
    Geometry,
    Value,
)
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.sql_text import ansi_identifier
from connector.foundation.errors import UnsupportedChange
from connector.logs import undo_errors
from connector.logs.flashback.sql_literals import (
    _ASCII_LIKE,
    UTF8_CHARSETS,
    _require_plain_json,
    raw_columns,
    string_literal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.events.row_reader import Row
    from connector.binlog.events.rows import RowsEvent

_HIDDEN = "!hidden!"


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


class ValueUndo:
    """Undoes row changes of one table."""

    def __init__(self, rows: RowsEvent) -> None:
        table_map = rows.table_map
        self._columns = table_map.columns
        self._assigned = [
            index
            for index, column in enumerate(self._columns)
            if not (column.name or "").startswith(_HIDDEN)
        ]
        by_key = sorted((c.primary_key, index) for index, c in enumerate(self._columns))
        self._key = [index for part, index in by_key if part]
        self._raw_map = replace(table_map, columns=raw_columns(table_map.columns), _row_plan=None)
        self._name = f"{ansi_identifier(table_map.schema)}.{ansi_identifier(table_map.table)}"
        names = ", ".join(_quoted(self._columns[index]) for index in self._assigned)
        self._insert_start = f"INSERT INTO {self._name} ({names}) VALUES ("

    def statements(self, rows: RowsEvent) -> Iterator[str]:
        undo = {
            RowsKind.INSERT: self._delete,
            RowsKind.DELETE: self._insert,
            RowsKind.UPDATE: self._update,
        }[rows.kind]
        for row in replace(rows, table_map=self._raw_map).rows(apply_diffs=True):
            try:
                yield undo(row)
            except UnsupportedChange as error:
                raise UnsupportedChange(
                    undo_errors.ROW,
                    file=rows.file,
                    position=rows.position,
                    table=f"{self._raw_map.schema}.{self._raw_map.table}",
                    why=error,
                ) from error

    def _delete(self, row: Row) -> str:
        assert row.after is not None
        return f"{'DELETE FROM ' + self._name + ' WHERE '}{self._where(row.after)} LIMIT 1;"

    def _insert(self, row: Row) -> str:
        image = row.before
        assert image is not None
        values = ", ".join(
            literal(self._columns[index], self._present(image, index)) for index in self._assigned
        )
        return f"{self._insert_start}{values});"

    def _update(self, row: Row) -> str:
        before, after = row.before, row.after
        assert before is not None
        assert after is not None
        assignments = [
            f"{_quoted(self._columns[index])} = "
            f"{literal(self._columns[index], self._present(before, index))}"
            for index in self._assigned
            # A column that neither image holds has not changed (binlog_row_image=NOBLOB).
            if before[index] is not ABSENT or after[index] is not ABSENT
        ]
        image = [b if a is ABSENT else a for b, a in zip(before, after, strict=True)]
        changes, row_key = ", ".join(assignments), self._where(image)
        return f"{'UPDATE ' + self._name + ' SET '}{changes} WHERE {row_key} LIMIT 1;"

    def _where(self, image: list[Value]) -> str:
        if self._key:
            return " AND ".join(
                f"{_quoted(self._columns[index])} = "
                f"{literal(self._columns[index], self._present(image, index))}"
                for index in self._key
            )
        return " AND ".join(
            matches(column, self._present(image, index))
            for index, column in enumerate(self._columns)
            if not (column.name or "").startswith(_HIDDEN)
        )

    def _present(self, image: list[Value], index: int) -> Value:
        value = image[index]
        if value is ABSENT:
            raise UnsupportedChange(undo_errors.NOT_IN_IMAGE, column=self._columns[index].name)
        return value


def _quoted(column: Column) -> str:
    assert column.name is not None
    return ansi_identifier(column.name)
