"""The judge of the torture finds versions that overlap, and a journal that lacks a change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

from tests.chaos.ddl.database import Played, story_of
from tests.chaos.ddl.equality import _different, _folded, _is_of, overlaps

if TYPE_CHECKING:
    from pathlib import Path


def at(second: int | None) -> datetime | None:
    return None if second is None else datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)


def version(key: int, order: int, begins: int, ends: int | None) -> dict[str, Any]:
    return {
        "id": key,
        "_cdc_valid_from": at(begins),
        "_cdc_valid_to": at(ends),
        "_cdc_is_current": ends is None,
        "_cdc_hi": 1,
        "_cdc_lo": order,
    }


def test_versions_that_follow_each_other_are_right() -> None:
    rows = [version(1, 3, 5, None), version(1, 1, 1, 5), version(2, 2, 2, 3), version(2, 4, 6, 7)]
    assert overlaps(rows) == []


def test_versions_that_overlap_are_found() -> None:
    assert overlaps([version(1, 1, 1, 9), version(1, 2, 5, None)]) == [
        f"id 1: a version ends at {at(9)}, the next begins at {at(5)}"
    ]
    assert overlaps([version(1, 1, 1, None), version(1, 2, 5, None)]) == [
        f"id 1: a version ends at None, the next begins at {at(5)}"
    ]


def test_a_version_that_ends_before_it_begins_is_found() -> None:
    assert overlaps([version(1, 1, 4, 2)]) == [
        f"id 1: a version begins at {at(4)}, and ends at {at(2)}"
    ]


def test_a_journal_is_folded_to_the_rows_that_it_leaves(tmp_path: Path) -> None:
    changes = [(1, 1, "r"), (2, 1, "c"), (None, None, "t"), (3, 1, "r"), (4, 1, "c"), (4, 1, "d"),
               (3, 2, "u")]  # fmt: skip
    rows = [
        {"id": key, "tick": tick, "_cdc_op": op, "_cdc_hi": 1, "_cdc_lo": order}
        for order, (key, tick, op) in enumerate(changes)
    ]
    write_deltalake(str(tmp_path / "t"), pa.Table.from_pylist(rows))
    assert _folded(tmp_path / "t") == {3: 2}
    assert _different({3: 3}, {3: 2}) == ["id 3 has the tick 3, and the mirror says 2"]


def test_the_story_of_a_table_has_the_statements_of_the_names_that_it_had() -> None:
    played = [
        Played("ROW", "CREATE TABLE `u` (`id` INT)"),
        Played("ROW", "CREATE TABLE `w` (`id` INT)"),
        Played("ROW", "INSERT INTO `u` (`id`) VALUES (1)"),
        Played("ROW", "RENAME TABLE `u` TO `t`"),
        Played("ROW", "DELETE FROM `w`"),
        Played("ROW", "UPDATE `t` SET `id` = 2"),
    ]
    assert [each.text.partition(" ")[0] for each in story_of(played, {"t"})] == [
        "CREATE", "INSERT", "RENAME", "UPDATE",
    ]  # fmt: skip


def test_a_row_may_differ_in_columns_that_the_log_leaves_out_and_in_no_other() -> None:
    assert _is_of({"g", "h"}, "differs in g, h")
    assert not _is_of({"g"}, "differs in a, g")
    assert not _is_of({"g"}, "is missing from the mirror")
