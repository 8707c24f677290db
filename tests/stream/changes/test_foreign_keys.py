"""What a change of a row does to rows of other tables, by their foreign keys."""

from __future__ import annotations

import pytest

from connector.stream.changes.cascades import CascadedRows
from connector.stream.changes.foreign_keys import ANY_ROW, UNKNOWN, WHOLE, ForeignKey, ForeignKeys

A, B, C, D = (("x", name) for name in "abcd")


def key(
    child: tuple[str, str],
    parent: tuple[str, str],
    delete: str = "",
    update: str = "",
    columns: str = "p=id",
    *,
    identifies: bool = False,
) -> ForeignKey:
    """Return a foreign key; `columns` are pairs of the child's and the parent's column."""
    pairs = [(pair.split("=")[0], pair.split("=")[1]) for pair in columns.split()]
    return ForeignKey(child, parent, pairs, delete, update, identifies=identifies)


def test_deletes_go_down_a_chain_as_far_as_it_cascades() -> None:
    keys = ForeignKeys(
        [key(B, A, "CASCADE"), key(C, B, "CASCADE"), key(D, C, "RESTRICT", "CASCADE")]
    )
    assert keys.after_delete(A) == {B: {WHOLE}, C: {WHOLE}}
    assert keys.after_delete(C) == {}


def test_rows_that_lose_their_parent_are_found_by_null() -> None:
    keys = ForeignKeys([key(B, A, "SET NULL", columns="p=x `q=y"), key(C, B, "", "CASCADE", "r=p")])
    assert keys.after_delete(A) == {
        B: {"`p` IS NULL AND ```q` IS NULL"},
        C: {"`r` IS NULL"},
    }


def test_rows_that_follow_their_parent_are_found_by_its_new_value() -> None:
    keys = ForeignKeys(
        [
            key(B, A, "", "CASCADE", "p=ID q=y"),
            key(C, B, "", "CASCADE", "r=Q"),
            key(D, B, "CASCADE", "SET NULL", "s=q t=z"),
        ]
    )
    assert keys.referenced_columns(A) == ["id", "y"]
    assert keys.after_update(A, {"id": "7"}) == {B: {"`p` = 7"}}
    assert keys.after_update(A, {"id": "7", "y": "'a'", "z": "1"}) == {
        B: {"`p` = 7 AND `q` = 'a'"},
        C: {"`r` = 'a'"},
        D: {"`s` IS NULL AND `t` IS NULL"},
    }
    assert keys.after_update(A, {"id": UNKNOWN}) == {B: {ANY_ROW}}
    assert keys.after_update(A, {"id": UNKNOWN, "y": "NULL"}) == {
        B: {"`q` IS NULL"},
        C: {"`r` IS NULL"},
        D: {"`s` IS NULL AND `t` IS NULL"},
    }


def test_rows_whose_own_key_changes_cannot_be_found() -> None:
    keys = ForeignKeys([key(B, A, "", "CASCADE", identifies=True), key(C, B, "", "CASCADE", "r=p")])
    assert keys.after_update(A, {"id": "7"}) == {B: {WHOLE}, C: {"`r` = 7"}}


def test_circles_of_keys_come_to_an_end() -> None:
    circle = ForeignKeys(
        [key(A, A, "CASCADE", "CASCADE", "id=id"), key(A, B, "CASCADE"), key(B, A, "CASCADE")]
    )
    assert circle.after_delete(B) == {A: {WHOLE}, B: {WHOLE}}
    assert circle.after_update(A, {"id": "1"}) == {A: {"`id` = 1"}}


@pytest.mark.parametrize("action", ["", "RESTRICT", "NO ACTION", "SET DEFAULT"])
def test_other_actions_change_nothing(action: str) -> None:
    keys = ForeignKeys([key(B, A, action, action)])
    assert keys.parents == []
    assert keys.reached(A) == set()


def test_terms_of_a_table_become_one_condition() -> None:
    rows = CascadedRows()
    rows.add(B, {"`p` = 1"})
    rows.add(B, {"`p` = 1", "`q` IS NULL"})
    rows.add(C, {"`p` = 2"})
    rows.add(C, {WHOLE})
    rows.add(C, {"`p` = 3"})
    kept = CascadedRows.of_record(rows.to_record())
    assert kept.to_record() == {"x": {"b": ["`p` = 1", "`q` IS NULL"], "c": [""]}}
    assert kept.take(B) == "(`p` = 1) OR (`q` IS NULL)"
    assert kept.take(C) == WHOLE
    assert kept.tables == []


def test_many_terms_are_no_better_than_all_rows() -> None:
    rows = CascadedRows()
    for number in range(100):
        rows.add(B, {f"`p` = {number}"})
    rows.add(C, {f"`p` = '{'x' * 5000}'"})
    assert (rows.take(B), rows.take(C)) == (f"({ANY_ROW})", f"({ANY_ROW})")


def test_rows_of_a_table_that_is_gone_are_forgotten() -> None:
    rows = CascadedRows()
    for table in (A, B, C, ("y", "a")):
        rows.add(table, {WHOLE})
    rows.forget("x", "b")
    assert rows.tables == [A, C, ("y", "a")]
    rows.forget("x", "")
    assert rows.tables == [("y", "a")]
