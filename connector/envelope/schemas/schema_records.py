"""The schema records of one stream: those that have been written, and the content of the next ones.

The schema record comes before the first row of its column list. A restart knows the column lists,
because the keys of all schema records are read back before the stream opens. A schema record that
is written twice is the same record with the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.envelope.schemas.added_default import with_added_default
from connector.envelope.schemas.table_schema import schema_topic
from connector.records.record import NO_HEADERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_extensions import i64

    from connector.changes.added_columns import AddedColumn
    from connector.contract import Sequence
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.records.record import RecordTarget


@final
class SchemaRecords:
    """Writes each column list once, and again with columns that were added to its table."""

    def __init__(
        self,
        prefix: str,
        target: RecordTarget,
        keys: Iterable[str],
        added_columns: dict[str, list[AddedColumn]] | None,
    ) -> None:
        """Continue after the records with `keys`, in their order, have been written to `target`.

        `added_columns` are columns, by `database.table`, of tables without rows since their ALTER
        TABLE.
        """
        self._topic = schema_topic(prefix)
        self._target = target
        self.added_columns = dict(added_columns or {})
        # The ids of each table's column lists, the newest last.
        self._ids: dict[str, dict[str, None]] = {}
        for key in keys:
            name, _, schema_id = key.rpartition("/")
            self._ids.setdefault(name, {})[schema_id] = None

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
        waiting = self.added_columns.get(schema.name, ()) if takes_up else ()
        added = {column.name: column for column in waiting}
        if added or anchor or schema.schema_id not in known:
            columns = [
                with_added_default(column, added[column["name"]])
                if column["name"] in added
                else column
                for column in schema.columns
            ]
            self._target.take(
                self._topic,
                schema.record_key(),
                schema.record_value(sequence, columns, anchor),
                NO_HEADERS,
                timestamp_ms,
            )
            known.pop(schema.schema_id, None)
            known[schema.schema_id] = None
        if takes_up:
            self.added_columns.pop(schema.name, None)
