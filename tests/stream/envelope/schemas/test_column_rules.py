"""Which columns records have, and which changes their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import UnsupportedChange
from connector.foundation.settings.sections import SourceSettings
from connector.stream.envelope.schemas.column_masks import TextHash, TextMask
from connector.stream.source.record_options import column_choice

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from connector.stream.envelope.schemas.column_rules import TableColumnRules


def column(name: str, kind: str = "varchar", key: int = 0) -> SchemaColumn:
    return {
        "name": name, "type": kind, "nullable": True, "key": key, "charset": "utf8mb4",
        "length": 80,
    }  # fmt: skip


USERS = [
    column("id", "int", 1), column("Email"), column("name"), column("notes", "text"),
    column("age", "int"),
]  # fmt: skip


def chosen(**settings: Any) -> TableColumnRules:
    choice = column_choice(SourceSettings.model_validate({"server_id": 1, **settings}))
    assert choice is not None
    return choice.of("shop", "users", USERS)


def test_columns_are_left_out_by_patterns() -> None:
    assert chosen(exclude_columns=["shop.users.n*", "shop.other.age"]).left_out == {"name", "notes"}


def test_a_table_that_is_named_keeps_its_key_and_these_columns() -> None:
    assert chosen(columns=["shop.u*.name"]).left_out == {"Email", "notes", "age"}
    assert chosen(columns=["shop.other.name"]).left_out == set()


def test_a_name_of_a_column_has_no_case() -> None:
    changes = chosen(masks=[{"columns": ["shop.users.eMAIL"], "chars": 4}]).changes
    assert list(changes) == ["Email"]


def test_the_first_mask_of_a_column_counts() -> None:
    changes = chosen(
        masks=[
            {"columns": ["shop.users.email"], "chars": 4},
            {"columns": ["shop.users.[en]*"], "hash": "SHA3-256", "salt": "x"},
        ]
    ).changes
    assert isinstance(changes["Email"], TextMask)
    assert isinstance(changes["name"], TextHash)
    # As many digits as the column has characters.
    assert len(changes["name"].text("x")) == 20
    assert len(changes["notes"].text("x")) == 64


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"masks": [{"columns": ["shop.users.mail"], "chars": 4}]},
            (
                "[T401] there is no column shop.users.mail, which source.masks names; name the "
                "column that has its values now, and start again"
            ),
        ),
        (
            {"exclude_columns": ["shop.*.id"]},
            (
                "[T402] column shop.users.id belongs to the key, so it cannot be left out or "
                "masked; take it out of the patterns of source.masks, source.columns and "
                "source.exclude_columns, or exclude the table"
            ),
        ),
        (
            {"masks": [{"columns": ["shop.users.age"], "hash": "MD5"}]},
            (
                "[T403] column shop.users.age has type INT, and this change is for CHAR, ENUM, "
                "SET, TEXT, VARCHAR alone; leave it out by source.exclude_columns, or take it out "
                "of the patterns of source.masks"
            ),
        ),
    ],
)
def test_a_choice_that_does_not_fit_the_table_is_refused(
    settings: dict[str, Any], text: str
) -> None:
    with pytest.raises(UnsupportedChange) as refused:
        chosen(**settings)
    assert str(refused.value) == text


def test_a_table_keeps_a_column() -> None:
    choice = column_choice(
        SourceSettings.model_validate({"server_id": 1, "exclude_columns": ["*.*.*"]})
    )
    assert choice is not None
    with pytest.raises(UnsupportedChange) as refused:
        choice.of("shop", "log", [column("line")])
    assert str(refused.value) == (
        "[T404] table shop.log would have no column; exclude the table in source.exclude_tables"
    )
