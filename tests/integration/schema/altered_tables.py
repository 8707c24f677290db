"""A consumer of one table's records, beside the table on a real server that has them.

The log is read from the server's file. Between two statements everything is restarted from what the
progress record and the schema records hold.
"""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from connector.binlog.table_filter import TableFilter
from connector.foundation.operating_system import TemporaryFolder
from connector.stream.changes.assembler import TransactionAssembler
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import ChangeReceiver, TransactionEnd
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.progress.sequences import TransactionOrder
from local_stack import connect
from tests.binlog.source_log import SourceLog
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.kafka_records import Record
    from connector.stream.changes.column_defaults import AddedColumn
    from connector.stream.changes.transaction import RowsChange, StatementChange
    from local_stack import Server

NOW_US = 1_700_000_000_000_000
TABLE = "t"
# Every value of a row is in the log of this statement, as the server has it.
TOUCH = f"UPDATE {TABLE} SET tick = tick + 1"
STRICT = "STRICT_ALL_TABLES"
# The column that `TOUCH` changes, and the key; no test alters them.
HEAD = "id INT PRIMARY KEY, tick INT NOT NULL DEFAULT 0"
_UNKNOWN = {"unknown": True}


class Consumer:
    """The rows that a consumer has, by their key; it knows columns by their names."""

    def __init__(self) -> None:
        self._schemas: dict[str, list[dict[str, Any]]] = {}
        self._schema = ""
        # The newest column list, if a statement said it.
        self.stated: list[dict[str, Any]] | None = None
        self.rows: dict[str, dict[str, Any]] = {}
        # Rows that the server had otherwise: key, what the consumer had, what the server had.
        self.differences: list[tuple[str, Any, Any]] = []

    def take(self, records: list[Record]) -> None:
        """Apply records, and compare rows with their images before the change."""
        for record in records:
            if record.value is None or record.key is None or record.topic == "p":
                continue
            value = json.loads(record.value)
            if record.topic == "p.schema":
                if value["table"] == TABLE:
                    self._schemas[value["schema_id"]] = value["columns"]
                    self.stated = value["columns"] if "stated" in value else None
            elif record.topic.endswith(f".{TABLE}"):
                self._follow(dict(record.headers)["cdc.schema"].decode())
                self._apply(record.key.decode(), value)

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The column list of the latest row."""
        return self._schemas[self._schema]

    def _apply(self, key: str, value: dict[str, Any]) -> None:
        if value["op"] == "t":
            self.rows.clear()
            return
        if value["before"] is not None:
            known = self.rows.pop(key, None)
            if known != value["before"]:
                self.differences.append((key, known, value["before"]))
        if value["after"] is not None:
            self.rows[key] = value["after"]

    def _follow(self, schema: str) -> None:
        """Give all rows the columns of another list."""
        if schema == self._schema:
            return
        self._schema = schema
        columns = self._schemas[schema]
        for key, row in self.rows.items():
            self.rows[key] = {
                column["name"]: row.get(column["name"], _added(column)) for column in columns
            }


def _added(column: dict[str, Any]) -> object:
    if column.get("added_default_unknown"):
        return _UNKNOWN
    return column.get("added_default")


class _Receiver(ChangeReceiver):
    """Encodes as the stream of a pipeline does."""

    def __init__(self, encoder: RecordEncoder) -> None:
        self._encoder = encoder
        self.resyncs: list[str] = []

    def rows(self, change: RowsChange) -> None:
        self._encoder.rows(change, NOW_US)

    def statement(self, change: StatementChange) -> None:
        self._encoder.statement(change, NOW_US)
        if change.resync and change.table == TABLE:
            self.resyncs.append(change.resync)

    def transaction_end(self, end: TransactionEnd) -> None:
        del end
        self.resyncs += [why for _, table, why in self._encoder.doubts if table == TABLE]
        self._encoder.doubts.clear()


class AlteredTable:
    """A table in a database of its own, and its consumer."""

    def __init__(self, log: SourceLog, database: str) -> None:
        self.log = log
        self._tables = TableFilter([f"{database}.*"])
        self._schemas: dict[str, bytes] = {}
        self._added: dict[str, list[AddedColumn]] = {}
        self._current: dict[str, str] = {}
        self._stated: dict[str, str] = {}
        self._online = OnlineSchemaChanges()
        self.consumer = Consumer()
        # MariaDB checks again whether the text of a JSON column is JSON.
        mariadb = "MariaDB" in str(log.execute("SELECT VERSION()")[0][0])
        self._touch = f"SET STATEMENT check_constraint_checks = 0 FOR {TOUCH}" if mariadb else TOUCH

    def run(self, *statements: str) -> list[str]:
        """Run statements and read their log; return why the table is to be copied again."""
        for statement in statements:
            self.log.execute(statement)
        target = Collected()
        encoder = RecordEncoder(
            EnvelopeOptions("p", "mysql", "1"),
            TransactionOrder(),
            target,
            SchemaState(self._schemas, self._added, self._current, self._stated),
        )
        receiver = _Receiver(encoder)
        assembler = TransactionAssembler(
            self._tables,
            receiver,
            TemporaryFolder(),
            online=self._online,
            columns=encoder.schemas,
        )
        for event in self.log.events():
            assembler.receive(event)
        self._added = dict(encoder.schemas.added_columns)
        self._current = dict(encoder.schemas.current)
        self._stated = dict(encoder.schemas.stated)
        self._online = OnlineSchemaChanges.of_record(self._online.to_record(), keeps_rows=False)
        records = target.release()
        for record in records:
            if record.topic == "p.schema" and record.key is not None:
                assert record.value is not None
                self._schemas.pop(record.key.decode(), None)
                self._schemas[record.key.decode()] = record.value
        self.consumer.take(records)
        return receiver.resyncs

    @property
    def stated(self) -> list[dict[str, Any]] | None:
        """The column list that the latest statements gave the table; None if it is not certain."""
        return self.consumer.stated if any(self._stated.values()) else None

    def mode(self, mode: str) -> None:
        """Set sql_mode of the session."""
        self.log.execute(f"SET SESSION sql_mode = '{mode}'")

    def differences(self) -> tuple[list[str], list[tuple[str, Any, Any]]]:
        """Compare all rows; return why the table is to be copied again, and what differs."""
        self.mode("")
        resyncs = self.run(self._touch)
        differences = self.consumer.differences
        self.consumer.differences = []
        count = self.log.execute(f"SELECT COUNT(*) FROM {TABLE}")[0][0]
        if len(self.consumer.rows) != count:
            differences.append(("rows", len(self.consumer.rows), count))
        return resyncs, differences

    def copy(self) -> None:
        """Do as a copy does: consumers forget the rows, and get all rows of now."""
        self.consumer.rows.clear()
        self.run(self._touch)
        self.consumer.differences.clear()


@contextmanager
def altered_table(server: Server) -> Iterator[AlteredTable]:
    """Follow the tables of a new database."""
    database = f"altered_{uuid.uuid4().hex[:12]}"
    with connect(server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        # The file is read anew after each statement.
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute(f"USE {database}")
        yield AlteredTable(SourceLog(connection), database)
        cursor.execute(f"DROP DATABASE {database}")
