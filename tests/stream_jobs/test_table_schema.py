"""Schema records become columns, and two of them become what was added, or why it cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.contract import COLUMN_TYPES, Sequence
from connector.errors import MirrorError, SchemaUnfollowed, mirror
from stream_jobs.column_types import ColumnType, type_text
from stream_jobs.sequence import PackedSequence
from stream_jobs.table_schema import TableSchema
from tests.stream_jobs.source import column

if TYPE_CHECKING:
    from connector.contract import SchemaColumn

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
PRICE = column("price", "decimal", precision=10, scale=2)


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


def test_the_key_is_in_key_order() -> None:
    table = schema(column("b", "int", key=2), NAME, column("a", "int", key=1))
    assert table.key == ("a", "b")


def test_added_columns_know_what_they_stand_behind() -> None:
    first, last = column("first", "int"), column("last", "int")
    newer = schema(first, ID, PRICE, NAME, last)
    added = newer.added_since(schema(ID, NAME), "/mirror")
    assert added == [(first, None), (PRICE, "id"), (last, "name")]


def test_what_has_no_trace_in_the_mirror_may_change() -> None:
    older = schema(ID, NAME, PRICE)
    wider = column("name", "text", nullable=False, charset="utf8mb4")
    assert schema(PRICE, ID, wider).added_since(older, "/mirror") == []


@pytest.mark.parametrize(
    ("newer", "message"),
    [
        (schema(ID, PRICE), "column name of type varchar(80) was dropped or renamed"),
        (
            schema(ID, NAME, column("price", "decimal", precision=12, scale=2)),
            "column price changed its type from decimal(10,2) to decimal(12,2)",
        ),
        (
            schema(column("id", "int", key=1, unsigned=True), NAME, PRICE),
            "column id changed its type from int to int unsigned",
        ),
        (
            schema(ID, column("name", "varchar", key=2, length=80), PRICE),
            "the primary key changed from (id) to (id, name)",
        ),
        (
            schema(column("id", "int"), NAME, PRICE),
            "the primary key changed from (id) to ()",
        ),
    ],
)
def test_every_other_change_is_told_in_words(newer: TableSchema, message: str) -> None:
    with pytest.raises(SchemaUnfollowed) as caught:
        newer.added_since(schema(ID, NAME, PRICE), "/mirror")
    assert caught.value.code in (mirror.KEY_CHANGED, mirror.COLUMN_GONE, mirror.COLUMN_RETYPED)
    assert caught.value.text == (
        f"shop.items: {message}; the mirror at /mirror cannot follow this and was left as it was "
        "before the change; revert the change at the source, or take the mirror out of the way "
        "together with the pipeline's topics and begin again under a new topic prefix"
    )


@pytest.mark.parametrize("name", ["_cdc_hi", "_CDC_x", "unit price", "a;b", "a=b", "f(x)"])
def test_a_name_that_a_mirror_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(MirrorError) as caught:
        schema(ID, column(name, "int")).refuse_unknown()
    assert caught.value.text == (
        f"shop.items: a mirror cannot have a column named {name!r}: names that begin with _cdc_ "
        "are the job's own, and Delta refuses space, tab, newline and ,;{}()= in names; exclude "
        "the table in the connector's source.exclude_tables, or rename the column before the "
        "first row is read"
    )


def test_a_type_that_is_not_in_the_contract_is_refused() -> None:
    with pytest.raises(MirrorError) as caught:
        schema(ID, column("place", "inet6")).refuse_unknown()
    assert caught.value.text == (
        "shop.items: column place has type inet6, which this version of the job does not know; "
        "use the version that belongs to the connector"
    )


FACTS = {"decimal": {"precision": 10, "scale": 2}, "bit": {"length": 8}}


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_every_type_of_the_contract_has_a_spark_type(kind: str) -> None:
    assert ColumnType.of(column("c", kind, **FACTS.get(kind, {}))).stored is not None


@pytest.mark.parametrize(
    ("made", "stored"),
    [
        (column("c", "tinyint"), "tinyint"),
        (column("c", "tinyint", unsigned=True), "smallint"),
        (column("c", "smallint"), "smallint"),
        (column("c", "smallint", unsigned=True), "int"),
        (column("c", "mediumint", unsigned=True), "int"),
        (column("c", "int"), "int"),
        (column("c", "int", unsigned=True), "bigint"),
        (column("c", "bigint"), "bigint"),
        (column("c", "bigint", unsigned=True), "decimal(20,0)"),
        (column("c", "decimal", precision=38, scale=30), "decimal(38,30)"),
        (column("c", "decimal", precision=39, scale=30), "string"),
        (column("c", "bit", length=1), "boolean"),
        (column("c", "bit", length=2), "decimal(20,0)"),
        (column("c", "geometry"), "struct<wkb:binary,srid:bigint>"),
        (column("c", "vector"), "array<float>"),
    ],
)
def test_the_spark_type_is_the_smallest_that_holds_every_value(
    made: SchemaColumn, stored: str
) -> None:
    assert ColumnType.of(made).stored.simpleString() == stored


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
