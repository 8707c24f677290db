"""Cells in the form of Debezium; `tests/debezium` compares them with Debezium itself."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.floats import VectorReader
from connector.binlog.columns.integers import BitReader, IntegerReader
from connector.binlog.columns.json import JsonReader
from connector.binlog.columns.strings import StringReader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope.cells.selected import selected_reader
from connector.stream.envelope.debezium.column_cells import debezium_writer
from connector.stream.envelope.debezium.number_cells import java_text
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.debezium.string_cells import put_compact, with_escapes

if TYPE_CHECKING:
    from connector.binlog.columns.column import ColumnReader
    from connector.foundation.contract import SchemaColumn


def column(kind: str, **facts: object) -> SchemaColumn:
    base = {"name": "c", "type": kind, "nullable": True, "key": 0}
    return {**base, **facts}  # type: ignore[typeddict-item]


def written(of: SchemaColumn, text: str | bytes, form: DebeziumProfile) -> str:
    """Return the cell of a SELECT."""
    data = b"##%b##" % (text.encode() if isinstance(text, str) else text)
    out = BytesWriter()
    writer = debezium_writer(of, selected_reader(of), form, point=False)
    writer.put(PayloadReader(data, 2, len(data) - 2), out)
    return out.getvalue().decode()


def logged(of: SchemaColumn, reader: ColumnReader, data: bytes, form: DebeziumProfile) -> str:
    """Return the cell of a row image."""
    out = BytesWriter()
    debezium_writer(of, reader, form, point=False).put(PayloadReader(data), out)
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
    assert written(column(kind), text, DebeziumProfile()) == json


def test_decimals_have_the_form_that_is_chosen() -> None:
    of = column("decimal", scale=2)
    assert written(of, "-12345678.50", DebeziumProfile("double")) == "-1.23456785E7"
    assert written(of, "-12345678.50", DebeziumProfile("string")) == '"-12345678.50"'


def test_a_date_that_cannot_be_null_is_the_first_day() -> None:
    of = column("date", nullable=False)
    assert written(of, "0000-00-00", DebeziumProfile()) == "0"


@pytest.mark.parametrize(
    ("times", "kind", "text", "json"),
    [
        ("connect", "date", "2000-02-29", "11016"),
        ("connect", "datetime", "1969-12-31 23:59:59.999999", "-1"),
        ("connect", "time", "24:00:00", "86400000"),
        ("connect", "time", "-00:00:00.000001", "null"),
        ("connect", "time", "24:00:00.1", "null"),
        ("connect", "time", "838:59:59", "null"),
        ("microseconds", "datetime", "1970-01-01 00:00:01", "1000000"),
        ("microseconds", "time", "-00:00:01.5", "-1500000"),
        ("nanoseconds", "time", "838:59:59", "3020399000000000"),
        ("nanoseconds", "datetime", "2262-04-11 23:47:15.999999", "9223372035999999000"),
        ("nanoseconds", "datetime", "2262-04-11 23:47:16", "null"),
        ("nanoseconds", "datetime", "2262-04-12 00:00:00", "null"),
        ("nanoseconds", "datetime", "1677-09-22 00:00:00", "-9223286400000000000"),
        ("nanoseconds", "datetime", "1677-09-21 23:59:59", "null"),
        ("isostring", "date", "2010-00-00", "null"),
        ("isostring", "date", "0069-03-04", '"2069-03-04Z"'),
        ("isostring", "datetime", "2019-07-09 02:28:57.120000", '"2019-07-09T02:28:57.12Z"'),
        ("isostring", "datetime", "2019-07-09 02:28:50.000000", '"2019-07-09T02:28:50Z"'),
        ("isostring", "time", "24:00:00", '"00:00:00Z"'),
        ("isostring", "time", "-00:00:01", "null"),
    ],
)
def test_times_have_the_form_that_is_chosen(times: Any, kind: str, text: str, json: str) -> None:
    form = DebeziumProfile(times=times, conversion_failures="null")
    assert written(column(kind, fraction=6), text, form) == json


@pytest.mark.parametrize(
    ("times", "kind", "text"),
    [
        ("connect", "time", "-00:00:01"),
        ("isostring", "time", "24:00:01"),
        ("nanoseconds", "datetime", "9999-12-31 23:59:59"),
    ],
)
def test_a_time_that_its_form_cannot_express_is_refused(times: Any, kind: str, text: str) -> None:
    with pytest.raises(UnsupportedChange) as refused:
        written(column(kind), text, DebeziumProfile(times=times))
    assert str(refused.value) == (
        f'[T216] column c holds a {kind.upper()} that times = "{times}" cannot express; choose '
        'another envelope.times, or conversion_failures = "null", which needs a column that can be '
        "NULL"
    )
    # A column that cannot be NULL has no NULL.
    form = DebeziumProfile(times=times, conversion_failures="null")
    with pytest.raises(UnsupportedChange):
        written(column(kind, nullable=False), text, form)


@pytest.mark.parametrize(
    ("binary", "json"),
    [("bytes", '"+/8="'), ("base64-url-safe", '"-_8="'), ("hex", '"fbff"')],
)
def test_bytes_have_the_form_that_is_chosen(binary: Any, json: str) -> None:
    form = DebeziumProfile(binary=binary)
    assert written(column("blob"), b"\xfb\xff", form) == json
    stored = StringReader(Column(ColumnType.BLOB, 1, nullable=True), 1)
    assert logged(column("blob"), stored, b"\x02\xfb\xff", form) == json


def test_an_unsigned_bigint_can_be_a_decimal() -> None:
    form = DebeziumProfile("double", unsigned_bigints="precise")
    of = column("bigint", unsigned=True)
    assert written(of, "18446744073709551615", form) == '"AP//////////"'
    assert logged(of, IntegerReader(8, True), b"\x07" + bytes(7), form) == '"Bw=="'


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("none", ["a b", "1é-_€", "😀", "ok_1"]),
        ("avro", ["a_b", "_1____", "__", "ok_1"]),
        (
            "avro_unicode",
            ["a_u0020b", "_u0031_u00e9_u002d_u005f_u20ac", "_ud83d_ude00", "ok_u005f1"],
        ),
    ],
)
def test_fields_have_names_that_avro_allows(mode: Any, names: list[str]) -> None:
    columns = [{**column("int"), "name": name} for name in ("a b", "1é-_€", "😀", "ok_1")]
    assert field_names(columns, DebeziumProfile(field_names=mode)) == names  # type: ignore[arg-type]


def test_two_columns_cannot_be_one_field() -> None:
    columns = [{**column("int"), "name": name} for name in ("a b", "a-b")]
    with pytest.raises(UnsupportedChange) as refused:
        field_names(columns, DebeziumProfile(field_names="avro"))  # type: ignore[arg-type]
    assert str(refused.value) == (
        "[T304] columns a b and a-b would both be field a_b; choose another envelope.field_names, "
        "or rename one of them"
    )


def test_row_images_have_the_form_of_selects() -> None:
    form = DebeziumProfile()
    bits = column("bit", length=9)
    assert logged(bits, BitReader(9), b"\x01\x00", form) == '"AAE="'
    assert written(bits, "\x01\x00", form) == '"AAE="'
    wide = column("bigint", unsigned=True)
    assert logged(wide, IntegerReader(8, True), b"\xff" * 8, form) == "-1"
    floats = struct.pack("<2f", 1.0, -2.5e8)
    assert logged(column("vector"), VectorReader(1), b"\x08" + floats, form) == "[1.0,-2.5E8]"
    assert written(column("vector"), floats, form) == "[1.0,-2.5E8]"


def test_documents_of_the_log_have_no_spaces_and_those_of_selects_are_as_printed() -> None:
    form = DebeziumProfile()
    stored = bytes.fromhex("0001000c000b00010005010061")  # {"a": 1}
    assert logged(column("json"), JsonReader(1), bytes([13]) + stored, form) == '"{\\"a\\":1}"'
    assert written(column("json"), '{"a": 1}', form) == '"{\\"a\\": 1}"'


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
