"""Names and types that the connector writes to Kafka and the Spark job reads.

Standard library only: this is the one module of `connector` that `stream_jobs` imports.

A row record::

    topic    <prefix>.<database>.<table>
    key      {"id": 7}                        the primary key columns, in key order
    headers  cdc.seq     38 digits            the total order of changes (see `Sequence`)
             cdc.op      c | u | d | t | r    insert, update, delete, truncate, read by a copy
             cdc.schema  3f9c…                id of the table's column list
             cdc.txn     uuid:gno | file:pos  the source transaction
    value    {"before": {…}|null, "after": {…}|null, "source": {…}, "op": "u", "ts_ms": …}

A tombstone (value null) follows each `d`; it carries the headers of its `d`. A `t` record has a
null key and says that every row of the table with a lower sequence is gone (TRUNCATE, DROP).

A schema record, in the compacted topic `<prefix>.schema`, is written in the same Kafka transaction
as, and before, the first row that uses it::

    key      shop.orders/3f9c…
    value    {"schema_id": "3f9c…", "database": "shop", "table": "orders", "seq": "000…",
              "columns": [{"name", "type", …}, …]}

A progress record, in the compacted topic `<prefix>.progress`, closes every Kafka transaction.

A change that could not be carried, and what was kept behind it so that nothing overtakes it, is in
`<prefix>.quarantine` (`QuarantineRecord`). What is kept back is in the compacted topic
`<prefix>.fences` (`FenceRecord`; a null value says that the fence was lifted)::

    key      pipeline/shop.orders             of every quarantine record, and of a table's fence
    key      pipeline/shop.orders/{"id":7}    of the fence of one key
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NotRequired, TypedDict

HEADER_SEQ: Final = "cdc.seq"
HEADER_OP: Final = "cdc.op"
HEADER_SCHEMA: Final = "cdc.schema"
HEADER_TXN: Final = "cdc.txn"

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


def control_topic(prefix: str, suffix: str) -> str:
    """Return the name of a control topic."""
    return f"{prefix}.{suffix}"


# Digits of each part of a sequence on the wire; the widths are also the limits.
SEQ_EPOCH_DIGITS: Final = 4
SEQ_FILE_DIGITS: Final = 8
SEQ_POSITION_DIGITS: Final = 10
SEQ_EVENT_DIGITS: Final = 8
SEQ_ROW_DIGITS: Final = 8
SEQ_DIGITS: Final = (
    SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS + SEQ_EVENT_DIGITS + SEQ_ROW_DIGITS
)


def row_topic(prefix: str, database: str, table: str) -> str:
    """Return the topic of a table's rows; characters that Kafka forbids become `_`."""
    return ".".join((prefix, topic_part(database), topic_part(table)))


def topic_part(name: str) -> str:
    """Return `name` with every character outside `[A-Za-z0-9_-]` replaced by `_`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)


@dataclass(frozen=True, slots=True, order=True)
class Sequence:
    """A place in the total order of changes; compared field by field, as numbers.

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
    def parse(cls, text: str) -> Sequence:
        """Read the 38 digits of the header `cdc.seq`.

        Raises ValueError for anything else.
        """
        if len(text) != SEQ_DIGITS or not (text.isascii() and text.isdigit()):
            reason = f"a sequence has {SEQ_DIGITS} digits, not {text!r}"
            raise ValueError(reason)
        return cls(
            int(text[0:4]), int(text[4:12]), int(text[12:22]), int(text[22:30]), int(text[30:38])
        )


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


class SchemaRecord(TypedDict):
    """The value of a record in `<prefix>.schema`."""

    schema_id: str
    database: str
    table: str
    seq: str  # the sequence of the first row that uses it
    columns: list[SchemaColumn]
    # Who asked the source for the columns, and where the log stood then, as pipeline@file:position;
    # absent where the log names them.
    anchor: NotRequired[str]


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


class SnapshotRange(TypedDict):
    """A part of a table that is copied in the order of its key."""

    low: str  # SQL literal of the first key column, inclusive; "" where the part has no beginning
    high: str  # the same, exclusive; "" where it has no end
    last: list[str]  # cells of the last key that was copied, as the server prints them, in hex
    done: bool


class SnapshotRecord(TypedDict):
    """The value of a record in `<prefix>.snapshot`: how far the copy of a table is.

    The key is `pipeline/database.table`, behind which `/offset` follows for a copy of some rows.
    It is written in the same Kafka transaction as the rows that it speaks of.
    """

    database: str
    table: str
    phase: str  # "waiting", "copying", "complete" or "failed"
    reason: str  # why it was begun
    request: int  # offset of the latest request in `<prefix>.commands`; -1 without one
    where: str  # SQL condition of a copy of some rows; "" for all rows
    # Name, type and collation of the columns that the parts are ordered by; empty where one SELECT
    # reads all.
    key: list[str]
    ranges: list[SnapshotRange]
    rows: int  # written so far
    kept_back: int  # that went into quarantine, because they cannot be carried
    estimated_rows: int
    started_at_ms: int
    ended_at_ms: int  # 0 before
    error: str  # of one that failed


