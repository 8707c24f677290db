"""Cells in the form of Debezium; `tests/debezium` compares them with Debezium itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from librt.strings import BytesWriter

from connector.envelope.debezium.form import DebeziumForm
from connector.envelope.debezium.number_cells import java_text
from connector.envelope.debezium.selected_forms import debezium_cell
from connector.envelope.debezium.text_cells import put_compact, with_escapes
from connector.envelope.debezium.value_forms import debezium_encoder

if TYPE_CHECKING:
    from connector.contract import SchemaColumn


def column(kind: str, **facts: object) -> SchemaColumn:
    base = {"name": "c", "type": kind, "nullable": True, "key": 0}
    return {**base, **facts}  # type: ignore[typeddict-item]


def written(of: SchemaColumn, text: str, form: DebeziumForm) -> str:
    cell = debezium_cell(of, form, point=False)
    if cell is None:
        return "as exact"
    out = BytesWriter()
    data = f"##{text}##".encode()
    cell.put(out, data, 2, len(data) - 2)
    return out.getvalue().decode()


@pytest.mark.parametrize(
    ("kind", "text", "json"),
    [
        ("date", "1970-01-01", "0"),
        ("date", "2000-02-29", "11016"),
        ("date", "1969-12-31", "-1"),
        ("date", "0069-01-01", "36160"),
        ("date", "2010-00-00", "null"),
        ("datetime", "1969-12-31 23:59:59", "-1000"),
        ("timestamp", "2018-06-20 13:37:03", '"2018-06-20T13:37:03Z"'),
        ("time", "-838:59:59", "-3020399000000"),
        ("decimal", "-1.28", '"gA=="'),
        ("decimal", "0.00", '"AA=="'),
        ("decimal", "9" * 30, '"DJ8snNBGdO3qP////w=="'),
        ("year", "0000", "1900"),
        ("double", "1e-05", "1.0E-5"),
    ],
)
def test_a_printed_cell_has_its_form(kind: str, text: str, json: str) -> None:
    assert written(column(kind), text, DebeziumForm()) == json


def test_decimals_have_the_form_that_is_chosen() -> None:
    of = column("decimal", scale=2)
    assert written(of, "-12345678.50", DebeziumForm("double")) == "-1.23456785E7"
    assert written(of, "-12345678.50", DebeziumForm("string")) == "as exact"


def test_a_date_that_cannot_be_null_is_the_first_day() -> None:
    of = column("date", nullable=False)
    assert written(of, "0000-00-00", DebeziumForm()) == "0"


def test_values_have_the_form_of_cells() -> None:
    form = DebeziumForm()
    bits = column("bit", length=9)
    assert debezium_encoder(bits, form, point=False)(256) == '"AAE="'
    assert written(bits, "\x01\x00", form) == '"AAE="'
    wide = column("bigint", unsigned=True)
    assert debezium_encoder(wide, form, point=False)(2**64 - 1) == "-1"
    assert debezium_encoder(column("json"), form, point=False)('{"a": [1, 2]}') == (
        '"{\\"a\\":[1,2]}"'
    )
    assert debezium_encoder(column("vector"), form, point=False)([1.0, -2.5e8]) == "[1.0,-2.5E8]"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.0", "0.0"), ("-0.0", "-0.0"), ("1.5", "1.5"), ("0.001", "0.001"), ("0.00099", "9.9E-4"),
        ("9999999.0", "9999999.0"), ("10000000.0", "1.0E7"), ("1e+22", "1.0E22"),
        ("100.0", "100.0"), ("5e-324", "4.9E-324"),
        ("1.7976931348623157e308", "1.7976931348623157E308"),
    ],
)  # fmt: skip
def test_floats_are_printed_as_java_prints_them(number: str, text: str) -> None:
    assert java_text(number) == text


def test_the_smallest_floats_of_32_bits_have_two_digits() -> None:
    assert java_text("1e-45", single=True) == "1.4E-45"


def test_documents_lose_the_spaces_between_their_parts_alone() -> None:
    out = BytesWriter()
    put_compact(out, b'{"a b": [1, "x, \\" y: z"], "c\\\\": 2}')
    assert out.getvalue() == b'{"a b":[1,"x, \\" y: z"],"c\\\\":2}'


def test_escapes_are_those_of_java() -> None:
    assert with_escapes('"\\u001f \\\\u001f 😀 é"') == '"\\u001F \\\\u001f \\uD83D\\uDE00 é"'
