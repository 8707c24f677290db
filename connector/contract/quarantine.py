"""What is kept back, and since when."""

from __future__ import annotations

from typing import TypedDict


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
