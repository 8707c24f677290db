"""Schemas from the server, for tables whose columns the log does not name or does not have.

With binlog_row_metadata=FULL each table map describes the columns of its rows. Otherwise (MINIMAL,
NO_LOG, MySQL before 8.0), the server is asked for the table's definition *now*, which may differ
from that at the time of the rows. The answer, the anchor, becomes the metadata that the table map
lacks, so no other code has to handle this case.

*When an anchor is exact.* It is read while the stream is at position S, and is true for position
C. If no statement between S and C changes the table, the anchor is exact from S on, up to the next
such statement in the stream. It must also agree with the table map (the number of columns, types,
lengths, NULL).

*If it is not exact*, the columns of rows from S to C are uncertain, and the rows are dropped. The
table is copied again instead: the copy is read after C, so it includes their changes. If the table
does not exist at C, its rows up to DROP TABLE are dropped: their columns cannot be known any more,
and the statement's record takes back all rows of the table. The server is asked again at the next
statement on the table in the stream, or after C.

*Rows without values.* Newer MariaDB servers do not log generated columns in each row, and only the
server says which columns these are now (`UnloggedColumns`); records leave them out, as they leave
out hidden columns. If a row lacks others, and a statement has changed the table since, its rows
are dropped up to now, and the table is copied again in the same way (`lose`).

*Restarts.* The schema record of an anchored table has the field `anchor`, so its columns stay
known after a restart, until a statement changes the table. The progress record names the tables
that were changed since. Anchors of another pipeline are ignored, because its position in the log
is another one.
"""

import json
import re
from collections.abc import Iterable
from typing import Final, cast, final

from mypy_extensions import mypyc_attr

from connector.binlog.character_sets import BINARY_COLLATION
from connector.binlog.columns.column import Column
from connector.binlog.columns.optional_metadata import MetadataField, write_optional_metadata
from connector.binlog.event import Event
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import file_number
from connector.foundation.contract import SchemaColumn, SchemaRecord
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.transaction import RowsChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.schemas.table_schema import (
    every_column,
    schema_column,
    without_history,
)

_CHARSETS = frozenset({MetadataField.DEFAULT_CHARSET, MetadataField.COLUMN_CHARSET})


@final
class ServerDefinition:
    """A table's definition according to the server."""

    __slots__ = ("changed", "columns", "file", "is_sequence", "position")

    def __init__(
        self,
        columns: list[SchemaColumn] | None,
        file: str,
        position: int,
        *,
        changed: bool,
        is_sequence: bool = False,
    ) -> None:
        """The table has `columns` at `position` of `file`; None if no table has its name.

        `changed` says whether its definition has changed since the position asked about,
        `is_sequence` whether the name is that of a sequence.
        """
        self.is_sequence = is_sequence
        self.columns = columns
        self.file = file
        self.position = position
        self.changed = changed


@mypyc_attr(allow_interpreted_subclasses=True)
class DefinitionSource:
    """Asks the server of the stream."""

    def define(self, database: str, table: str, change: RowsChange) -> ServerDefinition:
        """Return the table's definition now, and whether it was the same at the time of `change`.

        Raises UnsupportedChange for a table that the server does not show or whose rows cannot be
        published, and SourceUnavailable or SourceRefused if the server does not let us ask.
        """
        raise NotImplementedError


