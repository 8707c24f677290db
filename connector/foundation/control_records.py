"""The values of records in control topics: progress, copies, quarantine and fences.

A progress record, in the compacted topic `<prefix>.progress`, closes every Kafka transaction.

A change that could not be published, and the changes that were kept back so that none overtakes it,
are in `<prefix>.quarantine`. The fences are in the compacted topic `<prefix>.fences`; a null value
says that the fence was lifted::

    key      pipeline/shop.orders             of every quarantine record, and of a table's fence
    key      pipeline/shop.orders/{"id":7}    of the fence of one key

The names of fields are state in Kafka, so they stay.
"""

from typing import TypedDict


class SnapshotRange(TypedDict):
    """A part of a table that is copied in the order of its key."""

    # SQL literals of the first key columns, inclusive, with ", " between them; "" where the part
    # has no beginning.
    low: str
    high: str  # the same, exclusive; "" where it has no end
    last: list[str]  # cells of the last key that was copied, as the server prints them, in hex
    done: bool


class SnapshotRecord(TypedDict):
    """The value of a record in `<prefix>.snapshot`: the state of the copy of a table.

    The key is `pipeline/database.table`, and `/request` after it for a copy of some rows. The
    record is written in the same Kafka transaction as the rows that it counts.
    """

    database: str
    table: str
    phase: str  # "waiting", "copying", "complete" or "failed"
    reason: str  # why it was begun
    # Offset of the latest request in `<prefix>.commands`; -1 without one, less for a signal.
    request: int
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
    # Names the load by which the Spark job gets these rows: no topic has them. "" for a copy whose
    # rows are records.
    load: str


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
    # `OnlineSchemaChanges` tells more.
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


class QuarantinedRow(TypedDict):
    """One row of an event that is in quarantine."""

    row: int  # its number in the event, from 0
    keys: list[str]  # of its records: the one before and, where it differs, the one after
    # Why it could not be published; None if it follows an earlier change of one of its keys.
    error: str | None


class QuarantineRecord(TypedDict):
    """The value of a record in `<prefix>.quarantine`: a change as the log has it.

    If it is larger than a Kafka record may be, it has several parts, one after the other. Those
    after the first have `seq`, `part`, `parts` and more of `event`, and nothing else.
    """

    seq: str  # of the first row that is kept
    part: int  # from 1
    parts: int
    # "rows"; "gone": a statement that empties the table; "statement": any other; "copied": a row
    # that a copy has read, of which there is no event; "withheld": rows that are not here, because
    # parts of them must not leave the process, or because there is no room for their description.
    kind: str
    pipeline: str
    database: str
    table: str
    # Of an event of rows: those that are kept one by one, and all from number `rest` on.
    rows: list[QuarantinedRow]
    rest: int | None
    error: str  # why it, or the one that it follows, could not be published
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
    # For a whole database, whose `table` is "*": the tables that were copied again, emptied or
    # created since, which are exempt.
    exempt: list[str]
