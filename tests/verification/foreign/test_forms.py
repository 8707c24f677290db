"""Values of a target are those of the source again, or none of its type."""

from __future__ import annotations

import random
from base64 import b64encode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from tests.stream_jobs.topics import column
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.forms import forms_of, of_source, shown_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.foundation.contract import SchemaColumn

_AFTER_9999 = 253_402_318_799_000_000  # 10000-01-01 04:59:59 in microseconds since 1970
_MIDNIGHT = 1_772_323_200  # 2026-03-01 in seconds since 1970


def decoded(own: SchemaColumn, values: pa.Array) -> tuple[list[Any], list[bool]]:
    """Return values in the first form of a column, and which of them are unfit."""
    found = forms_of(own, values.type)[0].decoded(values)
    unfit = [False] * len(values) if found.unfit is None else found.unfit.tolist()
    return found.values.to_pylist(), unfit


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.timestamp("ns")]
)
def test_a_time_with_a_time_of_the_day_is_no_date(kind: pa.DataType) -> None:
    day = column("d", "date")
    seconds = pa.array([_MIDNIGHT, _MIDNIGHT + 5 * 3600, -86_400, None])
    values = seconds.cast(pa.timestamp("s")).cast(pa.timestamp(kind.unit)).cast(pa.int64())
    values = values.cast(kind)
    first, before = date(2026, 3, 1), date(1969, 12, 31)
    assert decoded(day, values) == ([first, None, before, None], [False, True, False, False])
    assert decoded(day, values.take(pa.array([0, 2]))) == ([first, before], [False, False])
    assert decoded(day, values.take(pa.array([3]))) == ([None], [False])


@pytest.mark.parametrize("is_unsigned", [False, True])
def test_a_double_with_digits_after_the_point_is_no_integer(is_unsigned: bool) -> None:
    own = column("n", "bigint", unsigned=is_unsigned)
    values = pa.array([1.5, 2.5, 3.0, float("nan"), float("inf"), None])
    found, unfit = decoded(own, values)
    assert unfit == [True, True, False, True, True, False]
    assert [n if n is None else int(n) for n in found] == [None, None, 3, None, None, None]
    assert decoded(own, pa.array([4.0]))[1] == [False]
    for other in (pa.array([Decimal("1.5")]), pa.array(["1.5"])):
        assert decoded(own, other) == ([None], [True])
    price = column("price", "decimal", precision=10, scale=2)
    assert decoded(price, pa.array(["1.005"])) == ([None], [True])


def _in_base64(number: int) -> str:
    size = number.bit_length() // 8 + 1
    return b64encode(number.to_bytes(size, "big", signed=True)).decode()


@pytest.mark.parametrize("precision", [15, 30])
def test_decimals_in_base64_are_the_same_many_at_once_and_one_by_one(precision: int) -> None:
    own = column("price", "decimal", precision=precision, scale=2)
    (form,) = [each for each in forms_of(own, pa.string()) if each.name.startswith("base64")]
    dice = random.Random(precision)
    numbers = [
        dice.choice((1, -1)) * dice.randrange(10 ** dice.randrange(1, 16)) for _ in range(99)
    ]
    numbers += [0, -1, 127, 128, -128, -129, 255, 256, 10**15 - 1, 1 - 10**15]
    texts = [*map(_in_base64, numbers), None]
    expected = [*(Decimal(number).scaleb(-2) for number in numbers), None]
    values = pa.array(texts)
    assert form.reading.of_array is not None
    assert form.reading.of_array(values).to_pylist() == expected
    assert form.reading.of_array(values.slice(90)).to_pylist() == expected[90:]
    assert form.reading.of_array(values.slice(0, 0)).to_pylist() == []
    # None of these has its number there: the slow way says what each is.
    for text in ("AA=", "A===", "=AAA", "AA=A", "A!==", "", "AAAA=AAA", _in_base64(10**17)):
        with pytest.raises(pa.ArrowInvalid):
            form.reading.of_array(pa.array([text]))
        found = form.decoded(pa.array([*texts, text]))
        assert found.values.to_pylist()[:-1] == expected


def test_a_bigint_unsigned_can_be_unscaled_bytes_in_base64_as_debezium_writes_it() -> None:
    own = column("n", "bigint", unsigned=True)
    (form,) = [
        each for each in forms_of(own, pa.string()) if each.name == "base64 of unscaled bytes"
    ]
    found = form.decoded(pa.array(["AP//////////", "AA==", "Kg==", "42?", None]))
    assert [n if n is None else int(n) for n in found.values.to_pylist()] == [
        2**64 - 1, 0, 42, None, None,
    ]  # fmt: skip
    assert found.unfit is not None
    assert found.unfit.tolist() == [False, False, False, True, False]
    assert [each.name for each in forms_of(column("n", "bigint"), pa.string())] == ["text"]