@final
class ServerSchemas:
    """The known definitions of one stream's tables that the log does not describe."""

    def __init__(
        self,
        source: DefinitionSource,
        pipeline: str,
        listener: StreamListener,
        *,
        mariadb: bool,
        schemas: dict[str, bytes] | None = None,
        changed: Iterable[str] = (),
    ) -> None:
        """Start with the schema records in `schemas`, by key, the newest last.

        They are those of `pipeline`, which continues from its progress; `changed` are tables that
        were altered since their record. `listener` gets the tables whose rows are dropped.
        """
        self._source = source
        self._pipeline = pipeline
        self._listener = listener
        self._mariadb = mariadb
        self._anchors: dict[str, list[SchemaColumn]] = {}
        # Tables that have changed since a schema record with an anchor.
        self.changed: dict[str, None] = dict.fromkeys(changed)
        for key, value in (schemas or {}).items():
            name = key.rpartition("/")[0]
            if name in self.changed:
                continue
            record = json.loads(value)
            if "anchor" not in record:
                continue
            if record["anchor"].startswith(f"{pipeline}@"):
                self._anchors[name] = every_column(cast("SchemaRecord", record))
            else:
                self._anchors.pop(name, None)
        # Tables whose schema record has an anchor.
        self._recorded = dict.fromkeys((*self._anchors, *self.changed))
        # For anchors without a schema record: the value of its `anchor` field.
        self._unrecorded: dict[str, str] = {}
        # The position up to which rows are dropped: number of the file, offset.
        self._lost: dict[str, tuple[int, int]] = {}
        # For each table the last table map, and the same with its metadata.
        self._completed: dict[str, tuple[TableMapEvent, TableMapEvent]] = {}

    def completed(self, change: RowsChange) -> TableMapEvent | None:
        """Return the table map of a change with its metadata; None if its rows are dropped.

        Raises UnsupportedChange if the log and the server do not agree, or the server does not show
        the table, and the errors of the server.
        """
        table_map = change.rows.table_map
        name = f"{table_map.schema}.{table_map.table}"
        known = self._completed.get(name)
        if known is not None and known[0] is table_map:
            return known[1]
        anchor = self._anchors.get(name)
        if anchor is None:
            anchor = self._look(name, table_map, change)
            if anchor is None:
                return None
            completed = self._complete(table_map, anchor)
            if completed is None:
                raise _misfit(name, change.event)
        else:
            completed = self._complete(table_map, anchor)
            if completed is None:
                # An unrecognized statement changed the table: ask for its definition now.
                self._forget(name)
                return self.completed(change)
        self._completed[name] = table_map, completed
        return completed

    @property
    def has_lost(self) -> bool:
        """Whether rows of a table may have to be dropped."""
        return len(self._lost) > 0

    def is_lost(self, change: RowsChange) -> bool:
        """Return whether the rows of a change are dropped, because the table is copied again."""
        table_map, event = change.rows.table_map, change.event
        lost = self._lost.get(f"{table_map.schema}.{table_map.table}")
        return lost is not None and (file_number(event.file), event.position) < lost

    def lose(self, change: RowsChange) -> bool:
        """Drop the rows of a change, whose images lack columns, if the table was changed since.

        Which columns the log always lacks is known only of the table as it is now. Returns whether
        the rows are dropped, with all others of the table up to now. Raises as `completed` does.
        """
        table_map = change.rows.table_map
        definition = self._source.define(table_map.schema, table_map.table, change)
        if not definition.changed:
            return False
        why = "the log lacks columns of its rows"
        self._lose(f"{table_map.schema}.{table_map.table}", change, definition, why)
        return True

    def forget(self, database: str, table: str) -> None:
        """Note a statement that changes a table, or all of `database` if `table` is ""."""
        name = f"{database}.{table}"
        if table:
            self._forget(name)
            return
        for known in [*self._anchors, *self._lost]:
            if known.startswith(name):
                self._forget(known)

    def take_anchor(self, name: str) -> str:
        """Return the `anchor` field for the table's next schema record; "" if it was written.

        From now on it counts as written.
        """
        anchor = self._unrecorded.pop(name, "")
        if anchor:
            self._recorded[name] = None
            self.changed.pop(name, None)
        return anchor

    def _forget(self, name: str) -> None:
        self._anchors.pop(name, None)
        self._completed.pop(name, None)
        self._unrecorded.pop(name, None)
        self._lost.pop(name, None)
        if name in self._recorded:
            self.changed[name] = None

    def _look(
        self, name: str, table_map: TableMapEvent, change: RowsChange
    ) -> list[SchemaColumn] | None:
        """Ask the server; return None if its answer is not true for the time of the rows."""
        event = change.event
        lost = self._lost.get(name)
        if lost is not None:
            if (file_number(event.file), event.position) < lost:
                return None
            del self._lost[name]
        definition = self._source.define(table_map.schema, table_map.table, change)
        position = f"{definition.file}:{definition.position}"
        columns = definition.columns
        if columns is not None and not definition.changed:
            self._anchors[name] = columns
            self._unrecorded[name] = f"{self._pipeline}@{position}"
            return columns
        self._lose(name, change, definition, "the log does not name its columns")
        return None

    def _lose(self, name: str, change: RowsChange, definition: ServerDefinition, why: str) -> None:
        """Drop the rows of a table up to the position of a definition, and have it copied."""
        table_map, event = change.rows.table_map, change.event
        self._lost[name] = file_number(definition.file), definition.position
        if definition.is_sequence:
            self._listener.sequence_left_out(table_map.schema, table_map.table)
        elif definition.columns is None:
            self._listener.rows_dropped(table_map.schema, table_map.table)
        else:
            end = f"{definition.file}:{definition.position}"
            reason = f"{why}, and from {event.file}:{event.position} to {end} it was changed"
            self._listener.resync_wanted(table_map.schema, table_map.table, reason)

    def _complete(
        self, table_map: TableMapEvent, anchor: list[SchemaColumn]
    ) -> TableMapEvent | None:
        """Return the table map with the metadata of `anchor`; None if the two do not agree."""
        if len(anchor) != len(table_map.columns):
            return None
        columns = [
            _with_server_facts(logged, column)
            for logged, column in zip(table_map.columns, anchor, strict=True)
        ]
        metadata = write_optional_metadata(columns, mariadb=self._mariadb)
        try:
            completed = table_map.with_metadata(metadata, mariadb=self._mariadb)
        except DecodeError:
            return None
        fields = table_map.metadata_fields
        signs, charsets = MetadataField.SIGNEDNESS in fields, not _CHARSETS.isdisjoint(fields)
        for logged, known, column in zip(table_map.columns, completed.columns, anchor, strict=True):
            if schema_column(known.name or "", known) != without_history(column):
                return None
            if signs and logged.unsigned != known.unsigned:
                return None
            # ENUM and SET have separate collations, in other fields.
            collation = logged.collation if charsets and known.labels is None else None
            if collation is not None and collation != known.collation:
                return None
        return completed


