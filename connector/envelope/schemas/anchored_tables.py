"""Tables whose columns the log does not name get them from the server: an anchor for each.

With binlog_row_metadata=FULL each table map tells what its rows are made of. Where it does not
(MINIMAL, NO_LOG, MySQL before 8.0), the server is asked what the table looks like *now*, which is
not when the rows were logged. That answer, the anchor, is turned into the metadata that the table
map lacks, so that nothing else has to know.

*When an anchor is exact.* It is read while the stream stands at S, and is of the place C. Where no
statement between S and C changes the table, it is exact from S on, up to the next such statement
that the stream meets. What the table map tells (the number of columns, types, lengths, NULL) has to
agree, too.

*Where it is not*, rows from S to C cannot be named for certain, and are dropped. The table is
copied anew instead: the copy is read behind C, so it has what these rows did. Where the table does
not exist at C, its rows up to DROP TABLE are dropped: nobody can name them any more, and the record
that takes all rows of the table back follows with the statement. From the next statement on the
table that the stream meets, or from C on, the server is asked again.

*Restarts.* The schema record of an anchored table says so by `anchor`, so the columns that were
known go on to be known, until a statement is met that changes the table; the tables for which one
was met since stand in the progress record. What another pipeline has asked for counts for nothing,
because it stands elsewhere in the log.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast, final

from mypy_extensions import mypyc_attr

from connector.binlog.charsets.collations import BINARY_COLLATION
from connector.binlog.columns.column import Column
from connector.binlog.columns.optional_metadata import MetadataField, write_optional_metadata
from connector.envelope.schemas.table_schema import schema_column
from connector.errors import DecodeError, UnsupportedChange
from connector.progress.order import file_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event
    from connector.binlog.events.table_map import TableMapEvent
    from connector.changes.stream_listener import StreamListener
    from connector.changes.transaction import RowsChange
    from connector.contract import SchemaColumn

_CHARSETS = frozenset({MetadataField.DEFAULT_CHARSET, MetadataField.COLUMN_CHARSET})
# Of a column of a schema record: what does not belong to its definition.
_HISTORY = ("added_default", "added_default_unknown")


@final
class Definition:
    """What a server says of a table."""

    __slots__ = ("changed", "columns", "file", "position")

    def __init__(
        self, columns: list[SchemaColumn] | None, file: str, position: int, *, changed: bool
    ) -> None:
        """Say that the table has `columns` at `position` of `file`; None where there is none.

        `changed` is whether it has been another since the place that was asked for.
        """
        self.columns = columns
        self.file = file
        self.position = position
        self.changed = changed


@mypyc_attr(allow_interpreted_subclasses=True)
class DefinitionSource:
    """Asks the server of the stream."""

    def define(self, database: str, table: str, change: RowsChange) -> Definition:
        """Return what the table is now, and whether that is what it was when `change` was made.

        Raises SourceUnavailable or SourceRefused, and UnsupportedChange for a table whose rows
        cannot be had.
        """
        raise NotImplementedError


@final
class AnchoredTables:
    """What is known of the tables of one stream that the log does not describe."""

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
        """Know what schema records say; `schemas` has them by key, the newest last.

        They are those of `pipeline`, which goes on from its progress; `changed` are tables that
        were another since their record. `listener` hears of tables whose rows are dropped.
        """
        self._source = source
        self._pipeline = pipeline
        self._listener = listener
        self._mariadb = mariadb
        self._anchors: dict[str, list[SchemaColumn]] = {}
        # Tables that have been changed since a schema record with an anchor.
        self.changed: dict[str, None] = dict.fromkeys(changed)
        for key, value in (schemas or {}).items():
            name = key.rpartition("/")[0]
            if name in self.changed:
                continue
            record = json.loads(value)
            if "anchor" not in record:
                continue
            if record["anchor"].startswith(f"{pipeline}@"):
                self._anchors[name] = cast("list[SchemaColumn]", record["columns"])
            else:
                self._anchors.pop(name, None)
        # Tables whose schema record has an anchor.
        self._recorded = dict.fromkeys((*self._anchors, *self.changed))
        # Of anchors that no schema record tells of: what it has to say.
        self._unrecorded: dict[str, str] = {}
        # Up to where rows are dropped: number of the file, position.
        self._lost: dict[str, tuple[int, int]] = {}
        # Of each table the last table map, and the same with its metadata.
        self._completed: dict[str, tuple[TableMapEvent, TableMapEvent]] = {}

    def completed(self, change: RowsChange) -> TableMapEvent | None:
        """Return the table map of a change with its metadata; None where its rows are dropped.

        Raises UnsupportedChange where the log and the server do not agree, and what the server
        says.
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
                # A statement changed the table that was not told for one: what is it now?
                self._forget(name)
                return self.completed(change)
        self._completed[name] = table_map, completed
        return completed

    def forget(self, database: str, table: str) -> None:
        """Take note of a statement that changes a table, or all of `database` where it is ""."""
        name = f"{database}.{table}"
        if table:
            self._forget(name)
            return
        for known in [*self._anchors, *self._lost]:
            if known.startswith(name):
                self._forget(known)

    def take_anchor(self, name: str) -> str:
        """Return what the schema record has to say of the anchor of a table; "" where it does.

        From now on it does.
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
        """Ask the server; return None where its answer is not of the rows' time."""
        event = change.event
        lost = self._lost.get(name)
        if lost is not None:
            if (file_number(event.file), event.position) < lost:
                return None
            del self._lost[name]
        definition = self._source.define(table_map.schema, table_map.table, change)
        place = f"{definition.file}:{definition.position}"
        columns = definition.columns
        if columns is not None and not definition.changed:
            self._anchors[name] = columns
            self._unrecorded[name] = f"{self._pipeline}@{place}"
            return columns
        self._lost[name] = file_number(definition.file), definition.position
        if columns is None:
            self._listener.rows_dropped(table_map.schema, table_map.table)
        else:
            why = (
                f"the log does not name its columns, and from {event.file}:{event.position} to "
                f"{place} it was changed"
            )
            self._listener.resync_wanted(table_map.schema, table_map.table, why)
        return None

    def _complete(
        self, table_map: TableMapEvent, anchor: list[SchemaColumn]
    ) -> TableMapEvent | None:
        """Return the table map with the metadata of `anchor`; None where the two do not agree."""
        if len(anchor) != len(table_map.columns):
            return None
        columns = [
            _told(logged, column) for logged, column in zip(table_map.columns, anchor, strict=True)
        ]
        metadata = write_optional_metadata(columns, mariadb=self._mariadb)
        try:
            completed = table_map.with_metadata(metadata, mariadb=self._mariadb)
        except DecodeError:
            return None
        fields = table_map.metadata_fields
        signs, charsets = MetadataField.SIGNEDNESS in fields, not _CHARSETS.isdisjoint(fields)
        for logged, known, column in zip(table_map.columns, completed.columns, anchor, strict=True):
            if schema_column(known.name or "", known) != _without_history(column):
                return None
            if signs and logged.unsigned != known.unsigned:
                return None
            # ENUM and SET have collations of their own, in other fields.
            told = logged.collation if charsets and known.labels is None else None
            if told is not None and told != known.collation:
                return None
        return completed


def _told(logged: Column, column: SchemaColumn) -> Column:
    """Return a column of the log with what the server tells of it."""
    return Column(
        logged.type_code,
        logged.metadata,
        logged.nullable,
        name=column["name"],
        # The server calls no YEAR unsigned, and the log every one.
        unsigned=column.get("unsigned", column["type"] == "year"),
        collation=column.get("collation", BINARY_COLLATION),
        labels=column.get("labels"),
        primary_key=column["key"],
    )


def _without_history(column: SchemaColumn) -> dict[str, object]:
    return {name: value for name, value in column.items() if name not in _HISTORY}


def _misfit(name: str, event: Event) -> UnsupportedChange:
    what = (
        f"{event.file}:{event.position}: the log does not name the columns of table {name}, and "
        "those that the server shows have other types: SET GLOBAL binlog_row_metadata=FULL (MySQL "
        "8.0.1, MariaDB 10.5 or newer)"
    )
    reason = (
        f"{what}, and continue behind the rows that were logged without names: give the pipeline a "
        "new name and set source.start; or exclude the table"
    )
    return UnsupportedChange(reason, kept_back=what, passable=True)
