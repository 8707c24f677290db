"""The columns of a table as schema records tell them, and the form of their values."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class SchemaColumn(TypedDict):
    """One column of a schema record, in the table's column order.

    `type` is the family that decides the JSON form of the value; see `COLUMN_TYPES`.
    """

    name: str
    type: str
    nullable: bool
    key: int  # 1-based place in the primary key, 0 outside it
    unsigned: NotRequired[bool]  # integers, FLOAT, DOUBLE, DECIMAL
    precision: NotRequired[int]  # DECIMAL
    scale: NotRequired[int]  # DECIMAL
    fraction: NotRequired[int]  # TIME, DATETIME, TIMESTAMP: digits after the second
    length: NotRequired[int]  # CHAR, VARCHAR, BINARY, VARBINARY: bytes; BIT: bits
    charset: NotRequired[str]  # character types: MySQL's name
    collation: NotRequired[int]  # character types: MySQL's id
    labels: NotRequired[list[str]]  # ENUM, SET
    # The value that rows which existed before the column was added have, in the JSON form of the
    # column; absent when it is NULL or the column did not come by ADD COLUMN.
    added_default: NotRequired[object]
    # True when that value is computed by the server (an expression, CURRENT_TIMESTAMP, a generated
    # column) and so is not in the log: rows that existed cannot be completed.
    added_default_unknown: NotRequired[bool]


# The profiles of the envelope: exact values that need no schema, and those of Debezium.
EXACT = "exact"
DEBEZIUM = "debezium"


class UnloggedColumn(TypedDict):
    """A column of the table that records leave out, because the log does not always have it."""

    index: int  # 0-based, among all columns of the table
    column: SchemaColumn


class SchemaRecord(TypedDict):
    """The value of a record in `<prefix>.schema`."""

    schema_id: str
    database: str
    table: str
    seq: str  # of the first row that uses it, or `stated` if no row has used it yet
    columns: list[SchemaColumn]
    # The profile of the values, `debezium`; absent for `exact`.
    profile: NotRequired[str]
    # The exact types of columns whose `type` is a family, such as mediumtext or vector(3), by name;
    # only in the profile `debezium`.
    kinds: NotRequired[dict[str, str]]
    unlogged: NotRequired[list[UnloggedColumn]]  # in the table's column order
    # The sequence of the ALTER TABLE that gave the table these columns; absent if the record was
    # written for rows. Text columns that it added lack the facts that the statement does not hold.
    stated: NotRequired[str]
    # Who asked the source for the columns, and where the log stood then, as pipeline@file:position;
    # absent where the log names them.
    anchor: NotRequired[str]


# From narrow to wide.
INTEGER_TYPES = ("tinyint", "smallint", "mediumint", "int", "bigint")

# Column types of a schema record and the JSON form of their values in the `lossless` profile.
COLUMN_TYPES: dict[str, str] = {
    "tinyint": "number",
    "smallint": "number",
    "mediumint": "number",
    "int": "number",
    "bigint": "number; digits in a string when unsigned",
    "decimal": "string with `scale` decimals",
    "float": "number, shortest that reads back to the same 32 bits",
    "double": "number, shortest that reads back to the same 64 bits",
    "bit": "BIT(1): true or false; else digits in a string",
    "char": "string",
    "varchar": "string",
    "text": "string",
    "enum": 'string; {"index": n} when the index has no label',
    "set": "string of labels joined by commas",
    "binary": "base64 string, padded to `length`",
    "varbinary": "base64 string",
    "blob": "base64 string",
    "date": '"2017-09-15"; zero and partial dates as MySQL prints them',
    "datetime": '"2019-07-09 02:28:57.123456", `fraction` digits',
    "timestamp": '"2018-06-20T13:37:03.123Z", UTC; zero value "0000-00-00T00:00:00Z"',
    "time": '"-838:59:59.000000", `fraction` digits',
    "year": "number",
    "json": "string with the document as MySQL prints it",
    "geometry": '{"wkb": base64, "srid": n}',
    "vector": "array of numbers",
}
