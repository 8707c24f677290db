"""Statements that make and change the columns of a target."""

from __future__ import annotations

from stream_jobs.replica.column_definitions import (
    CharacterSets,
    ColumnList,
    alteration,
    create_table,
)
from stream_jobs.replica.statements import TableName
from stream_jobs.replica.target import TargetTable
from tests.stream_jobs.topics import column

NAME = TableName("shop", "texts")
# As MySQL before 8.0.30 and MariaDB before 10.6 name them.
OLD = CharacterSets({"utf8": 3, "utf8mb4": 4}, {33: ("utf8_general_ci", "utf8")}, json=True)


def test_a_server_that_calls_utf8mb3_utf8_gets_as_many_characters() -> None:
    key = column("k", "char", key=1, length=300, charset="utf8mb3", collation=33)
    other = column("v", "varchar", length=400, charset="gb18030", collation=248)
    assert create_table(NAME, ColumnList((key, other), (1, 2)), OLD) == (
        "CREATE TABLE IF NOT EXISTS `shop`.`texts` (`k` char(100) CHARACTER SET utf8 COLLATE "
        "utf8_general_ci NOT NULL, `v` varchar(100) CHARACTER SET utf8mb4 NULL, PRIMARY KEY (`k`)) "
        "ENGINE=InnoDB"
    )


def test_a_table_whose_key_was_changed_already_is_loaded_nevertheless() -> None:
    first, second = column("a", "int", key=1), column("b", "int", nullable=False)
    old = ColumnList((first, second), (1, 2))
    new = ColumnList((column("a", "int"), column("b", "int", key=1)), (1, 2))
    existing = TargetTable({"a": {"expression": ""}, "b": {"expression": ""}}, ["b"], "InnoDB")
    change = alteration(NAME, old, new, existing, OLD)
    assert change.must_load
    assert not change.has_other_key
