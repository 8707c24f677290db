"""Texts of views, as servers keep them: tables and columns."""

from __future__ import annotations

import pytest

from connector.foundation.errors import ConfigError
from connector.rules.syntax_tree import ViewText, view_text

A, B = ("s", "a"), ("s", "b")
JOINED = (
    "select `x`.`id` AS `id`,`y`.`v` AS `v`,(`x`.`v` + 1) AS `more`,"
    "(select max(`s`.`c`.`id`) from `s`.`c`) AS `most` "
    "from (`s`.`a` `x` join `s`.`b` `y` on((`x`.`id` = `y`.`id`)))"
)
WITH_QUERY = (
    "select `s`.`a`.`id` AS `id` from `s`.`a` "
    "where `s`.`a`.`id` in (select `s`.`b`.`id` from `s`.`b`)"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "select `s`.`a`.`id` AS `id`,`s`.`a`.`v` AS `W` from `s`.`a` where (`s`.`a`.`v` > 1)",
            ViewText((A,), {"id": (A, "id"), "w": (A, "v")}),
        ),
        (
            JOINED,
            ViewText((A, B), {"id": (A, "id"), "v": (B, "v")}),
        ),
        (
            WITH_QUERY,
            ViewText((A,), {"id": (A, "id")}),
        ),
    ],
)
def test_a_view_tells_from_which_tables_its_columns_are(text: str, expected: ViewText) -> None:
    assert view_text(text) == expected


@pytest.mark.parametrize("text", ["select 1 AS `x`", "garbage", "select '", "select 1; select 2"])
def test_a_text_that_is_no_view_of_tables_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        view_text(text)
