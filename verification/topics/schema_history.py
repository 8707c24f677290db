"""The schema records of the topics, as the pipeline knew them at each point of the log."""

import json
from collections.abc import Iterable
from typing import Any

from connector.foundation.contract import SchemaColumn, SchemaRecord, Sequence
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.transaction import RowsChange
from connector.stream.envelope.schemas import server_schemas
from connector.stream.envelope.schemas.schema_records import SchemaRecords
from connector.stream.envelope.schemas.table_schema import every_column


class SchemaHistory(server_schemas.DefinitionSource):
    """Tells an encoder of the schema records that the topic has up to a sequence.

    Copies write such records too. They also name the columns of tables that the log does not
    describe.
    """

    def __init__(self, records: Iterable[Any], pipeline: str, *, mariadb: bool) -> None:
        """Keep `records`, all that the topic holds."""
        # A statement can give a table an older list again, and its record says both sequences.
        self._records = [
            (sequence, record.key.decode(), record.value)
            for record in records
            if record.value is not None
            for sequence in _sequences(json.loads(record.value))
        ]
        self._records.sort(key=lambda record: record[0])
        self.keys = frozenset(key.encode() for _, key, _ in self._records)
        self._known = 0
        self._columns: dict[str, list[SchemaColumn]] = {}
        self.unlogged = RecordedUnloggedColumns()
        self._written: SchemaRecords | None = None
        self.server_schemas = server_schemas.ServerSchemas(
            self, pipeline, StreamListener(), mariadb=mariadb
        )

    @property
    def names(self) -> set[str]:
        """All tables, as `database.table`."""
        return {key.rpartition("/")[0] for _, key, _ in self._records}

    def attach(self, written: SchemaRecords) -> None:
        """Teach this encoder the known records, and from now on the new ones."""
        for _, key, value in self._records[: self._known]:
            written.learn(key, value)
        self._written = written

    def tables(self, database: str) -> list[str]:
        """Return the tables of a database, at any time."""
        start = f"{database}."
        return sorted(name[len(start) :] for name in self.names if name.startswith(start))

    def learn(self, sequence: Sequence) -> None:
        """Go on to a sequence; the records of it were written before its rows."""
        records = self._records
        if self._known == len(records):
            return
        until = str(sequence)
        while self._known < len(records) and records[self._known][0] <= until:
            _, key, value = records[self._known]
            record: SchemaRecord = json.loads(value)
            name = key.rpartition("/")[0]
            self._columns[name] = every_column(record)
            self.unlogged.learn(name, record)
            if self._written is not None:
                self._written.learn(key, value)
            self._known += 1

    def define(
        self, database: str, table: str, change: RowsChange
    ) -> server_schemas.ServerDefinition:
        """Return the columns of the newest record of a table."""
        columns = self._columns.get(f"{database}.{table}")
        return server_schemas.ServerDefinition(
            columns, change.event.file, change.event.position, changed=False
        )


class RecordedUnloggedColumns(server_schemas.UnloggedColumns):
    """The columns that records leave out, as the newest schema records name them."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def learn(self, name: str, record: SchemaRecord) -> None:
        """Note the newest record of `database.table`."""
        entries = record.get("unlogged", ())
        self._names[name] = frozenset(entry["column"]["name"] for entry in entries)

    def of(self, database: str, table: str, suspects: frozenset[str]) -> frozenset[str]:
        """Return the names of these columns of a table; none if there is no record."""
        del suspects
        return self._names.get(f"{database}.{table}", frozenset())


def _sequences(record: SchemaRecord) -> set[str]:
    return {record["seq"], record.get("stated", record["seq"])}
