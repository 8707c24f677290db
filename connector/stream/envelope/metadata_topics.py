"""Records of Debezium's metadata topics: schema changes and transaction metadata.

*Schema changes*, in `<prefix>`, of DDL on followed tables::

    key      {"databaseName": "shop"}
    headers  cdc.seq, cdc.txn              as of rows
    value    {"source": {…}, "ts_ms": …, "databaseName": "shop", "schemaName": null, "ddl": "…",
              "tableChanges": [{"type": "CREATE" | "ALTER" | "DROP", "id": the quoted name,
                                "table": null}, …]}

A statement has one record for each database of followed tables, before its effects on rows. The
log has its text, but not the table's definition after it, so `table` is null: `<prefix>.schema`
has the columns before the first row with them. A rename drops one name and creates another;
TRUNCATE does not change the columns and has no table changes.

*Transaction metadata*, in `<prefix>.transaction`, with ids that equal the header `cdc.txn` of the
rows::

    key    {"id": "3e11fa47-…:23"}
    BEGIN  {"status": "BEGIN", "id": …, "event_count": null, "data_collections": null, "ts_ms": …}
    END    {"status": "END", "id": …, "event_count": 3, "data_collections":
            [{"data_collection": "shop.orders", "event_count": 3}], "ts_ms": …}

The counts are of row records, without tombstones; a transaction without rows has no records here.
"""

import json
from collections.abc import Mapping
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog.statement import StatementKind
from connector.foundation import contract
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget, put_header, put_varint
from connector.stream.changes.transaction import SourceTransaction, StatementChange
from connector.stream.envelope.options import EnvelopeOptions

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
    sequence: contract.Sequence,
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


def _headers(sequence: contract.Sequence, transaction_id: str) -> bytes:
    out = BytesWriter()
    put_varint(out, _HEADERS)
    put_header(out, contract.HEADER_SEQ.encode(), str(sequence).encode())
    put_header(out, contract.HEADER_TXN.encode(), transaction_id.encode())
    return out.getvalue()


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@final
class TransactionRecords(RecordTarget):
    """Passes records on, and writes the beginnings and ends of their transactions."""

    def __init__(self, prefix: str, target: RecordTarget) -> None:
        self._topic = contract.control_topic(prefix, contract.TRANSACTION_TOPIC_SUFFIX)
        self._target = target
        self._open: SourceTransaction | None = None
        # Number of row records, by `database.table`.
        self._counts: dict[str, int] = {}
        self._table = ""

    def enter(self, transaction: SourceTransaction, database: str, table: str) -> None:
        """Note that the next rows belong to this table, and to `transaction`."""
        if transaction is not self._open:
            self._open = transaction
            self._counts = {}
        self._table = f"{database}.{table}"

    def leave(self, transaction: SourceTransaction) -> None:
        """Write the end of `transaction`, if it had rows."""
        if self._open is transaction and self._counts:
            collections: list[dict[str, object]] = [
                {"data_collection": table, "event_count": count}
                for table, count in self._counts.items()
            ]
            self._put(transaction, "END", sum(self._counts.values()), collections)
        self._open = None

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Count a row record and give it to the target; raises the target's errors."""
        opened = self._open
        # Records other than rows have no headers.
        if opened is not None and value is not None and headers != NO_HEADERS:
            # Checked first, because a record that is not taken must not be counted.
            self.require_room(topic, key, value, headers)
            self.require_topic(topic)
            if not self._counts:
                self._put(opened, "BEGIN", None, None)
            self._counts[self._table] = self._counts.get(self._table, 0) + 1
        self._target.take(topic, key, value, headers, timestamp_ms)

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the target's error for a record that is too large for it."""
        self._target.require_room(topic, key, value, headers)

    def require_topic(self, topic: str) -> None:
        """Raise the target's error for a topic that cannot be created."""
        self._target.require_topic(topic)

    def _put(
        self,
        transaction: SourceTransaction,
        status: str,
        count: int | None,
        collections: list[dict[str, object]] | None,
    ) -> None:
        timestamp_ms = transaction.committed_us // _US_PER_MS
        value: dict[str, object] = {
            "status": status,
            "id": transaction.id,
            "event_count": count,
            "data_collections": collections,
            "ts_ms": timestamp_ms,
        }
        self._target.take(
            self._topic,
            _json({"id": transaction.id}),
            _json(value),
            NO_HEADERS,
            timestamp_ms,
        )
