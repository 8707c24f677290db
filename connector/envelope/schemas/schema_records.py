"""The schema records of one stream: those that have been written, and the content of the next ones.

The schema record comes before the first row of its column list. A restart knows the column lists,
because the keys of all schema records are read back before the stream opens. A schema record that
is written twice is the same record with the same key.

*The current column list* is mostly that of the newest record. It is an older one if a table
returned to it, because that has no new record. After a statement that makes a copy necessary it is
unknown, until rows come. The progress record says so for each such table.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast, final

from connector.changes.added_columns import DefaultKind
from connector.changes.known_columns import KnownColumns, PublishedColumns
from connector.envelope.schemas.added_default import with_added_default
from connector.envelope.schemas.table_schema import schema_topic
from connector.records.record import NO_HEADERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_extensions import i64

    from connector.changes.added_columns import AddedColumn
    from connector.contract import SchemaColumn, Sequence
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.records.record import RecordTarget


# In place of the id of a column list.
_UNKNOWN: Final = ""
_NO_TABLE: Final = "none"


@final
class SchemaRecords(PublishedColumns):
    """Writes each column list once, and again with columns that were added to its table."""

    def __init__(
        self,
        prefix: str,
        target: RecordTarget,
        records: Mapping[str, bytes],
        added_columns: dict[str, list[AddedColumn]] | None,
        current: dict[str, str] | None = None,
    ) -> None:
        """Continue after `records`, by key in their order, have been written to `target`.

        `added_columns` are columns, by `database.table`, of tables without rows since their ALTER
        TABLE. `current` is what an earlier run left in the attribute of this name.
        """
        self._topic = schema_topic(prefix)
        self._target = target
        self.added_columns = dict(added_columns or {})
        # The ids and records of each table's column lists, the newest last.
        self._ids: dict[str, dict[str, bytes]] = {}
        for key, value in records.items():
            name, _, schema_id = key.rpartition("/")
            self._ids.setdefault(name, {})[schema_id] = value
        # The ids of current column lists, of tables whose newest record has another one.
        self.current = dict(current or {})
        # Tables that a statement has changed since their latest row.
        self.altered: dict[str, None] = {}

    def newest_id(self, name: str) -> str:
        """Return the id of the last written column list of `database.table`.

        "" if nothing of the table was ever published.
        """
        ids = self._ids.get(name)
        return next(reversed(ids)) if ids else ""

    def tables(self, database: str) -> list[str]:
        """Return the published tables of a database."""
        start = f"{database}."
        return [name[len(start) :] for name in self._ids if name.startswith(start)]

    def known(self, database: str, table: str) -> KnownColumns | None:
        """Return the columns that consumers know, and those that were added since."""
        name = f"{database}.{table}"
        ids = self._ids.get(name, {})
        current = self.current.get(name, next(reversed(ids)) if ids else _NO_TABLE)
        awaited = [column.name for column in self.added_columns.get(name, ())]
        if current == _NO_TABLE:
            return KnownColumns((), awaited)
        columns = _columns(ids[current]) if current in ids else []
        return KnownColumns(columns, awaited) if columns else None

    def waits(self, name: str) -> bool:
        """Return whether a statement has changed `database.table` since its latest row."""
        return name in self.altered or name in self.added_columns

    def hold_back(self, name: str) -> None:
        """Note that rows of `database.table` are kept back, maybe before any was published."""
        if name not in self._ids:
            self.current[name] = _UNKNOWN

    def forget(self, name: str) -> None:
        """Note that the columns of `database.table` are unknown until rows come."""
        self.current[name] = _UNKNOWN

    def change(self, name: str, *, ends: bool) -> None:
        """Note a statement that can change the columns of `database.table`, or `ends` the table."""
        self.altered[name] = None
        if ends and name in self._ids:
            self.current[name] = _NO_TABLE

    def doubt(self, schema: TableSchema) -> str:
        """Return why rows of `schema` show that consumers have wrong ones; "" mostly.

        Consumers know the earlier rows by their keys, and complete them with the added columns.
        """
        known = self.known(schema.database, schema.table)
        if known is None or known.nothing:
            return ""
        added = {column.name: column for column in self.added_columns.get(schema.name, ())}
        for column in schema.columns:
            name = column["name"]
            if name in added:
                told = with_added_default(column, added[name])
                if told.get("added_default_unknown", False):
                    return f"the value of the added column {name} in its rows is not in the log"
                if not column["nullable"] and added[name].default is DefaultKind.NULL:
                    return f"the value of the added column {name} in its rows is not in the log"
            else:
                before = known.column(name)
                if (before["key"] if before is not None else 0) != column["key"]:
                    return "its key was changed"
        return ""

    def add_columns(self, name: str, columns: list[AddedColumn]) -> None:
        """Note columns that were added to `database.table`."""
        self.added_columns[name] = [*self.added_columns.get(name, ()), *columns]

    def awaits(self, schema: TableSchema) -> bool:
        """Return whether a column list has columns that were added without any row since.

        An older column list does not have them.
        """
        awaited = {column.name for column in self.added_columns.get(schema.name, ())}
        return bool(awaited) and any(column["name"] in awaited for column in schema.columns)

    def write(
        self,
        schema: TableSchema,
        sequence: Sequence,
        timestamp_ms: i64,
        takes_up: bool = True,
        anchor: str = "",
    ) -> None:
        """Write the record of a column list, unless it was written with the same content.

        `sequence` is that of the first row that uses it. The added columns belong to another column
        list unless it `takes_up` them. `anchor` is the position at which the server was asked for
        the columns, "" without one.
        """
        known = self._ids.setdefault(schema.name, {})
        current = self.current.pop(schema.name, next(reversed(known)) if known else None)
        waiting = self.added_columns.get(schema.name, ()) if takes_up else ()
        added = {column.name: column for column in waiting}
        if added or anchor or schema.schema_id not in known:
            columns = [
                with_added_default(column, added[column["name"]])
                if column["name"] in added
                else column
                for column in schema.columns
            ]
            value = schema.record_value(sequence, columns, anchor)
            self._target.take(self._topic, schema.record_key(), value, NO_HEADERS, timestamp_ms)
            known.pop(schema.schema_id, None)
            known[schema.schema_id] = value
        if takes_up:
            self.added_columns.pop(schema.name, None)
            self.altered.pop(schema.name, None)
            current = schema.schema_id
        if current is not None and current != next(reversed(known)):
            self.current[schema.name] = current


def _columns(record: bytes) -> list[SchemaColumn]:
    return cast("list[SchemaColumn]", json.loads(record).get("columns", []))
