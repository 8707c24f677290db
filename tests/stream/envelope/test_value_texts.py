"""How a decoded value is written as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.column import EnumIndex, Geometry
from connector.foundation.contract import COLUMN_TYPES
from connector.foundation.errors import UnsupportedChange
from tests.stream.envelope.value_texts import value_encoder


def column(kind: str, **facts: Any) -> Any:
    return {"name": "x", "type": kind, "nullable": True, "key": 0, **facts}


@pytest.mark.parametrize(
    ("facts", "value", "text"),
    [
        (column("int"), -7, "-7"),
        (column("bigint"), -(2**63), "-9223372036854775808"),
        (column("bigint", unsigned=True), 7, '"7"'),
        (column("decimal"), "-0.50", '"-0.50"'),
        (column("float"), 0.1, "0.1"),
        (column("double"), 1e100, "1e+100"),
        (column("bit", length=1), 1, "true"),
        (column("bit", length=1), 0, "false"),
        (column("bit", length=64), 2**64 - 1, '"18446744073709551615"'),
        (column("varchar"), 'Zoë "x"\n', '"Zoë \\"x\\"\\n"'),
        (column("enum"), "a", '"a"'),
        (column("enum"), EnumIndex(7), '{"index":7}'),
        (column("set"), "", '""'),
        (column("binary"), b"\x00\xff", '"AP8="'),
        (column("date"), "0000-00-00", '"0000-00-00"'),
        (column("datetime"), "2019-07-09 02:28:57.123456", '"2019-07-09 02:28:57.123456"'),
        (column("timestamp"), "2018-06-20 13:37:03.123", '"2018-06-20T13:37:03.123Z"'),
        (column("timestamp"), "0000-00-00 00:00:00", '"0000-00-00T00:00:00Z"'),
        (column("time"), "-838:59:59.000000", '"-838:59:59.000000"'),
        (column("year"), 0, "0"),
        (column("json"), '{"a": 2}', '"{\\"a\\": 2}"'),
        (column("geometry"), Geometry(4326, b"\x01"), '{"wkb":"AQ==","srid":4326}'),
        (column("vector"), [0.5, -1.0], "[0.5,-1.0]"),
    ],
)
def test_a_value_is_exact_and_readable(facts: Any, value: Any, text: str) -> None:
    written = value_encoder(facts)(value)
    assert written == text
    json.loads(written)


def test_every_type_of_the_contract_has_a_form() -> None:
    for kind in COLUMN_TYPES:
        value_encoder(column(kind))


def test_a_type_without_a_form_is_refused() -> None:
    with pytest.raises(UnsupportedChange) as caught:
        value_encoder(column("type 20"))
    assert caught.value.text == (
        "column x has type type 20, which the envelope has no form for; exclude the table"
    )


@pytest.mark.parametrize("kind", ["char", "varchar", "text", "set", "json"])
def test_a_value_that_is_not_text_is_refused(kind: str) -> None:
    encode = value_encoder(column(kind))
    for value in (b"\xff", 7):
        with pytest.raises(UnsupportedChange) as caught:
            encode(value)
        assert caught.value.text == (
            "column x holds a value that is not text of its character set; correct it, or exclude "
            "the table"
        )


@given(st.text())
def test_any_text_reads_back(text: str) -> None:
    assert json.loads(value_encoder(column("text"))(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_reads_back(value: float) -> None:
    assert json.loads(value_encoder(column("double"))(value)) == value
