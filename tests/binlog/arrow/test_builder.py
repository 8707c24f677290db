"""What the builders make of a row's bytes is what Arrow makes of the values in them."""

from __future__ import annotations

import re
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.binlog import argument_errors
from connector.binlog.arrow.batch_columns import array_builder, arrow_type
from connector.binlog.arrow.builder import ArrowValueError, VariableWidthBuilder
from connector.binlog.columns.column import Column, EnumIndex, Geometry
from connector.binlog.columns.column import ColumnType as T
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.foundation.errors.texts import text_of
from tests.length import full_only, length

if TYPE_CHECKING:
    from connector.binlog.columns.column import Value

LATIN1, UTF8MB4, BINARY, UNKNOWN_COLLATION = 8, 45, 63, 9999


def column(type_code: int, metadata: int = 0, **facts: Any) -> Column:
    return Column(type_code=type_code, metadata=metadata, nullable=True, **facts)


COLUMNS = [
    *[column(kind) for kind in (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG)],
    *[column(kind, unsigned=True) for kind in (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG)],
    column(T.YEAR),
    column(T.FLOAT, 4),
    column(T.DOUBLE, 8),
    *[column(T.NEWDECIMAL, scale << 8 | digits) for digits, scale in [(5, 0), (2, 2), (18, 9)]],
    *[column(T.NEWDECIMAL, scale << 8 | digits) for digits, scale in [(38, 10), (65, 30)]],
    column(T.DATE),
    *[column(kind) for kind in (T.TIMESTAMP, T.DATETIME, T.TIME)],
    *[
        column(kind, digits)
        for kind in (T.TIMESTAMP2, T.DATETIME2, T.TIME2)
        for digits in (0, 1, 2, 3, 6)
    ],
    *[
        column(kind, metadata, collation=collation)
        for kind, metadata in [(T.STRING, 0x03FE), (T.VARCHAR, 4), (T.VARCHAR, 300), (T.BLOB, 1)]
        for collation in (LATIN1, UTF8MB4, BINARY, UNKNOWN_COLLATION, None)
    ],
    column(T.VARCHAR_COMPRESSED, 4, collation=UTF8MB4),
    column(T.BLOB_COMPRESSED, 1, collation=BINARY),
    *[column(T.STRING, 0x01F7, labels=labels) for labels in (["a", "ß"], None)],
    *[column(T.STRING, 0x02F7, labels=labels) for labels in (["a"] * 300, None)],
    *[column(T.STRING, 0x01F8, labels=labels) for labels in (["a", "ß", "c"], ["a"] * 8, None)],
    *[column(T.STRING, 0x08F8, labels=labels) for labels in (["a"] * 64, None)],
    *[column(T.BIT, metadata) for metadata in (0x0001, 0x0200, 0x0800)],
    column(T.JSON, 1),
    column(T.TYPED_ARRAY, T.LONGLONG),
    column(T.GEOMETRY, 1),
    column(T.VECTOR, 1),
]
CASES = [
    pytest.param(of, as_text, id=f"{number}-{of.type_name}{'-as-text' * as_text}")
    for number, of in enumerate(COLUMNS)
    for as_text in (False, True)
    if not as_text or of.type_name in ("date", "datetime", "timestamp")
]
STORED = st.one_of(
    st.binary(max_size=40),
    # Behind a length of one byte, and of two.
    st.text(max_size=20).map(lambda text: bytes([len(text.encode())]) + text.encode()),
    st.binary(max_size=20).map(lambda data: len(data).to_bytes(2, "little") + data),
    st.lists(st.floats(width=32), max_size=4).map(
        lambda numbers: bytes([4 * len(numbers)]) + struct.pack(f"<{len(numbers)}f", *numbers)
    ),
    # A DATETIME as before 5.6, and what begins as a positive DATETIME or TIME does.
    st.integers(1000_01_01, 9999_12_31).map(
        lambda day: (day * 10**6 + 235959).to_bytes(8, "little")
    ),
    st.binary(min_size=8, max_size=8).map(lambda data: bytes([data[0] | 0x80]) + data[1:]),
    st.just(bytes(64)),
)


def as_arrow(kind: pa.DataType, value: Value) -> Any:
    """What pyarrow takes for a value; raises ArrowValueError where it has nothing for it."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if isinstance(value, EnumIndex):
            raise ArrowValueError(argument_errors.NO_LABEL, value=value.index)
        if not isinstance(value, str):
            raise ArrowValueError(argument_errors.NOT_TEXT)
    elif pa.types.is_decimal(kind):
        return Decimal(str(value))
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return moment(kind, str(value))
    elif pa.types.is_duration(kind):
        return duration(str(value))
    elif isinstance(value, Geometry):
        return {"srid": value.srid, "wkb": value.wkb}
    elif isinstance(value, EnumIndex):
        return value.index
    elif value == "":
        return 0
    return value


def moment(kind: pa.DataType, text: str) -> date | datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArrowValueError(argument_errors.NO_DATE, value=text) from None
    if pa.types.is_date(kind):
        return found.date()
    return found if kind.tz is None else found.replace(tzinfo=UTC)


def duration(text: str) -> timedelta:
    hours, minutes, seconds = text.lstrip("-").split(":")
    found = timedelta(
        hours=int(hours), minutes=int(minutes), microseconds=int(Decimal(seconds) * 10**6)
    )
    return -found if text.startswith("-") else found


@settings(max_examples=length(short=8, full=50))
@pytest.mark.parametrize(("of", "dates_as_text"), CASES)
@given(stored=st.lists(st.one_of(st.none(), STORED), max_size=20))
def test_bytes_become_what_their_values_become(
    of: Column, dates_as_text: bool, stored: list[bytes | None]
) -> None:
    (reader,) = RowPlan([of]).readers
    kind = arrow_type(of, dates_as_text=dates_as_text)
    builder = array_builder(kind, of, reader)
    expected: list[Any] = []
    for data in stored:
        if data is None:
            builder.append_null(len(expected))
            expected.append(None)
            continue
        image = PayloadReader(data)
        converted: Any = None
        error: DecodeError | None = None
        try:
            converted = as_arrow(kind, reader.read(image))
        except DecodeError as raised:
            error = raised
        if error is not None:
            with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                builder.append(PayloadReader(data))
            # Nothing is read behind an error.
            builder = array_builder(kind, of, reader)
            expected.clear()
            continue
        expected.append(converted)
        built = PayloadReader(data)
        builder.append(built)
        assert built.offset == image.offset
    for rows in (expected, []):
        array = builder.finish(len(rows))
        array.validate(full=True)
        assert array.equals(pa.array(rows, type=kind))


def test_a_type_of_no_released_server_is_an_error() -> None:
    with pytest.raises(DecodeError) as caught:
        arrow_type(column(T.NULL), dates_as_text=False)
    assert caught.value.text == text_of(argument_errors.NO_TYPE, type="type 6")


# What is held is copied, which takes seconds for 1 GiB; the limit is that of the sum.
@pytest.mark.parametrize("held", [16, pytest.param(2**30, marks=full_only)])
def test_an_array_of_strings_holds_2_gib(held: int) -> None:
    of = column(T.VARCHAR, 9, collation=UTF8MB4)
    (reader,) = RowPlan([of]).readers
    builder = array_builder(pa.string(), of, reader)
    assert isinstance(builder, VariableWidthBuilder)
    builder.append_bytes(bytes(held))
    with pytest.raises(ArrowValueError) as caught:
        builder.append_bytes(bytes(2**31 - held))
    assert caught.value.text == (
        "its values in one batch take more than 2 GiB; ask for fewer batch_rows"
    )
