"""Column values byte by byte; `tests/integration/decoding` compares them with SELECT."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter
from orjson import dumps

from connector.binlog.columns import floats
from connector.binlog.columns.column import (
    ABSENT,
    Column,
    ColumnType,
    EnumIndex,
    Geometry,
    PrintedReader,
    Value,
    column_type_name,
)
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.floats import float32_text, put_float64
from connector.binlog.columns.json_document import json_text
from connector.binlog.columns.json_scalars import double_text
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.events.row_reader import NamedImages
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

T = ColumnType

# 100 times x in deflate, and in zlib around it.
PACKED_X = "aba8a03d0000"
WRAPPED_X = f"789c{PACKED_X}401b2ee1"


def column(
    type_code: int,
    metadata: int = 0,
    *,
    collation: int | None = None,
    labels: list[str] | None = None,
    unsigned: bool = False,
) -> Column:
    return Column(
        type_code, metadata, nullable=True, name="c", collation=collation, labels=labels,
        unsigned=unsigned,
    )  # fmt: skip


def value(of: Column, data: str) -> Value:
    """Read a row image of one column that is not NULL, and all of it."""
    image = PayloadReader(b"\x00" + bytes.fromhex(data))
    (read,) = RowPlan([of]).read_image(image, [0])
    assert image.remaining == 0
    return read


@pytest.mark.parametrize(
    ("of", "data", "expected"),
    [
        (column(T.TINY), "ff", -1),
        (column(T.TINY, unsigned=True), "ff", 255),
        (column(T.INT24), "000080", -8388608),
        (column(T.INT24, unsigned=True), "000080", 8388608),
        (column(T.LONGLONG), "ff" * 8, -1),
        (column(T.YEAR), "00", 0),
        (column(T.YEAR), "01", 1901),
        (column(T.BIT, 0x0101), "01ff", 511),
        (column(T.FLOAT, 4), "cdcccc3d", struct.unpack("<f", struct.pack("<f", 0.1))[0]),
        (column(T.DOUBLE, 8), "9a9999999999b93f", 0.1),
        (column(T.NEWDECIMAL, 0x040E), "810dfb38d204d2", "1234567890.1234"),
        (column(T.NEWDECIMAL, 0x040E), "7ef204c72dfb2d", "-1234567890.1234"),
        (column(T.NEWDECIMAL, 0x0202), "b2", "0.50"),
        (column(T.DATE), "2fc30f", "2017-09-15"),
        (column(T.DATE), "000000", "0000-00-00"),
        (column(T.DATE), "00b40f", "2010-00-00"),
        (column(T.TIMESTAMP2, 0), "00000000", "0000-00-00 00:00:00"),
        (column(T.TIMESTAMP2, 3), "0000000000" + "00", "0000-00-00 00:00:00.000"),
        (column(T.TIMESTAMP2, 3), "00000000000a", "1970-01-01 00:00:00.001"),
        (column(T.TIMESTAMP2, 3), "5b2a59ef04ce", "2018-06-20 13:43:11.123"),
        (column(T.TIMESTAMP2, 0), "ffffffff", "2106-02-07 06:28:15"),
        (column(T.DATETIME2, 6), "99a392273901e240", "2019-07-09 02:28:57.123456"),
        (column(T.TIME2, 2), "7fffffff", "-00:00:00.01"),
        (column(T.TIME2, 2), "7fffff00", "-00:00:01.00"),
        (column(T.TIME2, 0), "800000", "00:00:00"),
        (column(T.TIME2, 6), "4b9105000000", "-838:59:59.000000"),
        (column(T.TIMESTAMP), "00000000", "0000-00-00 00:00:00"),
        (column(T.TIMESTAMP), "01000000", "1970-01-01 00:00:01"),
        (column(T.DATETIME), (20190709022857).to_bytes(8, "little").hex(), "2019-07-09 02:28:57"),
        (column(T.TIME), (-8385959 & 0xFFFFFF).to_bytes(3, "little").hex(), "-838:59:59"),
        (column(T.VARCHAR, 40, collation=45), "02c3a9", "é"),
        (column(T.VARCHAR, 256, collation=8), "0100e9", "é"),
        (column(T.VARCHAR, 40), "02c3a9", b"\xc3\xa9"),
        (column(T.VARCHAR, 40, collation=63), "0100", b"\x00"),
        (column(T.STRING, 0x28FE, collation=45), "0161", "a"),
        (column(T.STRING, 0x04FE, collation=63), "0161", b"a\0\0\0"),
        (column(T.STRING, 0x04FE), "0161", b"a"),
        (column(T.STRING, 0xFCEE, collation=45), "010061", "a"),  # CHAR(255) of 508 bytes
        (column(T.BLOB, 2, collation=45), "0100" + "61", "a"),
        (column(T.BLOB, 3, collation=63), "010000" + "61", b"a"),
        (column(T.STRING, 0x01F7, labels=["x", "y"]), "02", "y"),
        (column(T.STRING, 0x01F7, labels=["x", "y"]), "00", ""),
        (column(T.STRING, 0x01F7, labels=["x", "y"]), "03", EnumIndex(3)),
        (column(T.STRING, 0x02F7), "0300", EnumIndex(3)),
        (column(T.STRING, 0x02F7), "0000", ""),
        (column(T.STRING, 0x01F8, labels=["p", "q", "r"]), "05", "p,r"),
        (column(T.STRING, 0x01F8, labels=["p", "q", "r"]), "00", ""),
        (column(T.STRING, 0x08F8), "ff" * 8, 2**64 - 1),
        (column(T.GEOMETRY, 4), "06000000" + "e6100000" + "0101", Geometry(4326, b"\x01\x01")),
        (column(T.VECTOR, 4), "08000000" + "0000803f" + "000020c0", [1.0, -2.5]),
        (column(T.JSON, 4), "00000000", "null"),
        (column(T.TYPED_ARRAY, 0x08), "10000000" + "0201000f000a0700" + "07" + "00" * 7, "[7]"),
        (column(T.VARCHAR, 40, collation=45), "01ff", b"\xff"),
        (column(T.VARCHAR, 40, collation=999), "0161", b"a"),
        (column(T.STRING, 0x28FE, collation=11), "0180", "?"),
        (column(T.BLOB, 1, collation=28), "0181", b"\x81"),
        (column(T.BLOB, 1, collation=28), "02a140", "?"),
        (column(T.VARCHAR_COMPRESSED, 41, collation=45), "00", ""),
        (column(T.VARCHAR_COMPRESSED, 41, collation=45), "0300c3a9", "é"),
        (column(T.VARCHAR_COMPRESSED, 300, collation=8), "020000e9", "é"),
        (column(T.BLOB_COMPRESSED, 2, collation=63), "0000", b""),
        (column(T.BLOB_COMPRESSED, 2, collation=63), "0800" + "8964" + PACKED_X, b"x" * 100),
        (column(T.BLOB_COMPRESSED, 1, collation=45), "0e" + "8164" + WRAPPED_X, "x" * 100),
    ],
)  # fmt: skip
def test_a_value_is_read_from_its_bytes(of: Column, data: str, expected: Value) -> None:
    assert value(of, data) == expected


@pytest.mark.parametrize(
    ("of", "data", "text"),
    [
        (column(T.TINY), "80", "-128"),
        (column(T.SHORT, unsigned=True), "ffff", "65535"),
        (column(T.INT24), "ffffff", "-1"),
        (column(T.LONG), "00000080", "-2147483648"),
        (column(T.LONGLONG), "0000000000000080", "-9223372036854775808"),
        (column(T.LONGLONG, unsigned=True), "ff" * 8, "18446744073709551615"),
        (column(T.YEAR), "00", "0"),
        (column(T.YEAR), "7e", "2026"),
        (column(T.BIT, 0x0101), "01ff", "511"),
        (column(T.BIT, 0x0800), "ff" * 8, "18446744073709551615"),
        (column(T.FLOAT, 4), "cdcccc3d", "0.1"),
        (column(T.DOUBLE, 8), "9a9999999999b9bf", "-0.1"),
        (column(T.DOUBLE, 8), "0000000000000080", "-0.0"),
        (column(T.NEWDECIMAL, 0x0202), "4d", "-0.50"),
        (column(T.DATETIME2, 6), "99a392273901e240", "2019-07-09 02:28:57.123456"),
        (column(T.TIME2, 2), "7fffffff", "-00:00:00.01"),
        (column(T.VECTOR, 1), "08" + "0000803f" + "000020c0", "[1.0,-2.5]"),
        (column(T.VECTOR, 1), "00", "[]"),
        (column(T.JSON, 1), "05" + "0c03" + "c3a922", '"é\\""'),
    ],
)  # fmt: skip
def test_a_printed_value_is_put_as_the_server_prints_it(of: Column, data: str, text: str) -> None:
    (reader,) = RowPlan([of]).readers
    assert isinstance(reader, PrintedReader)
    image = PayloadReader(bytes.fromhex(data))
    out = BytesWriter()
    out.write(b"before ")
    reader.put(image, out)
    assert out.getvalue().decode() == f"before {text}"
    assert image.remaining == 0


@given(st.integers(1, 2**32 - 1))
def test_a_timestamp_is_read_as_the_standard_library_does(seconds: int) -> None:
    expected = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    assert value(column(T.TIMESTAMP2, 0), seconds.to_bytes(4, "big").hex()) == expected
    assert value(column(T.TIMESTAMP), seconds.to_bytes(4, "little").hex()) == expected


@pytest.mark.parametrize(
    ("of", "data", "reason"),
    [
        (column(T.LONG), "0000", "need 4 bytes at offset 1, but the payload ends at 3"),
        (column(T.NEWDECIMAL, 0x0002), "ff", "a group of 2 decimal digits holds a larger number"),
        (column(T.NEWDECIMAL, 0x0200), "", "DECIMAL(0,2) does not exist"),
        (column(T.NEWDECIMAL, 0x0042), "", "DECIMAL(66,0) does not exist"),
        (column(T.NEWDECIMAL, 0x0502), "", "DECIMAL(2,5) does not exist"),
        (column(T.FLOAT, 4), "0000807f", "a floating-point number is not finite"),
        (column(T.DOUBLE, 8), "000000000000f87f", "a floating-point number is not finite"),
        (column(T.VECTOR, 1), "040000807f", "a floating-point number is not finite"),
        (column(T.DATE), "a0c10f", "a date has a month above 12 or a year above 9999"),
        (column(T.TIMESTAMP2, 7), "", "a time with 7 digits after the second does not exist"),
        (
            column(T.TIMESTAMP2, 2),
            "00000001ff",
            "a fraction of a second with 2 digits holds a larger number",
        ),
        (column(T.DATETIME2, 0), "0000000000", "a DATETIME is negative"),
        (column(T.DATETIME2, 0), "800001f000", "a DATETIME has an hour above 23"),
        (column(T.DATETIME2, 0), "8000000fc0", "a time has a minute or a second above 59"),
        (column(T.TIME2, 0), "80003f", "a time has a minute or a second above 59"),
        (column(T.TIME), "3c0000", "a time has a minute or a second above 59"),
        (
            column(T.DATETIME),
            (20190732240000).to_bytes(8, "little").hex(),
            "a DATETIME has an hour above 23 or a day above 31",
        ),
        (column(T.BLOB, 5, collation=45), "", "a length of 5 bytes does not exist"),
        (column(T.BIT, 0x0000), "", "a BIT of 0 bits does not exist"),
        (column(T.BIT, 0x0801), "", "a BIT of 65 bits does not exist"),
        (column(T.STRING, 0x03F7), "", "an ENUM of 3 bytes does not exist"),
        (column(T.STRING, 0x09F8), "", "a SET of 9 bytes does not exist"),
        (
            column(T.STRING, 0x01F8, labels=["p"]),
            "02",
            "a SET with 1 labels holds a higher bit",
        ),
        (
            column(T.GEOMETRY, 1),
            "020000",
            "need 4 bytes at offset 0, but the payload ends at 2",
        ),
        (column(T.VECTOR, 1), "020000", "a VECTOR of 2 bytes is not a row of 32-bit floats"),
        (
            column(T.TYPED_ARRAY, 0x08),
            "020000000d00",
            "JSON type 0x0d is not known",
        ),
        (
            column(T.DECIMAL),
            "",
            (
                "DECIMAL of servers before 5.0 cannot be read from rows; rebuild the table, or "
                "exclude it"
            ),
        ),
        (column(T.NULL), "", "values of this type are not supported; exclude the table"),
        (
            column(T.BLOB_COMPRESSED, 1),
            "0110",
            "compression method 1 is not known; upgrade the connector",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "0188",
            "1 compressed bytes do not start with their size",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "078dffffffffff00",
            "7 compressed bytes do not start with their size",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "028a0a",
            "2 compressed bytes do not start with their size",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "0489050707",
            (
                "a compressed value cannot be read: Error -3 while decompressing data: invalid "
                "block type"
            ),
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "0b8cffffffff" + PACKED_X,
            "4294967295 bytes before compression are more than any event has",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "0b8c40000000" + PACKED_X,
            "a compressed value does not hold the 1073741824 bytes that it promises",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "088963" + PACKED_X,
            "a compressed value does not hold the 99 bytes that it promises",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "098964" + PACKED_X + "00",
            "a compressed value does not hold the 100 bytes that it promises",
        ),
        (
            column(T.BLOB_COMPRESSED, 1),
            "058964" + PACKED_X[:6],
            "a compressed value does not hold the 100 bytes that it promises",
        ),
    ],
)
def test_bytes_that_are_no_value_of_the_type_are_an_error(
    of: Column, data: str, reason: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        value(of, data)
    assert caught.value.text == f"column c ({column_type_name(of.real_type)}): {reason}"


def test_an_image_marks_nulls_and_leaves_columns_out() -> None:
    plan = RowPlan([column(T.TINY), column(T.TINY), column(T.TINY)])
    places = plan.indexes(b"\x05")
    assert places == [0, 2]
    assert plan.read_image(PayloadReader(b"\x02\x07"), places) == [7, ABSENT, None]
    assert plan.indexes(b"\x05") is places


def test_an_image_by_names_is_without_the_columns_that_are_left_out() -> None:
    plan = RowPlan([column(T.TINY), column(T.TINY), column(T.TINY)])
    image = PayloadReader(b"\x02\x07")
    images = NamedImages(plan, plan.indexes(b"\x05"), ["a", "b", "c"])
    assert images.read(image) == {"a": 7, "c": None}
    with pytest.raises(DecodeError) as caught:
        images.read(PayloadReader(b"\x00\x07"))
    assert caught.value.text == (
        "column c (TINY): need 1 bytes at offset 2, but the payload ends at 2"
    )


def test_the_number_of_remembered_bitmaps_is_bounded() -> None:
    plan = RowPlan([column(T.TINY)] * 8)
    for bitmap in range(256):
        assert len(plan.indexes(bytes([bitmap]))) == bitmap.bit_count()
    assert len(plan._steps) == 64


def test_a_column_without_a_name_is_called_by_its_position() -> None:
    nameless = Column(ColumnType.NULL, 0, nullable=True)
    with pytest.raises(DecodeError) as caught:
        RowPlan([nameless])
    assert caught.value.text == (
        "column 1 (NULL): values of this type are not supported; exclude the table"
    )


@given(st.integers(1, 65), st.data())
def test_every_decimal_is_read_back_with_all_digits(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(30, precision)))
    negative = data.draw(st.booleans())
    digits = data.draw(st.text("0123456789", min_size=precision, max_size=precision))
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    text = (whole.lstrip("0") or "0") + (f".{fraction}" if scale else "")
    reader = DecimalReader(precision, scale)
    stored = encode_decimal(whole, fraction, negative)
    assert reader.read_text(PayloadReader(stored)) == ("-" if negative else "") + text
    width = 16 if precision <= 38 else 32
    unscaled = BytesWriter()
    reader.put_unscaled(PayloadReader(stored), unscaled, width)
    number = -int(digits) if negative else int(digits)
    assert unscaled.getvalue() == number.to_bytes(width, "little", signed=True)


def encode_decimal(whole: str, fraction: str, negative: bool) -> bytes:
    widths = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    head = len(whole) % 9
    groups = [whole[:head]] if head else []
    groups += [whole[n : n + 9] for n in range(head, len(whole), 9)]
    groups += [fraction[n : n + 9] for n in range(0, len(fraction), 9)]
    stored = b"".join(int(group).to_bytes(widths[len(group)], "big") for group in groups)
    if negative:
        stored = bytes(byte ^ 0xFF for byte in stored)
    return bytes([stored[0] ^ 0x80]) + stored[1:]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_reads_back_to_the_same_32_bits(number: float) -> None:
    assert struct.pack("<f", float(float32_text(number))) == struct.pack("<f", number)


# What is next to a power of two has another distance to its neighbours below than above.
EDGES = (0, 1, 2, 0x40_0000, 0x7F_FFFE, 0x7F_FFFF)


@given(st.integers(0, 2**23 - 1) | st.sampled_from(EDGES), st.integers(0, 254), st.integers(0, 1))
def test_the_digits_of_a_float_are_those_that_trying_finds(
    fraction: int, exponent: int, sign: int
) -> None:
    (number,) = struct.unpack("<f", (sign << 31 | exponent << 23 | fraction).to_bytes(4, "little"))
    assert float32_text(number) == floats._repr32(number)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (16777216.0, "16777216.0"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (1e-45, "1e-45"),
        (0.3, "0.3"),
        (-0.0, "-0.0"),
        (0.12345679, "0.12345679"),
        (1.00000012, "1.0000001"),
        (1044242240.0, "1044242240.0"),
    ],
)
def test_the_text_of_a_float_is_the_shortest(number: float, text: str) -> None:
    assert float32_text(struct.unpack("<f", struct.pack("<f", number))[0]) == text


# JSON documents. Their texts are compared with a server's in tests/integration/decoding.


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_json_number_reads_back_to_the_same_number(number: float) -> None:
    assert struct.pack("<d", float(double_text(number))) == struct.pack("<d", number)


@given(st.integers(-(10**16), 10**16), st.integers(0, 4))
def test_the_text_of_a_double_with_few_decimals_is_the_shortest(number: int, decimals: int) -> None:
    value = number / 10**decimals
    out = BytesWriter()
    put_float64(out, value)
    assert out.getvalue() == dumps(value)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("0400", "null"),
        ("0401", "true"),
        ("05ffff", "-1"),
        ("0affffffffffffffff", "18446744073709551615"),
        ("0c03612262", '"a\\"b"'),
        ("0c0101", '"\\u0001"'),
        ("0000000400", "{}"),
        ("0201000700050100", "[1]"),
        ("0001000c000b00010005020061", '{"a": 2}'),
        ("0ff60402018201", "2.1"),
    ],
)
def test_a_json_document_has_the_text_of_the_server(document: str, text: str) -> None:
    assert json_text(bytes.fromhex(document)) == text


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("0d", "JSON type 0x0d is not known"),
        ("0403", "JSON literal 0x03 is not known"),
        ("0b000000000000f07f", "a floating-point number is not finite"),
        ("0c02ff", "need 2 bytes at offset 2, but the payload ends at 3"),
        ("0c01ff", "a JSON string is not UTF-8"),
        ("0cffffffffff01", "the length of a JSON string takes more than five bytes"),
        ("020000ff00", "a JSON container of 255 bytes is longer than the 4 left"),
        (
            "0201000700020000",
            "a JSON document refers to the same bytes more than once",
        ),
        ("0f0a0100", "a date or time in a JSON document has 1 bytes instead of 8"),
        ("0f0a08" + "00" * 3 + "3c00000000", "a time has a minute or a second above 59"),
        ("0001000700" + "0b0001", "need 2 bytes at offset 7, but the payload ends at 8"),
        ("0003000d000b0001000500", "a JSON container of 13 bytes is longer than the 10 left"),
        ("0003000a000b0001000500", "need 2 bytes at offset 11, but the payload ends at 11"),
        ("0001000400", "need 2 bytes at offset 5, but the payload ends at 5"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_json_document_are_an_error(document: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        json_text(bytes.fromhex(document))
    assert caught.value.text == reason


def test_a_document_nested_deeper_than_the_server_allows_is_an_error() -> None:
    nested = b"\x00\x00\x04\x00"
    for _ in range(101):
        nested = b"\x01\x00" + (len(nested) + 7).to_bytes(2, "little") + b"\x02\x07\x00" + nested
    with pytest.raises(DecodeError) as caught:
        json_text(b"\x02" + nested)
    assert caught.value.text == "a JSON document is nested deeper than 100 levels"


def test_values_that_share_their_bytes_cannot_blow_a_document_up() -> None:
    # Each array holds the next one twice: 2**40 values in 700 bytes.
    nested = b"\x02\x00\x00\x04\x00"[1:]
    for _ in range(40):
        size = 10 + len(nested)
        entry = b"\x02\x0a\x00"
        nested = b"\x02\x00" + size.to_bytes(2, "little") + entry + entry + nested
    with pytest.raises(DecodeError, match="the same bytes more than once"):
        json_text(b"\x02" + nested)
