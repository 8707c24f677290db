"""The records of column lists that statements say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from connector.foundation.contract import Sequence
from connector.stream.changes.column_lists import ColumnAddition, ColumnListEdits
from connector.stream.envelope.schemas.schema_records import SchemaRecords, SchemaState
from connector.stream.envelope.schemas.table_schema import TableSchema
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn


def column(name: str) -> SchemaColumn:
    return {"name": name, "type": "int", "nullable": name != "id", "key": int(name == "id")}


def drop(*names: str) -> ColumnListEdits:
    edits = ColumnListEdits()
    edits.dropped.extend(names)
    return edits


def add(name: str) -> ColumnListEdits:
    edits = ColumnListEdits()
    edits.added.append(ColumnAddition(column(name), is_text=False, moves=False, after=""))
    return edits


# The position of a record, that of its statement, and the names of its columns.
Written = tuple[int | None, int | None, list[str]]


class Stream:
    """Schema records of one table over several runs, each change at the next position."""

    def __init__(self, database: str = "shop") -> None:
        self._database = database
        self._target = Collected()
        self._written: dict[str, bytes] = {}
        self._position = 0
        self.records = SchemaRecords("p", self._target, SchemaState())

    def row(self, *names: str) -> list[Written]:
        schema = TableSchema.of_columns(self._database, "t", tuple(map(column, names)))
        self.records.write(schema, self._next(), 0)
        return self._restart()

    def state(self, edits: ColumnListEdits | None) -> list[Written]:
        self.records.state(self._database, "t", edits, self._next(), 0)
        return self._restart()

    def _next(self) -> Sequence:
        self._position += 1
        return Sequence(1, 1, self._position, 0, 0)

    def _restart(self) -> list[Written]:
        """Return the new records: position, position of the statement, names of columns."""
        found = []
        for record in self._target.release():
            assert record.key is not None
            assert record.value is not None
            self._written.pop(record.key.decode(), None)
            self._written[record.key.decode()] = record.value
            value: dict[str, Any] = json.loads(record.value)
            names = [each["name"] for each in value["columns"]]
            found.append((_position(value["seq"]), _position(value.get("stated")), names))
        before = self.records
        self.records = SchemaRecords(
            "p",
            self._target,
            SchemaState(self._written, before.added_columns, before.current, before.stated),
        )
        return found

    def names(self) -> list[str]:
        known = self.records.known(self._database, "t")
        assert known is not None
        return [name for name in ("id", "a", "b") if known.column(name) is not None]


def _position(sequence: str | None) -> int | None:
    return None if sequence is None else Sequence.parse(sequence).position


def test_a_statement_goes_on_from_the_list_of_the_one_before_and_rows_stay_known() -> None:
    stream = Stream()
    assert stream.row("id", "a") == [(1, None, ["id", "a"])]
    assert stream.state(add("b")) == [(2, 2, ["id", "a", "b"])]
    assert stream.state(drop("a")) == [(3, 3, ["id", "b"])]
    assert stream.names() == ["id", "a"]
    # Nothing that the record does not say.
    assert stream.row("id", "b") == []
    assert stream.names() == ["id", "b"]


def test_a_list_that_rows_have_had_keeps_its_first_sequence() -> None:
    stream = Stream()
    stream.row("id", "a")
    stream.state(add("b"))
    assert stream.state(drop("b")) == [(1, 3, ["id", "a"])]
    assert stream.row("id", "a") == []
    assert stream.names() == ["id", "a"]


def test_a_row_of_another_list_than_the_stated_one_has_a_record() -> None:
    stream = Stream()
    stream.row("id", "a")
    stream.state(add("b"))
    assert stream.row("id", "a") == [(3, None, ["id", "a"])]
    assert stream.row("id", "a") == []


def test_nothing_is_stated_after_what_is_not_certain() -> None:
    stream = Stream()
    assert stream.state(add("a")) == []
    stream.row("id", "a")
    assert stream.state(None) == []
    assert stream.state(add("b")) == []
    stream.row("id", "a")
    stream.records.doubt_list("shop.t")
    assert stream.state(add("b")) == []
    stream.row("id", "a")
    stream.records.forget("shop.t")
    assert stream.state(add("b")) == []
    stream.row("id", "a")
    # What the list before cannot be.
    for impossible in (drop("c"), drop("id"), add("a")):
        assert stream.state(impossible) == []
        stream.row("id", "a")
    assert stream.state(add("b")) == [(16, 16, ["id", "a", "b"])]


def test_a_statement_that_changes_no_column_changes_nothing() -> None:
    stream = Stream("a.b")
    stream.row("id")
    assert stream.state(ColumnListEdits()) == []
    assert stream.state(add("b")) == [(3, 3, ["id", "b"])]
    assert stream.state(ColumnListEdits()) == []
    assert stream.records.stated.keys() == {"a.b.t"}
