"""A mirror that keeps columns has a place for every value that a column of the source ever had."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from stream_jobs.delta.columns import highest_id, read_schema, write_schema
from stream_jobs.source.sequence import HI, LO, PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import all_columns, renamed_columns, retained_columns
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from stream_jobs.delta.columns import Column

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
AREA = column("area", "geometry")
OWN = 2


def schema(*columns: SchemaColumn) -> TableSchema:
    return TableSchema("shop", "items", "id1", PackedSequence(1, 1), columns)


def followed(*lists: TableSchema) -> tuple[Column, ...]:
    """Go through the lists one by one, with the columns as the log has them."""
    columns = all_columns(lists[0])
    for older, newer in pairwise(lists):
        found = retained_columns(columns, [older, newer], (), highest_id(columns)).columns
        columns = read_schema("t", write_schema(found))
    assert [each.name for each in columns[-OWN:]] == [HI, LO]
    return columns[:-OWN]


def test_a_dropped_column_stays_after_the_others() -> None:
    columns = followed(schema(ID, NAME), schema(ID))
    assert [(each.name, each.field_id) for each in columns] == [("id", 1), ("name", 2)]


def test_a_column_that_comes_back_is_another_one_and_each_has_ids_of_its_own() -> None:
    columns = followed(schema(ID, AREA), schema(ID), schema(ID, AREA), schema(ID, NAME))
    assert [each.name for each in columns] == ["id", "name", "area__2", "area"]
    ids = [field.metadata[b"PARQUET:field_id"] for each in columns[2:] for field in each.type]
    assert len({*(str(each.field_id).encode() for each in columns), *ids}) == 4 + len(ids)


def test_a_retired_column_makes_way_for_a_name_that_differs_in_upper_case_alone() -> None:
    upper = column("Name", "int")
    columns = followed(schema(ID, NAME), schema(ID, upper))
    assert [each.name for each in columns] == ["id", "Name", "name__2"]
    taken = followed(
        schema(ID, NAME), schema(ID, upper), schema(ID, upper, column("name__2", "int"))
    )
    assert [each.name for each in taken] == ["id", "Name", "name__2", "name__3"]


def test_a_wider_type_keeps_the_column_also_in_several_steps_at_once() -> None:
    lists = [schema(ID, column("n", kind)) for kind in ("int", "bigint")]
    columns = all_columns(lists[0])
    found = retained_columns(columns, [*lists, schema(ID, column("n", "bigint"), NAME)], (), 4)
    assert [each.name for each in found.columns] == ["id", "n", "name", HI, LO]
    assert found.added == {"name"}
    assert found.widened == {"n"}


def test_values_of_older_lists_find_their_columns() -> None:
    older, newer = schema(ID, NAME), schema(ID, column("name", "int"))
    columns = followed(older, newer)
    assert renamed_columns(older, newer, columns) == {"name": "name__2"}
    assert not renamed_columns(newer, newer, columns)