class PreparedXaRecord(TypedDict):
    """An XA transaction that waits for XA COMMIT or XA ROLLBACK, in a progress record."""

    xid: str  # as XA statements have it: X'6f6e65',X'',1
    gtid: str | None  # of the group that ends in XA PREPARE
    file: str
    position: int  # of its first event
    before: str | None  # MariaDB: the GTID before it in its domain, "" where it is the first
    held: bool  # whether it has rows of followed tables, which a restart reads again
    other_tables: list[list[str]]  # else the others that it changed, as [database, table]


class ProgressRecord(TypedDict):
    """The value of a record in `<prefix>.progress`: where to resume, and who wrote it."""

    flavour: str  # "mysql" or "mariadb"
    gtid_set: str | None  # every GTID whose rows are committed; None for a stream by position
    file: str
    position: int  # first byte behind the last committed transaction
    epoch: int
    seq: str  # sequence of the last committed transaction's first event; "" before the first
    server_uuid: str  # the server that `file` and `position` belong to
    source: str  # HOST:PORT where it was reached; "" where that is not known
    # When the server began `file`, seconds since the epoch; 0 where that is not known. A file that
    # was begun at another time is another one, of the same name.
    file_created: int
    # Columns added by ALTER TABLE whose table has had no rows since: "shop.orders" to a list of
    # [column, kind of default, literal]. The next schema record of the table takes them up.
    added_columns: dict[str, list[list[str]]]
    # What is known of schema changes that gh-ost or pt-online-schema-change have under way:
    # "added", "fewer", "copied" and "away", each from a table to lists; `OnlineChanges` tells more.
    online_changes: dict[str, dict[str, list[list[str]]]]
    # Tables of which a schema record has an `anchor`, and which a statement has changed since.
    changed_tables: list[str]
    # Records that were written at this place, between two transactions: rows of copies, and what
    # came out of quarantine.
    between: int
    # Of the first request in `<prefix>.commands` that was not taken up.
    commands_offset: int
    prepared: list[PreparedXaRecord]  # in the order in which they were prepared
    instance: str  # id of the process that wrote it; tells a fenced process that it was fenced
    host: str
    pid: int
    committed_at_ms: int


class QuarantinedRow(TypedDict):
    """One row of an event that is in quarantine."""

    row: int  # its number in the event, from 0
    keys: list[str]  # of its records: the one before and, where it differs, the one after
    # Why it could not be carried; None where it follows an earlier change of one of its keys.
    error: str | None


class QuarantineRecord(TypedDict):
    """The value of a record in `<prefix>.quarantine`: a change as the log has it.

    Where it is larger than Kafka takes, it has several parts, one behind the other; those but the
    first have `seq`, `part`, `parts` and more of `event`, and nothing else.
    """

    seq: str  # of the first row that is kept
    part: int  # from 1
    parts: int
    # "rows"; "gone": a statement that empties the table; "statement": any other; "copied": a row
    # that a copy has read, of which there is no event.
    kind: str
    pipeline: str
    database: str
    table: str
    # Of an event of rows: those that are kept one by one, and all from number `rest` on.
    rows: list[QuarantinedRow]
    rest: int | None
    error: str  # why it, or the one that it follows, could not be carried
    file: str
    position: int  # of the event
    event_number: int  # in its transaction, as a sequence counts it
    flavour: str  # "mysql" or "mariadb"
    transaction: str  # GTID, or file:position
    transaction_file: str
    transaction_position: int
    gtid: str | None
    committed_us: int
    server_id: int
    thread_id: int | None
    schema_id: str  # "" where the columns are not known
    format_description: str  # base64: the FORMAT_DESCRIPTION_EVENT of the log
    table_map: str  # base64: the body of the TABLE_MAP_EVENT; "" of a statement
    # base64: the whole event; of a later part, the bytes that follow. Of a row that a copy has
    # read: as the answer to the SELECT has it (text protocol), or the value of a record that is too
    # large.
    event: str
    checksummed: bool  # whether the event ends in a CRC32
    query: str  # of a statement
    quarantined_at_ms: int


class FenceRecord(TypedDict):
    """The value of a record in `<prefix>.fences`: what is kept back, since when, and why."""

    database: str
    table: str
    key: str | None  # of the row's records; None when the whole table is fenced
    key_columns: list[str]  # the columns of `key`, each with its type
    since: str  # `file:position` of the first event that is kept
    since_seq: str
    since_ms: int  # when it was put into quarantine
    reason: str
    rows: int  # that are kept; an event that is kept to its end counts as one
    # Of a replay that is under way: the request, and the last sequence that was written again.
    replay: str | None
    replayed_seq: str
    answered: str | None  # the last replay that could not lift it; `reason` says why
    # Of a whole database, whose `table` is "*": the tables that were copied anew, emptied or
    # created since, which are exempt.
    exempt: list[str]
