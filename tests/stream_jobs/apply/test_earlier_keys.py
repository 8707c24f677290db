"""Rows from before a table got another key have NULL in its columns: no change finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stream_jobs.apply.mode_table import ModeTable
from tests.stream_jobs.apply.test_modes import change
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.contract import SchemaColumn

ID = column("id", "int", nullable=False)
NOTE = column("note", "varchar", length=9)
# A new key, and the value of it that is most like NULL.
KEYS: list[tuple[tuple[SchemaColumn, ...], tuple[Any, ...]]] = [
    ((column("k", "int", key=1), ID), (0, 1)),
    ((column("k", "bigint", key=1, unsigned=True), ID), ("0", 1)),
    ((column("k", "varchar", key=1, length=9), ID), ("", 1)),
    ((column("k", "varbinary", key=1, length=9), ID), ("", 1)),
    ((column("k", "decimal", key=1, precision=9, scale=2), ID), ("0.00", 1)),
    ((column("k", "double", key=1), ID), (0.0, 1)),
    ((column("k", "bit", key=1, length=1), ID), (False, 1)),
    ((column("k", "date", key=1), ID), ("1970-01-01", 1)),
    ((column("k", "datetime", key=1), ID), ("1970-01-01 00:00:00", 1)),
    ((column("id", "int", key=1), column("k", "int", key=2)), (1, 0)),
    ((column("k", "int", key=1), column("id", "int", key=2)), (0, 1)),
]
each_key = pytest.mark.parametrize(
    ("columns", "values"),
    KEYS,
    ids=[", ".join(f"{own['name']} {own['type']}" for own in key if own["key"]) for key, _ in KEYS],
)


def two_rows(folder: Path, mode: str, columns: tuple[SchemaColumn, ...]) -> ModeTable:
    """A table with the key `id` that got another one."""
    table = ModeTable(folder, mode)
    table.apply([change(1, "c", None, (1, "a")), change(2, "c", None, (2, "b"))])
    table.alter(*columns, NOTE)
    return table


@each_key
def test_a_row_that_is_kept_is_not_replaced(
    tmp_path: Path, columns: tuple[SchemaColumn, ...], values: tuple[Any, ...]
) -> None:
    table = two_rows(tmp_path, "soft_delete", columns)
    table.truncate(change(3, "t"))
    key = len([each for each in columns if each["key"]])
    for last in (
        change(4, "r", None, (*values, "c")),
        change(5, "u", (*values, "c"), (*values, "d")),
        # A delete by a copy has the key alone.
        change(6, "d", values[:key]),
    ):
        table.apply([last])
        rows = sorted((row["note"], row["_cdc_deleted"]) for row in table.rows())
        note = "c" if last.op == "r" else "d"
        assert rows == [("a", True), ("b", True), (note, last.op == "d")]
        assert [row["note"] for row in table.rows() if row["k"] is None] == ["a", "b"]


@each_key
def test_a_version_that_is_open_does_not_end(
    tmp_path: Path, columns: tuple[SchemaColumn, ...], values: tuple[Any, ...]
) -> None:
    def found() -> list[tuple[str, str | None]]:
        return sorted((row["note"], row["_cdc_end_op"]) for row in table.rows())

    table = two_rows(tmp_path, "history", columns)
    # A change after the statement, and before the copy begins.
    table.apply([change(3, "u", (*values, "a"), (*values, "c"))])
    assert found() == [("a", None), ("b", None), ("c", None)]
    table.truncate(change(4, "t"))
    table.apply([change(5, "r", None, (*values, "d"))])
    assert found() == [("a", "t"), ("b", "t"), ("c", "t"), ("d", None)]
    table.apply([change(6, "d", (*values, "d"))])
    assert found() == [("a", "t"), ("b", "t"), ("c", "t"), ("d", "d")]


@each_key
def test_the_time_of_an_earlier_row_is_no_border_of_a_new_version(
    tmp_path: Path, columns: tuple[SchemaColumn, ...], values: tuple[Any, ...]
) -> None:
    table = two_rows(tmp_path, "history", columns)
    table.truncate(change(900, "t"))
    # Times of the log can run backwards.
    later = change(901, "r", None, (*values, "c"))._replace(ts_ms=500)
    table.apply([later])
    (start,) = [row["_cdc_valid_from"] for row in table.rows() if row["note"] == "c"]
    assert round(start.timestamp() * 1000) == 500


@pytest.mark.parametrize(
    ("mode", "mark", "value"),
    [("soft_delete", "_cdc_deleted", False), ("history", "_cdc_is_current", True)],
)
def test_a_row_is_found_beside_earlier_ones_in_one_file(
    tmp_path: Path, mode: str, mark: str, value: bool
) -> None:
    table = two_rows(tmp_path, mode, KEYS[0][0])
    table.truncate(change(3, "t"))
    for number in range(-1, 2):
        table.apply([change(10 + number, "r", None, (number, 1, "c"))])
    table.compact()
    for number in range(-1, 2):
        table.apply([change(20 + number, "u", (number, 1, "c"), (number, 1, "d"))])
    rows = table.rows()
    now = [(row["k"], row["note"]) for row in rows if row[mark] == value]
    assert sorted(now) == [(-1, "d"), (0, "d"), (1, "d")]
    assert sorted(row["note"] for row in rows if row["k"] is None) == ["a", "b"]
