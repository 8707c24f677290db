"""Two column lists become the columns of a mirror, or the reason why it cannot follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from stream_jobs.errors import SchemaUnfollowed, job_errors
from stream_jobs.source.sequence import HI, LO, PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import ColumnChange, all_columns, changed_columns
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
PRICE = column("price", "decimal", precision=10, scale=2)
HIDDEN = 2


def schema(*columns: SchemaColumn) -> TableSchema:
    return TableSchema("shop", "items", "id1", PackedSequence(1, 1), columns)


def change(*lists: TableSchema) -> ColumnChange:
    columns = all_columns(lists[0])
    return changed_columns(columns, lists, len(columns), "/mirror")


def names_and_ids(found: ColumnChange) -> list[tuple[str, int]]:
    assert [c.name for c in found.columns[-HIDDEN:]] == [HI, LO]
    return [(c.name, c.field_id) for c in found.columns[:-HIDDEN]]


def test_columns_that_stay_keep_their_ids_wherever_they_stand() -> None:
    found = change(schema(ID, NAME, PRICE), schema(PRICE, ID, NAME))
    assert names_and_ids(found) == [("price", 3), ("id", 1), ("name", 2)]
    assert not found.added
    assert not found.widened


def test_added_and_dropped_columns_have_ids_that_no_column_had() -> None:
    found = change(schema(ID, NAME), schema(column("first", "int"), ID, PRICE))
    assert names_and_ids(found) == [("first", 5), ("id", 1), ("price", 6)]
    assert found.added == {"first", "price"}


def test_a_column_that_was_gone_in_between_is_another_one() -> None:
    found = change(schema(ID, NAME), schema(ID), schema(ID, NAME))
    assert names_and_ids(found) == [("id", 1), ("name", 5)]
    assert found.added == {"name"}


def test_what_has_no_trace_in_the_mirror_may_change() -> None:
    wider = column("name", "text", nullable=False, charset="utf8mb4")
    found = change(schema(ID, NAME), schema(ID, wider))
    assert names_and_ids(found) == [("id", 1), ("name", 2)]
    assert not found.widened


@pytest.mark.parametrize(
    ("narrow", "wide", "stored"),
    [
        (column("c", "tinyint"), column("c", "bigint"), pa.int64()),
        (column("c", "int"), column("c", "int", unsigned=True), pa.int64()),
        (column("c", "int"), column("c", "bigint", unsigned=True), pa.decimal128(20, 0)),
        (
            PRICE | {"name": "c"},
            column("c", "decimal", precision=12, scale=4),
            pa.decimal128(12, 4),
        ),
        (column("c", "float"), column("c", "double"), pa.float64()),
    ],
)
def test_a_wider_type_keeps_the_column(
    narrow: SchemaColumn, wide: SchemaColumn, stored: pa.DataType
) -> None:
    found = change(schema(ID, narrow), schema(ID, wide))
    assert found.columns[1].type == stored
    assert found.widened == {"c"}


@pytest.mark.parametrize(
    ("newer", "message"),
    [
        (
            schema(ID, NAME, column("price", "decimal", precision=11, scale=4)),
            "column price changed its type from decimal(10,2) to decimal(11,4)",
        ),
        (
            schema(ID, column("name", "int"), PRICE),
            "column name changed its type from varchar(80) to int",
        ),
        (
            schema(column("id", "tinyint", key=1), NAME, PRICE),
            "column id changed its type from int to tinyint",
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
        change(schema(ID, NAME, PRICE), newer)
    assert caught.value.code in (job_errors.KEY_CHANGED, job_errors.COLUMN_RETYPED)
    assert caught.value.text == (
        f"shop.items: {message}; the mirror at /mirror cannot follow this and was left as it was "
        "before the change; let the connector copy the table again (`binlog-connector snapshot`), "
        "and then resume it (`binlog-connector-mirror resume`)"
    )
