"""The schema records of one stream: the written ones, and the content of the next ones.

The schema record comes before the first row of its column list. A restart knows the column lists,
because the keys of all schema records are read back before the stream opens. A schema record that
is written twice is the same record with the same key.

*The current column list* is mostly that of the newest record. It is an older one if a table
returned to it, because that has no new record. After a statement that makes a copy necessary it is
unknown, until rows come. The progress record says so for each such table.

*A stated column list* comes from the text of ALTER TABLE, for consumers that show a table before
its next row comes. Its record has the sequence of the statement. It is not current: what keeps the
rows is judged by the columns that rows have had. If the next row has another list, that one has a
record after it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast, final

from mypy_extensions import i64

from connector.foundation import contract
from connector.foundation.kafka_records import NO_HEADERS, RecordTarget
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.changes.column_lists import ColumnListEdits, KnownColumns, PublishedColumns
from connector.stream.envelope.schemas.column_masks import TextTransform, transformed_json
from connector.stream.envelope.schemas.default_values import with_added_default
from connector.stream.envelope.schemas.table_schema import (
    TableSchema,
    schema_topic,
    without_history,
)

# In place of the id of a column list.
_UNKNOWN: Final = ""
_NO_TABLE: Final = "none"


@final
class SchemaState:
    """What earlier runs left of the column lists of one stream."""

    def __init__(
        self,
        records: Mapping[str, bytes] | None = None,
        added_columns: dict[str, list[AddedColumn]] | None = None,
        current: dict[str, str] | None = None,
        stated: dict[str, str] | None = None,
    ) -> None:
        """Hold the schema records that were written, by key in their order.

        `added_columns` are columns, by `database.table`, of tables without rows since their ALTER
        TABLE. `current` and `stated` are those of `SchemaRecords`.
        """
        self.records: Mapping[str, bytes] = {} if records is None else records
        self.added_columns = dict(added_columns or {})
        self.current = dict(current or {})
        self.stated = dict(stated or {})


@final
class SchemaRecords(PublishedColumns):
    """Writes each column list once, and again with columns that were added to its table."""

    def __init__(
        self,
        prefix: str,
        target: RecordTarget,
        earlier: SchemaState,
        profile: str = contract.EXACT,
    ) -> None:
        """Continue after `earlier` runs, whose records have been written to `target`.

        `profile` is that of the rows' values.
        """
        self._profile = profile
        self._topic = schema_topic(prefix)
        self._target = target
        self.added_columns = earlier.added_columns
        # The ids and records of each table's column lists, the newest last.
        self._ids: dict[str, dict[str, bytes]] = {}
        for key, value in earlier.records.items():
            self.learn(key, value)
        # The ids of current column lists, of tables whose newest record has another one.
        self.current = earlier.current
        # The ids of stated column lists, of tables that a statement has changed since their latest
        # row; "" if the text of a statement did not determine the list.
        self.stated = earlier.stated
        # Tables that a statement has changed since their latest row.
        self.altered: dict[str, None] = {}

    def newest_id(self, name: str) -> str:
        """Return the id of the last written column list of `database.table`.

        "" if nothing of the table was ever published.
        """
        ids = self._ids.get(name)
        return next(reversed(ids)) if ids else ""

    def newest(self, name: str) -> contract.SchemaRecord:
        """Return the last written record of `database.table`, which has one."""
        ids = self._ids[name]
        return cast("contract.SchemaRecord", json.loads(ids[next(reversed(ids))]))

    def learn(self, key: str, value: bytes) -> None:
        """Note a record that another encoder has written, the newest of its table."""
        name, _, schema_id = key.rpartition("/")
        known = self._ids.setdefault(name, {})
        known.pop(schema_id, None)
        known[schema_id] = value

    def tables(self, database: str) -> list[str]:
        """Return the published tables of a database."""
        start = f"{database}."
        return [name[len(start) :] for name in self._ids if name.startswith(start)]

    def current_tables(self, database: str) -> list[str]:
        """Return the published tables of a database that no statement has ended since."""
        return [
            table
            for table in self.tables(database)
            if self._current_id(f"{database}.{table}") != _NO_TABLE
        ]

    def published(self) -> Iterator[tuple[str, str]]:
        """Yield database and table of all that have had records, the oldest first."""
        for ids in self._ids.values():
            record: contract.SchemaRecord = json.loads(next(iter(ids.values())))
            yield record["database"], record["table"]

    def known(self, database: str, table: str) -> KnownColumns | None:
        """Return the columns that consumers know, and the names that columns have or have had."""
        name = f"{database}.{table}"
        ids = self._ids.get(name, {})
        current = self._current_id(name)
        taken = [column.name for column in self.added_columns.get(name, ())]
        if current == _NO_TABLE:
            return KnownColumns((), taken)
        columns = _columns(ids[current]) if current in ids else []
        taken += [column["name"] for record in ids.values() for column in _columns(record)]
        return KnownColumns(columns, taken) if columns else None

    def _current_id(self, name: str) -> str:
        """Return the id of the list that the rows of `database.table` have."""
        ids = self._ids.get(name)
        return self.current.get(name, next(reversed(ids)) if ids else _NO_TABLE)

    def _with_added_defaults(
        self, name: str, columns: Iterable[contract.SchemaColumn]
    ) -> list[contract.SchemaColumn]:
        """Return columns of `database.table` with the values of existing rows in added ones."""
        added = {column.name: column for column in self.added_columns.get(name, ())}
        return [
            with_added_default(column, added[column["name"]]) if column["name"] in added else column
            for column in columns
        ]

    def _stated_types(self, name: str) -> dict[str, str]:
        """Return the type of each column in the stated list of `database.table`."""
        record = self._ids.get(name, {}).get(self.stated.get(name, _UNKNOWN))
        columns = [] if record is None else _columns(record)
        return {column["name"]: column["type"] for column in columns}

    def waits(self, name: str) -> bool:
        """Return whether a statement has changed `database.table` since its latest row."""
        return name in self.altered or name in self.added_columns

    def withhold(self, name: str) -> None:
        """Note that rows of `database.table` are kept back, maybe before any was published."""
        if name not in self._ids:
            self.current[name] = _UNKNOWN

    def forget(self, name: str) -> None:
        """Note that the columns of `database.table` are unknown until rows come."""
        self.current[name] = _UNKNOWN
        self.stated.pop(name, None)

    def change(self, name: str, *, ends: bool) -> None:
        """Note a statement that can change the columns of `database.table`, or `ends` the table."""
        self.altered[name] = None
        if ends and name in self._ids:
            self.current[name] = _NO_TABLE
            self.stated.pop(name, None)

    def doubt_list(self, name: str) -> None:
        """Note a statement that does not say which columns `database.table` has now."""
        if self._current_id(name) in self._ids.get(name, {}):
            self.stated[name] = _UNKNOWN

    def state(
        self,
        database: str,
        table: str,
        edits: ColumnListEdits | None,
        sequence: contract.Sequence,
        timestamp_ms: i64,
    ) -> None:
        """Write the column list that a statement gives to a table, if it is certain.

        `edits` are what the statement at `sequence` does to the list before; None if that is not
        certain. Columns that it adds are noted before.
        """
        name = f"{database}.{table}"
        known = self._ids.get(name, {})
        current = self._current_id(name)
        before = self.stated.get(name, current)
        if before not in known:
            return
        columns = [without_history(column) for column in _columns(known[before])]
        edited = None if edits is None else edits.applied(columns)
        if edited == columns:
            return
        self.stated[name] = _UNKNOWN
        if edited is None:
            return
        described = self._with_added_defaults(name, edited)
        if any(column.get("added_default_unknown", False) for column in described):
            return
        kinds: dict[str, str] = json.loads(known[before]).get("kinds", {})
        schema = TableSchema.of_columns(database, table, tuple(edited), kinds=kinds)
        # Rows may have had this list before.
        first = _first(known.pop(schema.schema_id, b""), sequence)
        value = schema.record_value(first, described, stated=str(sequence), profile=self._profile)
        self._target.take(self._topic, schema.record_key(), value, NO_HEADERS, timestamp_ms)
        known[schema.schema_id] = value
        self.stated[name] = schema.schema_id
        self.current[name] = current
        if current == schema.schema_id:
            del self.current[name]

    def doubt(self, schema: TableSchema) -> str:
        """Return why rows of `schema` show that consumers have wrong ones; "" mostly.

        Consumers know the earlier rows by their keys, and complete them with the added columns.
        """
        known = self.known(schema.database, schema.table)
        if known is None or known.nothing:
            return ""
        added = {column.name: column for column in self.added_columns.get(schema.name, ())}
        stated = self._stated_types(schema.name)
        for column in schema.columns:
            name = column["name"]
            if name in added:
                described = with_added_default(column, added[name])
                if stated.get(name, column["type"]) != column["type"]:
                    return f"the added column {name} has not the type that its statement says"
                if described.get("added_default_unknown", False):
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
        sequence: contract.Sequence,
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
        newest = next(reversed(known)) if known else None
        current = self.current.pop(schema.name, newest)
        is_awaited = takes_up and schema.name in self.added_columns
        # Consumers would take a stated list for the newest one.
        corrects = takes_up and newest not in (None, schema.schema_id) and _is_stated(known[newest])
        if (
            is_awaited
            or corrects
            or anchor
            or schema.schema_id not in known
            or _unlogged(known[schema.schema_id]) != [*schema.unlogged]
        ):
            columns = [*schema.columns]
            if takes_up:
                columns = [
                    _changed(column, schema.changes.get(column["name"]))
                    for column in self._with_added_defaults(schema.name, schema.columns)
                ]
            value = schema.record_value(sequence, columns, anchor, profile=self._profile)
            self._target.take(self._topic, schema.record_key(), value, NO_HEADERS, timestamp_ms)
            known.pop(schema.schema_id, None)
            known[schema.schema_id] = value
        if takes_up:
            self.added_columns.pop(schema.name, None)
            self.altered.pop(schema.name, None)
            self.stated.pop(schema.name, None)
            current = schema.schema_id
        if current is not None and current != next(reversed(known)):
            self.current[schema.name] = current


def _changed(column: contract.SchemaColumn, change: TextTransform | None) -> contract.SchemaColumn:
    """Return a column whose value in existing rows is the one that records would have."""
    if change is None or "added_default" not in column:
        return column
    value = json.dumps(column["added_default"]).encode()
    return {**column, "added_default": json.loads(transformed_json(value, change, escapes=False))}


def _is_stated(record: bytes) -> bool:
    return "stated" in json.loads(record)


def _unlogged(record: bytes) -> list[contract.UnloggedColumn]:
    columns: list[contract.UnloggedColumn] = json.loads(record).get("unlogged", [])
    return columns


def _first(record: bytes, sequence: contract.Sequence) -> contract.Sequence:
    """Return the sequence of `record`, if there is one, else `sequence`."""
    return contract.Sequence.parse(json.loads(record)["seq"]) if record else sequence


def _columns(record: bytes) -> list[contract.SchemaColumn]:
    return cast("list[contract.SchemaColumn]", json.loads(record).get("columns", []))
