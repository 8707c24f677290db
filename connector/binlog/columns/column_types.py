"""The type bytes of a TABLE_MAP_EVENT, by MySQL's names without MYSQL_TYPE_.

The server gives ENUM and SET the type STRING and puts the real one into the metadata.

https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
"""

from __future__ import annotations

from enum import IntEnum


class ColumnType(IntEnum):
    """Every type that a TABLE_MAP_EVENT or its metadata may name."""

    DECIMAL = 0  # before 5.0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7  # before 5.6; MariaDB with mysql56_temporal_format=OFF
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11  # as TIMESTAMP
    DATETIME = 12  # as TIMESTAMP
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    TYPED_ARRAY = 20  # of hidden columns of multi-valued indexes (8.0.17)
    BLOB_COMPRESSED = 140  # MariaDB
    VARCHAR_COMPRESSED = 141  # MariaDB
    VECTOR = 242  # 9.0
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


# The types that may be UNSIGNED.
NUMERIC_TYPES = frozenset(
    {
        ColumnType.TINY,
        ColumnType.SHORT,
        ColumnType.INT24,
        ColumnType.LONG,
        ColumnType.LONGLONG,
        ColumnType.DECIMAL,
        ColumnType.NEWDECIMAL,
        ColumnType.FLOAT,
        ColumnType.DOUBLE,
        ColumnType.YEAR,
    }
)


def column_type_name(code: int) -> str:
    """Return MySQL's name of a type, or `column type n` for a number without one."""
    try:
        return ColumnType(code).name
    except ValueError:
        return f"column type {code}"