def test_a_date_without_hyphens_is_one() -> None:
    values = pa.array(
        ["20261001", "20261005", "2026-10-05", "2026-00-01", "2026-10-00", "0000-00-00"]
    )
    first, fifth = date(2026, 10, 1), date(2026, 10, 5)
    assert decoded(column("d", "date"), values) == (
        [first, fifth, fifth, None, None, None],
        [False] * 6,
    )
    moments = pa.array(["20261005T120000", "2026-10-05 12:00:00", "2026-10-00 12:00:00"])
    noon = datetime(2026, 10, 5, 12)  # noqa: DTZ001
    assert decoded(column("d", "datetime"), moments) == ([noon, noon, None], [False] * 3)


@pytest.mark.parametrize(
    "text", ["1e21", "-1e300", "1000000000000000000000", "1.8446744073709552e19"]
)
def test_a_whole_double_beyond_64_bits_is_the_same_on_both_sides(text: str) -> None:
    own = column("j", "json")
    values = pa.array([f'{{"wei": {text}, "one": 1.0}}'])
    theirs = of_source(own, pa.chunked_array([values]), pa.string()).to_pylist()
    assert decoded(own, values) == (theirs, [False])
    structs = pa.array([{"one": 1, "wei": float(text)}])
    assert decoded(own, structs) == (theirs, [False])
    assert decoded(own, pa.array(['{"a": 9223372036854775808.0}']))[0] == [
        '{"a":9223372036854775808}'
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_time_after_the_year_9999_is_unfit(unit: str) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001
    times = pa.array([_AFTER_9999, None], pa.timestamp("us")).cast(pa.timestamp(unit))
    times = pa.concat_arrays([times, pa.array([last], pa.timestamp(unit))])
    found = [None, None, last]
    assert decoded(column("d", "datetime"), times) == (found, [True, False, False])
    zoned = [None, None, last.replace(tzinfo=UTC)]
    assert decoded(column("d", "timestamp"), times) == (zoned, [True, False, False])
    days = pa.array([_AFTER_9999 // 86_400_000_000, 0], pa.int32()).cast(pa.date32())
    assert decoded(column("d", "date"), days) == ([None, date(1970, 1, 1)], [True, False])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3_020_399_999_999, 3_020_400_000_000, -3_020_400_000_000, 2**62, None]),
        pa.array([3_020_399_999_999, 3_020_400_000_000, -3_020_400_000_000, 2**62, None]).cast(
            pa.duration("us")
        ),
        pa.array(["838:59:59.999999", "839:00:00", "-839:00:00", "9999999:00:00", None]),
    ],
)
def test_a_clock_after_the_last_time_is_unfit(values: pa.Array) -> None:
    found, unfit = decoded(column("at", "time", fraction=6), values)
    assert found == ["838:59:59.999999", None, None, None, None]
    assert unfit == [False, True, True, True, False]


def test_a_part_of_a_microsecond_is_unfit_alone() -> None:
    whole = datetime(2026, 3, 1, 0, 0, 0, 1)  # noqa: DTZ001
    values = pa.array([_MIDNIGHT * 10**9 + 1000, _MIDNIGHT * 10**9 + 1, None], pa.timestamp("ns"))
    assert decoded(column("d", "datetime"), values) == ([whole, None, None], [False, True, False])


def columns(*values: pa.Array) -> pa.Table:
    return pa.table({str(n): each for n, each in enumerate(values)})


def test_people_see_values_that_python_lacks_as_texts() -> None:
    late = pa.array([_AFTER_9999, None], pa.timestamp("us"))
    parts = pa.array([1, 0], pa.timestamp("ns"))
    lists = pa.array([[_AFTER_9999], []], pa.list_(pa.timestamp("us")))
    numbers = pa.array([Decimal("1.50"), None])
    first, second = shown_rows(columns(late, parts, numbers, lists))
    assert (first["0"], second["0"]) == ("10000-01-01 04:59:59.000000", None)
    assert str(first["1"]).startswith("1970-01-01 00:00:00.000000001")
    assert (first["2"], second["2"]) == (Decimal("1.50"), None)
    assert isinstance(first["3"], str)


@pytest.mark.parametrize("mark", ["deleted_at", "_sdc_deleted_at"])
def test_a_mark_may_be_a_time_that_python_lacks(mark: str) -> None:
    own = column("id", "int", key=1)
    pairs: Sequence[ColumnPair] = [ColumnPair(own, "id", forms_of(own, pa.int32())[0])]
    table = TableSchema("shop", "t", "a", PackedSequence(0, 0), (own,))
    mapping = ColumnMapping(table, pairs, ColumnNames({"id": "id"}, mark))
    marks = pa.array([None, 1, _AFTER_9999 * 10], pa.timestamp("ns"))
    raw = pa.table({"id": pa.array([1, 2, 3], pa.int32()), mark: marks})
    assert mapping.decoded(raw).data["id"].to_pylist() == [1]
