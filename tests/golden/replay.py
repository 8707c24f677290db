"""Rows events become tables: what a replica would have, held against what the server has.

A row of an image is found by all columns that its before image holds; columns that an after image
leaves out keep their value, those that an insert leaves out stay ABSENT and stand for the default.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from connector.binlog.columns.column import ABSENT, ColumnType, EnumIndex, Geometry, JsonDiffs
from connector.binlog.columns.json import apply_json_diffs
from connector.binlog.events.rows import RowsEvent
from tests.golden.golden import with_inner_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.columns.column import Column, Value
    from connector.binlog.event import Event
    from connector.binlog.events.row_reader import Row
    from tests.golden.tables import RecordedColumn, RecordedTable, Rows

# Columns of functional indexes, which SELECT does not show; 8.0.15 names them by a hash.
_HIDDEN = re.compile("!hidden!.*|[0-9a-f]{32}")

# In a type as information_schema prints it: enum('a','it''s').
_LABEL = re.compile(r"'((?:[^']|'')*)'")

_BITS = {
    ColumnType.TINY: 8,
    ColumnType.SHORT: 16,
    ColumnType.INT24: 24,
    ColumnType.LONG: 32,
    ColumnType.LONGLONG: 64,
}


class ReplayedTable:
    """A table as the log's rows make it."""

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns
        self.rows: list[list[Value]] = []

    def apply(self, row: Row) -> None:
        """Insert, change or delete one row."""
        if row.before is None:
            assert row.after is not None
            self.rows.append(row.after)
            return
        place = self._find(row.before)
        if row.after is None:
            del self.rows[place]
        else:
            self.rows[place] = list(map(_changed, self.rows[place], row.after))

    def _find(self, before: list[Value]) -> int:
        for place, row in enumerate(self.rows):
            if all(b is ABSENT or b == value for b, value in zip(before, row, strict=True)):
                return place
        message = f"no row of the table is {before}"
        raise AssertionError(message)


def replay(events: Iterable[Event]) -> dict[str, ReplayedTable]:
    """Return the tables that the events make, by `schema`.`table`."""
    tables: dict[str, ReplayedTable] = {}
    for event in with_inner_events(events):
        if isinstance(event.body, RowsEvent):
            described = event.body.table_map
            name = ".".join(_quoted(part) for part in (described.schema, described.table))
            table = tables.setdefault(name, ReplayedTable(described.columns))
            for row in event.body.rows():
                table.apply(row)
    return tables


def replayed_and_recorded(table: ReplayedTable, recorded: RecordedTable) -> tuple[Rows, Rows]:
    """Return the rows of the log and those of SELECT, in the same forms and the same order.

    A generated column that some image leaves out is left out of both.
    """
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.name is None or not _HIDDEN.fullmatch(column.name)
    ]
    columns = recorded["columns"]
    names = [table.columns[place].name for place in places]
    assert names in ([column["name"] for column in columns], [None] * len(columns))
    kept = [
        (number, place)
        for number, place in enumerate(places)
        if "generated" not in columns[number] or all(row[place] is not ABSENT for row in table.rows)
    ]
    replayed = [
        [_printed(row[place], columns[number], table.columns[place]) for number, place in kept]
        for row in table.rows
    ]
    selected = [
        [_normal(row[number], columns[number]) for number, _ in kept] for row in recorded["rows"]
    ]
    return sorted(replayed, key=repr), sorted(selected, key=repr)


def _normal(cell: str | None, column: RecordedColumn) -> str | None:
    if cell is None:
        return None
    if column["as"] == "number":  # ZEROFILL, and the year 0000
        return str(int(cell))
    if column["as"] == "float":
        return repr(float(cell))
    return cell


def _printed(value: Value, recorded: RecordedColumn, column: Column) -> str | None:
    form = recorded["as"]
    if value is ABSENT:
        return _normal(recorded.get("default"), recorded)
    if value is None:
        return None
    if form == "number":
        assert isinstance(value, int)
        if value < 0 and "unsigned" in recorded["type"]:
            # The log does not tell the sign; a recording where it does never comes here.
            assert not column.unsigned
            value += 1 << _BITS[ColumnType(column.real_type)]
        return str(value)
    if form == "float":
        assert isinstance(value, float)
        return repr(value)
    if form == "hex":
        stored = _bytes(value)
        if column.collation is None and recorded["type"].startswith("binary("):
            # Where the log does not tell CHAR from BINARY, the zero bytes at its end are missing.
            stored = stored.ljust(int(recorded["type"][7:-1]), b"\0")
        return stored.hex().upper()
    if form == "label":
        return _label(value, recorded["type"])
    assert isinstance(value, str), f"{recorded['name']}: {value!r}"
    return value


def _label(value: Value, column_type: str) -> str:
    """Return `number:label`; the labels are those of the column's type in SQL."""
    labels = [label.replace("''", "'") for label in _LABEL.findall(column_type)]
    if column_type.startswith("enum"):
        index = value.index if isinstance(value, EnumIndex) else ["", *labels].index(str(value))
        return f"{index}:{['', *labels][index]}"
    if isinstance(value, int):
        mask = value
    else:
        assert isinstance(value, str)
        mask = sum(1 << labels.index(label) for label in value.split(",") if label)
    return f"{mask}:{','.join(label for bit, label in enumerate(labels) if mask >> bit & 1)}"


def _bytes(value: Value) -> bytes:
    if isinstance(value, Geometry):
        return struct.pack("<I", value.srid) + value.wkb
    if isinstance(value, list):
        return struct.pack(f"<{len(value)}f", *value)
    assert isinstance(value, bytes), repr(value)
    return value


def _changed(old: Value, new: Value) -> Value:
    if new is ABSENT:
        return old
    if isinstance(new, JsonDiffs):
        assert isinstance(old, str)
        return apply_json_diffs(old, new)
    return new


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))
