"""What the connector writes to Kafka and the Spark job reads: names, sequences and schemas.

The sequence is the value of the header `cdc.seq`: a position in the log as digits of a fixed
width, so that the order of texts is the order of changes. Names and fields are state in Kafka, so
they stay.

A row record::

    topic    <prefix>.<database>.<table>
    key      {"id": 7}                        the primary key columns, in key order
    headers  cdc.seq     38 digits            the total order of changes (see `Sequence`)
             cdc.op      c | u | d | t | r    insert, update, delete, truncate, read by a copy
             cdc.schema  3f9c…                id of the table's column list
             cdc.txn     uuid:gno | file:pos  the source transaction
             cdc.pipeline  name               only in topics to which other pipelines may write
    value    {"before": {…}|null, "after": {…}|null, "source": {…}, "op": "u", "ts_ms": …}

A tombstone (value null) follows each `d`; it carries the headers of its `d`. A `t` record has a
null key and says that every row of the table with a lower sequence is gone (TRUNCATE, DROP).

A schema record, in the compacted topic `<prefix>.schema`, is written in the same Kafka transaction
as, and before, the first row that uses it::

    key      shop.orders/3f9c…
    value    {"schema_id": "3f9c…", "database": "shop", "table": "orders", "seq": "000…",
              "columns": [{"name", "type", …}, …]}

`unlogged` has columns that records leave out, because the log does not always have them, or the
server hides them.
"""

import re
from dataclasses import dataclass
from typing import Final, NotRequired, Self, TypedDict

HEADER_SEQ: Final = "cdc.seq"
HEADER_OP: Final = "cdc.op"
HEADER_SCHEMA: Final = "cdc.schema"
HEADER_TXN: Final = "cdc.txn"
# Only where other pipelines may write to the same topic: the name of the pipeline.
HEADER_PIPELINE: Final = "cdc.pipeline"

OP_CREATE: Final = "c"
OP_UPDATE: Final = "u"
OP_DELETE: Final = "d"
OP_TRUNCATE: Final = "t"
OP_READ: Final = "r"

# Control topics, `<prefix>.<suffix>`, one partition each; `<prefix>` itself holds DDL.
SCHEMA_TOPIC_SUFFIX: Final = "schema"
PROGRESS_TOPIC_SUFFIX: Final = "progress"
SNAPSHOT_TOPIC_SUFFIX: Final = "snapshot"
FENCES_TOPIC_SUFFIX: Final = "fences"
QUARANTINE_TOPIC_SUFFIX: Final = "quarantine"
COMMANDS_TOPIC_SUFFIX: Final = "commands"
TRANSACTION_TOPIC_SUFFIX: Final = "transaction"
HEARTBEAT_TOPIC_SUFFIX: Final = "heartbeat"
# https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/common/internals/Topic.java
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")

_CONTROL_TOPIC_SUFFIXES: Final = (
    SCHEMA_TOPIC_SUFFIX,
    PROGRESS_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    FENCES_TOPIC_SUFFIX,
    QUARANTINE_TOPIC_SUFFIX,
    COMMANDS_TOPIC_SUFFIX,
    TRANSACTION_TOPIC_SUFFIX,
    HEARTBEAT_TOPIC_SUFFIX,
)


def control_topic(prefix: str, suffix: str) -> str:
    """Return the name of a control topic."""
    return f"{prefix}.{suffix}"


def row_topic(prefix: str, database: str, table: str) -> str:
    """Return the topic of a table's rows; characters that Kafka forbids become `_`."""
    return ".".join((prefix, topic_part(database), topic_part(table)))


def own_topics(prefix: str) -> frozenset[str]:
    """Return the topics that hold records of the connector's own: DDL, and the control topics."""
    return frozenset({prefix, *(control_topic(prefix, each) for each in _CONTROL_TOPIC_SUFFIXES)})


def is_topic_name(name: str) -> bool:
    """Return whether Kafka allows a topic with this name."""
    return _TOPIC.fullmatch(name) is not None


def topic_part(name: str) -> str:
    """Return `name` with every character outside `[A-Za-z0-9_-]` replaced by `_`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


# Digits of each part of a sequence on the wire; the widths are also the limits.
SEQ_EPOCH_DIGITS: Final = 4
SEQ_FILE_DIGITS: Final = 8
SEQ_POSITION_DIGITS: Final = 10
SEQ_EVENT_DIGITS: Final = 8
SEQ_ROW_DIGITS: Final = 8
SEQ_DIGITS: Final = (
    SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS + SEQ_EVENT_DIGITS + SEQ_ROW_DIGITS
)
# Consumers may store a position in 32 bits.
_SEQ_POSITION_MAX: Final = 2**32 - 1


def last_byte(position: int) -> int:
    """Return the position, in sequences, of records that are written between two transactions.

    `position` is the first byte after the one before. A large transaction can end above 4 GiB; the
    server then begins another file.
    """
    return min(max(0, position - 1), _SEQ_POSITION_MAX)


@dataclass(frozen=True, slots=True, order=True)
class Sequence:
    """A sequence: the position of a change in the total order; compared field by field, as numbers.

    `row` is the row's index in its event times two, plus one for the create side of a
    primary key change.
    """

    epoch: int
    file: int
    position: int
    event: int
    row: int

    def __str__(self) -> str:
        """Return the 38 digits of the header `cdc.seq`; text order equals number order."""
        return f"{self.epoch:04d}{self.file:08d}{self.position:010d}{self.event:08d}{self.row:08d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the 38 digits of the header `cdc.seq`; raises ValueError for anything else."""
        if len(text) != SEQ_DIGITS or not (text.isascii() and text.isdigit()):
            reason = f"a sequence has {SEQ_DIGITS} digits, not {text!r}"
            raise ValueError(reason)
        return cls(
            int(text[0:4]), int(text[4:12]), int(text[12:22]), int(text[22:30]), int(text[30:38])
        )


class SchemaColumn(TypedDict):
    """One column of a schema record, in the table's column order."""

    name: str
    type: str  # the family that decides the JSON form of the value; see `COLUMN_TYPES`
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

# Bytes that a character takes at most; 1 in other character sets.
CHARACTER_BYTES: dict[str, int] = {
    "utf8mb4": 4, "utf8mb3": 3, "utf16": 4, "utf16le": 4, "utf32": 4, "ucs2": 2, "big5": 2,
    "sjis": 2, "cp932": 2, "euckr": 2, "gb2312": 2, "gbk": 2, "gb18030": 4, "ujis": 3, "eucjpms": 3,
}  # fmt: skip

# Column types of a schema record and the JSON form of their values in the profile `exact`.
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
