"""Statements that make and change the columns of a target."""

from __future__ import annotations

from stream_jobs.replica.column_definitions import CharacterSets, ColumnList, alteration
from stream_jobs.replica.statements import TableName
from stream_jobs.replica.target import TargetTable
from tests.stream_jobs.topics import column

NAME = TableName("shop", "texts")
SETS = CharacterSets({"utf8mb4": 4}, {45: ("utf8mb4_general_ci", "utf8mb4")}, json=True)


def test_a_table_whose_key_was_changed_already_is_loaded_nevertheless() -> None:
    first, second = column("a", "int", key=1), column("b", "int", nullable=False)
    old = ColumnList((first, second), (1, 2))
    new = ColumnList((column("a", "int"), column("b", "int", key=1)), (1, 2))
    existing = TargetTable({"a": {"expression": ""}, "b": {"expression": ""}}, ["b"], "InnoDB")
    change = alteration(NAME, old, new, existing, SETS)
    assert change.must_load
    assert not change.has_other_key
