"""What is known of the columns that consumers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.contract import Sequence
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.envelope.schemas.schema_records import SchemaRecords, SchemaState
from connector.stream.envelope.schemas.table_schema import TableSchema
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

NAME = "shop.t"
SEQUENCE = Sequence(1, 1, 4, 0, 0)


def schema(*names: str, key: str = "id") -> TableSchema:
    columns: list[SchemaColumn] = [
        {"name": name, "type": "int", "nullable": name != key, "key": int(name == key)}
        for name in names
    ]
    return TableSchema.of_columns("shop", "t", tuple(columns))


class Known:
    """Schema records over several runs."""

    def __init__(self) -> None:
        self._target = Collected()
        self._written: dict[str, bytes] = {}
        self.records = SchemaRecords("p", self._target, SchemaState())

    def write(self, *names: str) -> None:
        self.records.write(schema(*names), SEQUENCE, 0)

    def restart(self) -> None:
        for record in self._target.release():
            assert record.key is not None
            assert record.value is not None
            self._written[record.key.decode()] = record.value
        before = self.records
        self.records = SchemaRecords(
            "p", self._target, SchemaState(self._written, before.added_columns, before.current)
        )

    def names(self) -> list[str] | None:
        """Return which of a few columns are known, after a restart; None if none is certain."""
        self.restart()
        known = self.records.known("shop", "t")
        return None if known is None else [name for name in "iab" if known.column(name) is not None]


def test_the_newest_list_is_known_until_a_copy_is_necessary() -> None:
    known = Known()
    assert known.names() == []
    known.write("i", "a")
    assert known.names() == ["i", "a"]
    known.records.forget(NAME)
    assert known.names() is None
    known.write("i", "a")
    assert known.names() == ["i", "a"]


def test_a_table_can_return_to_an_older_list() -> None:
    known = Known()
    for names in (("i", "a"), ("i", "b"), ("i", "a")):
        known.write(*names)
        assert known.names() == [*names]
    known.write("i", "b")
    assert known.records.current == {}
    columns = known.records.known("shop", "t")
    assert columns is not None
    # Earlier rows have this column, and no new one can have its name.
    assert columns.column("a") is None
    assert columns.uses("A")


def test_a_column_that_was_added_since_counts_too() -> None:
    known = Known()
    known.write("i")
    known.records.add_columns(NAME, [AddedColumn("B", DefaultKind.NULL)])
    columns = known.records.known("shop", "t")
    assert columns is not None
    assert columns.column("b") is None
    assert columns.uses("b")


def test_a_table_that_is_gone_has_no_columns() -> None:
    known = Known()
    known.write("i")
    known.records.change(NAME, ends=True)
    assert known.names() == []


def test_rows_that_are_kept_back_make_the_columns_uncertain() -> None:
    known = Known()
    known.records.withhold(NAME)
    assert known.names() is None
    known.write("i")
    known.records.withhold(NAME)
    assert known.names() == ["i"]


def test_a_replay_of_older_rows_does_not_bring_their_list_back() -> None:
    known = Known()
    known.write("i", "a")
    known.records.write(schema("i", "b"), SEQUENCE, 0, takes_up=False)
    assert known.names() == ["i", "a"]


def test_another_key_raises_a_doubt() -> None:
    known = Known()
    assert known.records.doubt(schema("id", "a")) == ""
    known.write("id", "a")
    assert known.records.doubt(schema("id", "a", "b")) == ""
    assert known.records.doubt(schema("id", "a", key="a")) == "its key was changed"


def test_a_column_that_became_not_null_by_itself_raises_a_doubt() -> None:
    known = Known()
    known.write("id")
    known.records.add_columns(NAME, [AddedColumn("a", DefaultKind.NULL)])
    assert known.records.doubt(schema("id", "a")) == ""
    not_null: SchemaColumn = {"name": "a", "type": "timestamp", "nullable": False, "key": 0}
    columns = (*schema("id").columns, not_null)
    doubt = known.records.doubt(TableSchema.of_columns("shop", "t", columns))
    assert doubt == "the value of the added column a in its rows is not in the log"