def _with_server_facts(logged: Column, column: SchemaColumn) -> Column:
    """Return a column of the log with the server's facts about it."""
    return Column(
        logged.type_code,
        logged.metadata,
        logged.nullable,
        name=column["name"],
        # The server calls no YEAR unsigned, and the log calls every YEAR unsigned.
        unsigned=column.get("unsigned", column["type"] == "year"),
        collation=column.get("collation", BINARY_COLLATION),
        labels=column.get("labels"),
        primary_key=column["key"],
    )


def _misfit(name: str, event: Event) -> UnsupportedChange:
    return UnsupportedChange(
        record_errors.MISFIT, log_position=f"{event.file}:{event.position}", table=name
    )


# How servers call the columns that no SELECT shows. MariaDB keeps the hash of each long unique key
# in the last columns; MySQL 8.0.13 and some releases after it log the columns of functional keys.
_HIDDEN_NAME: Final = re.compile(r"DB_ROW_HASH_\d+|[0-9a-f]{32}|!hidden!.*", re.DOTALL)


@mypyc_attr(allow_interpreted_subclasses=True)
class UnloggedColumns:
    """Knows these columns.

    The log does not always have the value of a generated column, or the server hides a column.
    """

    # Whether the log of the server lacks the values of generated columns.
    leaves_out_generated = False

    def of(self, database: str, table: str, suspects: frozenset[str]) -> frozenset[str]:
        """Return the names of these columns of a table.

        `suspects` are the columns in the log that have the name of a hidden one. Raises
        SourceUnavailable or SourceRefused.
        """
        raise NotImplementedError


def hidden_names(table_map: TableMapEvent) -> frozenset[str]:
    """Return the names of columns that may be hidden ones, mostly none."""
    return frozenset(
        column.name
        for column in table_map.columns
        if column.name is not None and _HIDDEN_NAME.fullmatch(column.name) is not None
    )
