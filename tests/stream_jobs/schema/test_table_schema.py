"""Schema records become columns, and their types those of Arrow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import COLUMN_TYPES, Sequence
from stream_jobs.errors import MirrorError
from stream_jobs.source.column_types import ColumnType, type_text
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)


def schema(*columns: SchemaColumn) -> TableSchema:
    return TableSchema("shop", "items", "id1", PackedSequence(1, 1), columns)


def test_a_schema_record_is_read_whole() -> None:
    seq = Sequence(1, 2, 3, 4, 5)
    record = {
        "schema_id": "a1",
        "database": "shop",
        "table": "items",
        "seq": str(seq),
        "columns": [NAME, ID],
    }
    read = TableSchema.decode(json.dumps(record).encode())
    assert read == TableSchema("shop", "items", "a1", PackedSequence.pack(seq), (NAME, ID))
    assert read.name == "shop.items"


@pytest.mark.parametrize(
    "changes",
    [
        {"table": None},
        {"schema_id": 7},
        {"seq": ["1"] * 38},
        {"columns": {"id": {}}},
        {"columns": ["id"]},
        {"columns": [{"type": "int", "key": 1}]},
        {"columns": [{"name": "id", "type": "int", "key": "1"}]},
        {"stated": 7},
    ],
)
def test_a_record_of_another_form_is_no_schema(changes: dict[str, object]) -> None:
    record = {"schema_id": "a1", "database": "shop", "table": "items", "columns": [ID]}
    record["seq"] = str(Sequence(1, 2, 3, 4, 5))
    assert TableSchema.decode(json.dumps(record).encode()).key == ("id",)
    for text in (json.dumps(record | changes), json.dumps([record]), "7"):
        with pytest.raises((ValueError, KeyError, TypeError)):
            TableSchema.decode(text.encode())


def test_the_key_is_in_key_order() -> None:
    table = schema(column("b", "int", key=2), NAME, column("a", "int", key=1))
    assert table.key == ("a", "b")


@pytest.mark.parametrize("name", ["_cdc_hi", "_CDC_x"])
def test_a_name_that_a_mirror_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(MirrorError) as caught:
        schema(ID, column(name, "int")).refuse_unknown()
    assert caught.value.text == (
        f"shop.items: a mirror cannot have a column named {name!r}: names that begin with _cdc_ "
        "are the job's own; exclude the table in the connector's source.exclude_tables, or rename "
        "the column before the first row is read"
    )


# Letters whose capitals some servers do not know: German, Georgian, and Kelvin.
@pytest.mark.parametrize(("one", "other"), [("maß", "maẞ"), ("ა", "Ა"), ("k", "\u212a")])
def test_two_names_that_readers_take_for_one_are_refused(one: str, other: str) -> None:
    with pytest.raises(MirrorError) as caught:
        schema(ID, column(one, "int"), column(other, "int")).refuse_unknown()
    assert caught.value.text == (
        f"shop.items: a mirror cannot have both of the columns {one!r} and {other!r}: for readers "
        "of Delta tables, capitals make no difference, and both have the same name; rename one of "
        "them at the source, let the connector copy the table, and let the mirror be made again: "
        "`binlog-connector-mirror resume CONFIG TABLE --rebuild`; or exclude one with "
        "source.exclude_columns"
    )


def test_a_type_that_is_not_in_the_contract_is_refused() -> None:
    with pytest.raises(MirrorError) as caught:
        schema(ID, column("place", "money")).refuse_unknown()
    assert caught.value.text == (
        "shop.items: column place has type money, which this version of the job does not know; "
        "use the version that belongs to the connector"
    )


FACTS = {"decimal": {"precision": 10, "scale": 2}, "bit": {"length": 8}}


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_every_type_of_the_contract_has_an_arrow_type(kind: str) -> None:
    assert ColumnType.of(column("c", kind, **FACTS.get(kind, {}))).stored is not None


@pytest.mark.parametrize(
    ("made", "stored"),
    [
        (column("c", "tinyint"), "int8"),
        (column("c", "tinyint", unsigned=True), "int16"),
        (column("c", "smallint"), "int16"),
        (column("c", "smallint", unsigned=True), "int32"),
        (column("c", "mediumint", unsigned=True), "int32"),
        (column("c", "int"), "int32"),
        (column("c", "int", unsigned=True), "int64"),
        (column("c", "bigint"), "int64"),
        (column("c", "bigint", unsigned=True), "decimal128(20, 0)"),
        (column("c", "decimal", precision=38, scale=30), "decimal128(38, 30)"),
        (column("c", "decimal", precision=39, scale=30), "string"),
        (column("c", "bit", length=1), "bool"),
        (column("c", "bit", length=2), "decimal128(20, 0)"),
        (column("c", "geometry"), "struct<wkb: binary, srid: int64>"),
        (column("c", "vector"), "list<item: float>"),
    ],
)
def test_the_stored_type_is_the_smallest_that_holds_every_value(
    made: SchemaColumn, stored: str
) -> None:
    assert str(ColumnType.of(made).stored) == stored


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (column("c", "decimal", precision=10, scale=2, unsigned=True), "decimal(10,2) unsigned"),
        (column("c", "datetime", fraction=6), "datetime(6)"),
        (column("c", "datetime", fraction=0), "datetime"),
        (column("c", "varbinary", length=16), "varbinary(16)"),
    ],
)
def test_a_type_is_spelled_as_mysql_spells_it(made: SchemaColumn, text: str) -> None:
    assert type_text(made) == text


def test_values_in_the_form_of_debezium_are_refused() -> None:
    record = {
        "database": "shop", "table": "items", "schema_id": "0", "seq": "0" * 38, "columns": [],
        "profile": "debezium",
    }  # fmt: skip
    with pytest.raises(MirrorError) as caught:
        TableSchema.decode(json.dumps(record).encode())
    assert caught.value.text == (
        'shop.items: its records have the profile "debezium", and a mirror needs "exact"; mirror a '
        "pipeline with the default envelope.profile, under another topic prefix"
    )
