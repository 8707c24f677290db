"""Rows become the comment lines of `mysqlbinlog -vv`.

::

    ### UPDATE `shop`.`orders`
    ### WHERE
    ###   @1=7 /* INT meta=0 nullable=0 is_null=0 */
    ### SET
    ###   @2='new' /* `state` VARSTRING(80) meta=80 nullable=1 is_null=0 */

The comment has the column's name before its type if the log has it (binlog_row_metadata=FULL).
Numbers are written in full, dates as in SQL, and members of ENUM and SET as labels if known.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-row-events.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connector.binlog.columns.column_types import ColumnType, column_type_name
from connector.binlog.columns.floats import float32_text
from connector.binlog.columns.values import ABSENT, EnumIndex, Geometry, JsonDiffs, JsonOperation
from connector.binlog.events.rows_head import RowsKind
from connector.codec.sql_text import quoted_identifier, quoted_name
from connector.dump.lines.writer import LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import JsonDiff, Value
    from connector.binlog.events.rows import RowsEvent
    from connector.dump.lines.writer import Line

# By the bytes of the length.
_BLOB_NAMES = {
    1: "TINYBLOB/TINYTEXT",
    2: "BLOB/TEXT",
    3: "MEDIUMBLOB/MEDIUMTEXT",
    4: "LONGBLOB/LONGTEXT",
}

_INTEGER_BITS: dict[int, int] = {
    ColumnType.TINY: 8,
    ColumnType.SHORT: 16,
    ColumnType.INT24: 24,
    ColumnType.LONG: 32,
    ColumnType.LONGLONG: 64,
}
_TWO_BYTE_METADATA = (ColumnType.STRING, ColumnType.NEWDECIMAL)

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}
# By byte: one look-up each is several times faster than the translation of a text.
_BYTE_TEXTS = [_ESCAPES.get(code, chr(code)) for code in range(0x80)] + [
    f"\\x{code:02x}" for code in range(0x80, 0x100)
]

_CALLS = {
    JsonOperation.REPLACE: "JSON_REPLACE",
    JsonOperation.INSERT: "JSON_INSERT",
    JsonOperation.REMOVE: "JSON_REMOVE",
}


def row_lines(body: RowsEvent) -> Iterator[Line]:
    """Yield the lines of each row.

    Raises EventError for a row that cannot be read.
    """
    table = body.table_map
    name = quoted_name(table.schema, table.table)
    verb = {
        RowsKind.INSERT: "INSERT INTO",
        RowsKind.UPDATE: "UPDATE",
        RowsKind.DELETE: "DELETE FROM",
    }[body.kind]
    # Servers that log more than the types also log the signs.
    signs = bool(table.metadata_fields)
    columns = [
        ColumnText(number, column, signs=signs) for number, column in enumerate(table.columns, 1)
    ]
    for row in body.rows():
        yield f"### {verb} {name}"
        for clause, image in (("WHERE", row.before), ("SET", row.after)):
            if image is not None:
                yield f"### {clause}"
                for column, value in zip(columns, image, strict=True):
                    if value is not ABSENT:
                        yield from column.lines(value)


def quoted_text(value: str | bytes) -> str:
    r"""Return a value in quotes; bytes that are not ASCII become `\xNN`."""
    if isinstance(value, bytes):
        return f"'{''.join(map(_BYTE_TEXTS.__getitem__, value))}'"
    return f"'{value.translate(_ESCAPES)}'"


def _comment(column: Column) -> str:
    name = "" if column.name is None else f"{quoted_identifier(column.name).translate(_ESCAPES)} "
    return f"{name}{_type_text(column)} meta={_metadata(column)} nullable={int(column.nullable)}"


def _metadata(column: Column) -> int:
    """Return the metadata as the servers compute it: the first of two bytes is the higher one."""
    if column.type_code in _TWO_BYTE_METADATA:
        return (column.metadata & 0xFF) << 8 | column.metadata >> 8
    return column.metadata


def _type_text(column: Column) -> str:
    kind = column.real_type
    describe = _TYPE_TEXTS.get(kind)
    return column_type_name(kind) if describe is None else describe(column)


def _blob_text(column: Column) -> str:
    return _BLOB_NAMES.get(column.metadata, "BLOB")


def _enum_text(column: Column) -> str:
    length = column.stored_length
    return f"ENUM({length} byte{'s' if length > 1 else ''})"


def _vector_text(column: Column) -> str:
    return "VECTOR" if column.dimension is None else f"VECTOR({column.dimension})"


_TYPE_TEXTS: dict[int, Callable[[Column], str]] = {
    ColumnType.TINY: lambda _: "TINYINT",
    ColumnType.SHORT: lambda _: "SHORTINT",
    ColumnType.INT24: lambda _: "MEDIUMINT",
    ColumnType.LONG: lambda _: "INT",
    ColumnType.LONGLONG: lambda _: "LONGINT",
    ColumnType.NEWDECIMAL: lambda column: f"DECIMAL({column.precision},{column.scale})",
    ColumnType.TIMESTAMP2: lambda column: f"TIMESTAMP({column.metadata})",
    ColumnType.DATETIME2: lambda column: f"DATETIME({column.metadata})",
    ColumnType.TIME2: lambda column: f"TIME({column.metadata})",
    ColumnType.STRING: lambda column: f"STRING({column.length})",
    ColumnType.VARCHAR: lambda column: f"VARSTRING({column.metadata})",
    ColumnType.VAR_STRING: lambda column: f"VARSTRING({column.metadata})",
    ColumnType.VARCHAR_COMPRESSED: lambda column: f"VARSTRING({column.metadata}) COMPRESSED",
    ColumnType.BLOB: _blob_text,
    ColumnType.BLOB_COMPRESSED: lambda column: f"{_blob_text(column)} COMPRESSED",
    ColumnType.BIT: lambda column: f"BIT({column.length})",
    ColumnType.ENUM: _enum_text,
    ColumnType.SET: lambda column: f"SET({column.stored_length} bytes)",
    ColumnType.VECTOR: _vector_text,
}


class ColumnText:
    """The form of one column's values; facts of the column are computed once."""

    def __init__(self, number: int, column: Column, *, signs: bool) -> None:
        """Write column `number`, from 1; `signs` says whether the log has its sign."""
        self._number = number
        self._comment = _comment(column)
        self._kind = column.type_name
        self._stored_length = column.stored_length
        self._bits = column.length if self._kind == "bit" else column.stored_length * 8
        # Without metadata the sign is a guess, so both readings of a negative number are shown.
        self._modulus = 0 if signs else 1 << _INTEGER_BITS.get(column.real_type, 0)

    def lines(self, value: Value) -> Iterable[Line]:
        """Return the lines of a value in the image; only JSON changes need several lines."""
        if isinstance(value, (str, bytes)) and len(value) > LARGE:
            return [self._pieces(value)]
        line = (
            f"###   @{self._number}={self._text(value)} "
            f"/* {self._comment} is_null={int(value is None)} */"
        )
        return line.split("\n")

    def _pieces(self, value: str | bytes) -> Iterator[str]:
        yield f"###   @{self._number}='"
        for start in range(0, len(value), LARGE):
            yield quoted_text(value[start : start + LARGE])[1:-1]
        yield f"' /* {self._comment} is_null=0 */"

    def _text(self, value: Value) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, int):
            return self._integer_text(value)
        if isinstance(value, (str, bytes)):
            return self._string_text(value)
        if isinstance(value, float):
            return float32_text(value) if self._kind == "float" else repr(value)
        if isinstance(value, list):
            return f"[{','.join(map(float32_text, value))}]"
        if isinstance(value, JsonDiffs):
            return _diffs_text(value.diffs, f"@{self._number}")
        if isinstance(value, EnumIndex):
            return str(value.index)
        assert isinstance(value, Geometry)
        return f"SRID {value.srid} X'{value.wkb.hex()}'"

    def _integer_text(self, value: int) -> str:
        if self._kind == "set":
            # In the stored order of bytes, the lowest first, and each byte from its highest bit on.
            stored = value.to_bytes(self._stored_length, "little")
            value = int.from_bytes(stored, "big")
        if self._kind in ("bit", "set"):
            return f"b'{value:0{self._bits}b}'"
        if self._kind == "year":
            return f"{value:04d}"
        if value < 0 and self._modulus:
            return f"{value} ({value + self._modulus})"
        return str(value)

    def _string_text(self, value: str | bytes) -> str:
        if isinstance(value, str) and self._kind == "decimal":
            return value
        if isinstance(value, str) and self._kind == "timestamp":
            return _epoch(value)
        return quoted_text(value)


def _epoch(timestamp: str) -> str:
    """Return the seconds since the epoch, with the digits of the column."""
    seconds, point, fraction = timestamp.partition(".")
    if seconds.startswith("0000"):
        return f"0{point}{fraction}"
    moment = datetime.fromisoformat(seconds).replace(tzinfo=UTC)
    return f"{int(moment.timestamp())}{point}{fraction}"


def _diffs_text(diffs: tuple[JsonDiff, ...], document: str) -> str:
    """Return nested calls of JSON functions that make the changes; the first is the innermost."""
    text = document
    last: str | None = None
    for diff in diffs:
        call = _CALLS[diff.operation]
        if diff.operation is JsonOperation.INSERT and diff.path.endswith("]"):
            call = "JSON_ARRAY_INSERT"
        value = "" if diff.value is None else f", {_json_literal(diff.value)}"
        if call == last:
            text = f"{text[:-1]},\n###      {quoted_text(diff.path)}{value})"
        else:
            text = f"{call}({text}, {quoted_text(diff.path)}{value})"
        last = call
    return text


def _json_literal(document: str) -> str:
    if document.startswith(("{", "[", '"')) or document == "null":
        return f"CAST({quoted_text(document)} AS JSON)"
    return document
