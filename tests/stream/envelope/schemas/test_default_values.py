"""The value of rows that existed before a column, in the JSON form of the column."""

from __future__ import annotations

from typing import Any

import pytest

from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.envelope.schemas.default_values import with_added_default

LITERAL, IMPLICIT = DefaultKind.LITERAL, DefaultKind.IMPLICIT


def column(kind: str, **facts: Any) -> Any:
    return {"name": "x", "type": kind, "nullable": True, "key": 0, **facts}


@pytest.mark.parametrize(
    ("facts", "text", "value"),
    [
        (column("int"), "7", 7),
        (column("int"), "-7", -7),
        (column("int"), "6.5", 7),
        (column("bigint", unsigned=True), "18446744073709551615", "18446744073709551615"),
        (column("decimal", precision=10, scale=2), "1.5", "1.50"),
        (column("decimal", precision=10, scale=0), "2.50", "3"),
        (column("decimal", precision=3, scale=1), "-0.01", "0.0"),
        (column("double"), "1e3", 1000.0),
        (column("bit", length=1), "1", True),
        (column("bit", length=4), "5", "5"),
        (column("varchar"), "Zoë", "Zoë"),
        (column("enum", labels=["Small", "Large"]), "large", "Large"),
        (column("enum", labels=["a", "A"]), "a", "a"),
        (column("set", labels=["a", "b", "c"]), "C,a", "a,c"),
        (column("binary", length=4), "ab", "YWIAAA=="),
        (column("varbinary", length=4), "ab", "YWI="),
        (column("date"), "2020-02-03", "2020-02-03"),
        (column("datetime", fraction=3), "2020-02-03 04:05:06.7", "2020-02-03 04:05:06.700"),
        (column("datetime", fraction=1), "2020-02-03", "2020-02-03 00:00:00.0"),
        (column("time", fraction=0), "-10:00:00", "-10:00:00"),
        (column("year"), "1999", 1999),
    ],
)
def test_a_literal_takes_the_form_of_the_column(facts: Any, text: str, value: object) -> None:
    found = with_added_default(facts, AddedColumn("x", LITERAL, text))
    assert found == {**facts, "added_default": value}


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        (column("int"), 0),
        (column("decimal", precision=6, scale=2), "0.00"),
        (column("varchar"), ""),
        (column("enum", labels=["a", "b"]), "a"),
        (column("set", labels=["a", "b"]), ""),
        (column("binary", length=2), "AAA="),
        (column("blob"), ""),
        (column("date"), "0000-00-00"),
        (column("datetime", fraction=2), "0000-00-00 00:00:00.00"),
        (column("timestamp", fraction=0), "0000-00-00T00:00:00Z"),
        (column("time", fraction=0), "00:00:00"),
        (column("json"), "null"),
        (column("bit", length=1), False),
    ],
)
def test_a_column_that_is_not_null_starts_with_its_types_zero(facts: Any, value: object) -> None:
    found = with_added_default(facts, AddedColumn("x", IMPLICIT))
    assert found == {**facts, "added_default": value}


def test_the_time_of_the_statement_is_known_for_a_timestamp_in_whole_seconds() -> None:
    now = AddedColumn("x", DefaultKind.NOW, "1700000000")
    found = with_added_default(column("timestamp", fraction=0), now)
    assert found["added_default"] == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("facts", "added"),
    [
        (column("char"), AddedColumn("x", DefaultKind.COMPUTED)),
        (column("datetime", fraction=0), AddedColumn("x", DefaultKind.NOW, "1700000000")),
        (column("timestamp", fraction=3), AddedColumn("x", DefaultKind.NOW, "1700000000")),
        (column("timestamp", fraction=0), AddedColumn("x", LITERAL, "2020-01-01 00:00:00")),
        (column("datetime", fraction=0), AddedColumn("x", LITERAL, "2020-01-01 00:00:00.5")),
        (column("date"), AddedColumn("x", LITERAL, "20200101")),
        (column("year"), AddedColumn("x", LITERAL, "70")),
        (column("enum", labels=["a"]), AddedColumn("x", LITERAL, "b")),
        (column("enum", labels=["a", "A", "b"]), AddedColumn("x", LITERAL, "Ä")),
        (column("varbinary"), AddedColumn("x", LITERAL, "ë")),
        (column("int"), AddedColumn("x", LITERAL, "seven")),
        (column("geometry"), AddedColumn("x", IMPLICIT)),
    ],
)
def test_a_value_that_the_log_does_not_tell_is_marked_and_not_guessed(
    facts: Any, added: AddedColumn
) -> None:
    assert with_added_default(facts, added) == {**facts, "added_default_unknown": True}


def test_a_column_that_starts_as_null_needs_nothing() -> None:
    facts = column("int")
    assert with_added_default(facts, AddedColumn("x", DefaultKind.NULL)) == facts
