"""How far a stream and the copies of its tables are: the records that a restart reads."""

from __future__ import annotations

from typing import TypedDict


class SnapshotRange(TypedDict):
    """A part of a table that is copied in the order of its key."""

    low: str  # SQL literal of the first key column, inclusive; "" where the part has no beginning
    high: str  # the same, exclusive; "" where it has no end
    last: list[str]  # cells of the last key that was copied, as the server prints them, in hex
    done: bool


class SnapshotRecord(TypedDict):
    """The value of a record in `<prefix>.snapshot`: the state of the copy of a table.

    The key is `pipeline/database.table`, and `/offset` after it for a copy of some rows. The record
    is written in the same Kafka transaction as the rows that it counts.
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
    kept_back: int  # rows in quarantine, because they cannot be published
    estimated_rows: int
    started_at_ms: int
    ended_at_ms: int  # 0 before
    error: str  # of one that failed
    # Of records, until they are looked for: rows to take back if the source does not have them.
    keys: list[str]
    # The id of the notifications of the snapshot that it belongs to; "" without notifications.
    snapshot: str
    surrogate_key: str  # the column to read by, if a signal named one
    # The tables with the same text are copied at one position, where the stream waits; "" for none.
    together: str
    # What the copy was that this one replaces: "complete", "failed", or "" without one. If this one
    # fails before it takes rows back, the other one counts again.
    before: str
    error_before: str  # of the other one, if it failed


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
    position: int  # first byte after the last committed transaction
    epoch: int
    seq: str  # sequence of the last committed transaction's first event; "" before the first
    server_uuid: str  # the server that `file` and `position` belong to
    source: str  # HOST:PORT where it was reached; "" where that is not known
    # When the server began `file`, seconds since the epoch; 0 where that is not known. A file that
    # was begun at another time is another one, of the same name.
    file_created: int
    # What another program had delivered of the next transaction before the stream began: its first
    # rows events and statements, and the first rows of the event after them.
    begun_events: int
    begun_rows: int
    # When the source committed the last transaction, microseconds since the epoch; before the first
    # one, its clock when the stream began at the end of its log, else 0.
    source_time_us: int
    # Columns added by ALTER TABLE whose table has had no rows since: "shop.orders" to a list of
    # [column, kind of default, literal]. The next schema record of the table takes them up.
    added_columns: dict[str, list[list[str]]]
    # What is known of schema changes that gh-ost or pt-online-schema-change have under way:
    # "added", "altered", "fewer", "copied" and "away", each from a table to lists;
    # `OnlineChanges` tells more.
    online_changes: dict[str, dict[str, list[list[str]]]]
    # Tables of which a schema record has an `anchor`, and which a statement has changed since.
    changed_tables: list[str]
    # Tables whose column list is not that of their newest schema record: the id of an older one to
    # which they returned, "" where it is unknown until rows come, "none" of a table that is gone.
    current_schemas: dict[str, str]
    # Tables that a statement has changed since their latest row, if they have had rows: the id of
    # the column list that it gave them, "" where that is not certain.
    stated_schemas: dict[str, str]
    # Rows that foreign keys have changed and that are not copied yet: database, table, conditions.
    # An empty condition says that all rows are copied, because some are gone.
    cascaded_rows: dict[str, dict[str, list[str]]]
    # Records that were written at this place, between two transactions: rows of copies, and what
    # came out of quarantine.
    between: int
    # Of the first request in `<prefix>.commands` that was not taken up.
    commands_offset: int
    # Of the first record in `signals.kafka_topic` that was not taken up; None before the topic is
    # known.
    signals_offset: int | None
    # The token in the name of the taken file of signals that was done last; "" before the first.
    signals_file: str
    prepared: list[PreparedXaRecord]  # in the order in which they were prepared
    instance: str  # id of the process that wrote it; tells a fenced process that it was fenced
    host: str
    pid: int
    committed_at_ms: int
