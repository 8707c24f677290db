"""What a row's comment says of a column: `INT meta=0 nullable=0`.

The column's name comes before its type if the log has it (binlog_row_metadata=FULL).

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-row-events.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.column_types import ColumnType, column_type_name
from connector.codec.quoted_text import ESCAPES
from connector.codec.sql_text import quoted_identifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.columns.column import Column

# By the bytes of the length.
_BLOB_NAMES = {
    1: "TINYBLOB/TINYTEXT",
    2: "BLOB/TEXT",
    3: "MEDIUMBLOB/MEDIUMTEXT",
    4: "LONGBLOB/LONGTEXT",
}

_TWO_BYTE_METADATA = (ColumnType.STRING, ColumnType.NEWDECIMAL)


def column_text(column: Column) -> str:
    """Return the name, if it is known, the type with its metadata, and whether NULL is allowed."""
    name = "" if column.name is None else f"{quoted_identifier(column.name).translate(ESCAPES)} "
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
