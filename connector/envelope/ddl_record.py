r"""DDL on followed tables becomes a record in `<prefix>`, in the form of Debezium's schema changes.

::

    key      {"databaseName": "shop"}
    headers  cdc.seq, cdc.txn              as of rows
    value    {"source": {…}, "ts_ms": …, "databaseName": "shop", "schemaName": null, "ddl": "…",
              "tableChanges": [{"type": "CREATE" | "ALTER" | "DROP", "id": "\"shop\".\"t\"",
                                "table": null}, …]}

A statement has one record for each database of followed tables, before its effects on rows. The log
has its text, but not the table's definition after it, so `table` is null: `<prefix>.schema` has the
columns before the first row with them. A rename drops one name and creates another; TRUNCATE does
not change the columns and has no table changes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from librt.strings import BytesWriter

from connector.changes.statement import StatementKind
from connector.contract import HEADER_SEQ, HEADER_TXN
from connector.records.record import put_header
from connector.records.varint import put_varint

if TYPE_CHECKING:
    from connector.changes.transaction import StatementChange
    from connector.contract import Sequence
    from connector.envelope.options import EnvelopeOptions
    from connector.records.record import RecordTarget

_US_PER_MS: Final = 1000
_NS_PER_US: Final = 1000
_HEADERS: Final = 2

_TYPES: Final[dict[StatementKind, str]] = {
    StatementKind.CREATE_TABLE: "CREATE",
    StatementKind.ALTER_TABLE: "ALTER",
    StatementKind.INDEX: "ALTER",
    StatementKind.DROP_TABLE: "DROP",
}


def write_ddl(
    target: RecordTarget,
    options: EnvelopeOptions,
    changes: list[StatementChange],
    sequence: Sequence,
    now_us: int,
) -> None:
    """Write the records of a statement with the effects `changes`; `now_us` is the current time."""
    for database in dict.fromkeys(change.database for change in changes):
        of_database = [change for change in changes if change.database == database]
        transaction = changes[0].transaction
        timestamp_ms = transaction.committed_us // _US_PER_MS
        target.take(
            options.prefix,
            _json({"databaseName": database}),
            _value(options, of_database, now_us),
            _headers(sequence, transaction.id),
            timestamp_ms,
        )


def _value(options: EnvelopeOptions, changes: list[StatementChange], now_us: int) -> bytes:
    first = changes[0]
    transaction = first.transaction
    time_us = transaction.committed_us
    tables = list(dict.fromkeys(change.table for change in changes if change.table))
    source: dict[str, object] = {
        "version": options.version,
        "connector": options.connector,
        "name": options.prefix,
        "ts_ms": time_us // _US_PER_MS,
        "snapshot": "false",
        "db": first.database,
        "sequence": None,
        "ts_us": time_us,
        "ts_ns": time_us * _NS_PER_US,
        "table": ",".join(tables) or None,
        "server_id": first.event.header.server_id,
        "gtid": transaction.id if transaction.gtid is not None else None,
        "file": first.event.file,
        "pos": first.event.position,
        "row": 0,
        "thread": transaction.thread_id,
        "query": None,
    }
    return _json(
        {
            "source": source,
            "ts_ms": now_us // _US_PER_MS,
            "databaseName": first.database,
            "schemaName": None,
            "ddl": first.query,
            "tableChanges": [
                {"type": change_type, "id": f'"{change.database}"."{change.table}"', "table": None}
                for change in changes
                if (change_type := _type(change))
            ],
        }
    )


def _type(change: StatementChange) -> str:
    """Return the type of the change of the table's definition; "" if there is none."""
    if change.kind is StatementKind.RENAME_TABLE:
        return "CREATE" if change.resync else "DROP"
    return _TYPES.get(change.kind, "")


def _headers(sequence: Sequence, transaction_id: str) -> bytes:
    out = BytesWriter()
    put_varint(out, _HEADERS)
    put_header(out, HEADER_SEQ.encode(), str(sequence).encode())
    put_header(out, HEADER_TXN.encode(), transaction_id.encode())
    return out.getvalue()


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
