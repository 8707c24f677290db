"""The forms of dates and times: Arrow's types, texts, and numbers since 1970 or midnight.

A date that no calendar has, such as 0000-00-00, is NULL on both sides.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connector.foundation.contract import SchemaColumn
from verification.foreign.form_parts import Reading, decoded_kind, is_text, same

_NAIVE: Final = pa.timestamp("us")
_UTC: Final = pa.timestamp("us", "UTC")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400
# Parts of a second.
_UNITS: Final = {"seconds": 1, "milliseconds": 1000, "microseconds": 10**6, "nanoseconds": 10**9}
_ZERO: Final = re.compile(r"0000-|\d{4}-(?:00-|\d\d-00)")
_US: Final = 10**6
# TIME ends at 838:59:59, on MariaDB with 6 digits more.
_CLOCK_END_US: Final = 839 * 3600 * _US


def date(column: SchemaColumn, kind: pa.DataType) -> Sequence[Reading]:
    """Return the forms of a DATE in a type."""
    kind = decoded_kind(kind)
    del column
    types = pa.types
    if types.is_date(kind):
        return [Reading("date", lambda value: value, same)]
    if types.is_timestamp(kind):
        return [Reading("midnight", _date_of, _dates_of_midnights)]
    if types.is_integer(kind):
        days = Reading("days since 1970", _day, lambda values: values.cast(pa.int32()).cast(_DATE))
        return [days, *(_since_1970(unit, _date_of_us) for unit in _UNITS)]
    if is_text(kind):
        return [
            Reading("text", _date_of_text, _dates_of_texts),
            Reading("days since 1970 as text", lambda value: _day(int(value))),
        ]
    return []


_DATE: Final = pa.date32()


def moment(column: SchemaColumn, kind: pa.DataType) -> Sequence[Reading]:
    """Return the forms of a DATETIME or TIMESTAMP in a type."""
    kind = decoded_kind(kind)
    is_utc = column["type"] == "timestamp"
    own = _in_utc if is_utc else _naive
    types = pa.types
    if types.is_timestamp(kind):
        return [Reading("timestamp", _as(own, kind), own)]
    if types.is_date(kind):
        return [Reading("date", _as(own, kind), lambda values: own(values.cast(_NAIVE)))]
    if types.is_integer(kind):
        numbers = [_since_1970(unit, lambda us: us, own) for unit in _in_order(column)]
        return [*numbers, Reading("days since 1970", lambda value: value * _DAY * _US)]
    if is_text(kind):
        return [
            Reading("text", _moment_of_text, lambda values: own(_moments_of_texts(values))),
            *(
                Reading(f"{unit} since 1970 as text", _us_of(unit, int))
                for unit in _in_order(column)
            ),
        ]
    return []


def _in_order(column: SchemaColumn) -> list[str]:
    """Return the units, the one that Debezium takes for the digits of a column first."""
    first = "milliseconds" if column.get("fraction", 0) <= 3 else "microseconds"  # noqa: PLR2004
    return [first, *(unit for unit in ("milliseconds", *_UNITS) if unit != first)]


def _as(own: Callable[[pa.Array], pa.Array], kind: pa.DataType) -> Callable[[Any], object]:
    def of_value(value: Any) -> object:
        return own(pa.array([value], kind).cast(_NAIVE if not _has_zone(kind) else _UTC))[0].as_py()

    return of_value


def _has_zone(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


def _since_1970(
    unit: str,
    of_us: Callable[[int], object],
    own: Callable[[pa.Array], pa.Array] | None = None,
) -> Reading:
    """Return the form of a number of units since 1970."""
    of_value = _us_of(unit, lambda value: value)
    arrow_unit = {"seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
    kind = pa.timestamp(arrow_unit[unit])

    def of_array(values: pa.Array) -> pa.Array:
        assert own is not None
        return own(values.cast(pa.int64()).cast(kind).cast(_NAIVE))

    name = f"{unit} since 1970"
    return Reading(name, lambda value: of_us(of_value(value)), None if own is None else of_array)


def _us_of(unit: str, number: Callable[[Any], int]) -> Callable[[Any], int]:
    """Return what makes microseconds of a value; it raises ValueError for smaller parts."""
    parts = _UNITS[unit]

    def of_value(value: Any) -> int:
        own = number(value) * _US
        if own % parts:
            raise ValueError(value)
        return own // parts

    return of_value


def _naive(values: pa.Array) -> pa.Array:
    """Return times of UTC, or without a zone, as times without a zone."""
    return values.cast(_UTC if _has_zone(values.type) else _NAIVE).cast(pa.int64()).cast(_NAIVE)


def _in_utc(values: pa.Array) -> pa.Array:
    return _naive(values).cast(pa.int64()).cast(_UTC)


def _day(value: int) -> dt.date:
    return dt.date(1970, 1, 1) + timedelta(days=value)


def _date_of(value: datetime) -> dt.date:
    if value.hour or value.minute or value.second or value.microsecond:
        raise ValueError(value)
    return value.date()


def _dates_of_midnights(values: pa.Array) -> pa.Array:
    # Arrow's own cast cuts the time of the day.
    us = _naive(values).cast(pa.int64())
    days = pc.divide(us, _DAY * _US)
    if not pc.all(pc.equal(pc.multiply(days, _DAY * _US), us), min_count=0).as_py():
        raise pa.ArrowInvalid
    return days.cast(pa.int32()).cast(_DATE)


def _date_of_us(value: int) -> dt.date:
    days, rest = divmod(value, _DAY * _US)
    if rest:
        raise ValueError(value)
    return _day(days)


def _is_zero(text: str) -> bool:
    """Return whether a text is a date that no calendar has."""
    # A date without hyphens has other digits there.
    return _ZERO.match(text) is not None


def _date_of_text(text: str) -> dt.date | None:
    if _is_zero(text):
        return None
    # Debezium's `isostring` has a zone after a date, too.
    return _date_of(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=None))


def _dates_of_texts(values: pa.Array) -> pa.Array:
    return values.cast(_DATE)


def _moment_of_text(text: str) -> int | None:
    """Return microseconds since 1970, as UTC if the text has a zone."""
    if _is_zero(text):
        return None
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return (value - _EPOCH) // timedelta(microseconds=1)


def _moments_of_texts(values: pa.Array) -> pa.Array:
    if not len(values) or _are_zoned(values):
        return values.cast(_UTC)
    return values.cast(_NAIVE)


def _are_zoned(values: pa.Array) -> bool:
    first = next((value.as_py() for value in values if value.is_valid), "")
    return first.endswith("Z") or "+" in first or first.count("-") > 2  # noqa: PLR2004


def clock(column: SchemaColumn, kind: pa.DataType) -> Sequence[Reading]:
    """Return the forms of a TIME in a type: a text with the column's digits."""
    kind = decoded_kind(kind)
    digits = column.get("fraction", 0)
    types = pa.types

    def own(us: int) -> str:
        if abs(us) >= _CLOCK_END_US:
            raise ValueError(us)
        sign, us = "-" if us < 0 else "", abs(us)
        seconds, fraction = divmod(us, _US)
        text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if fraction % 10 ** (6 - digits):
            return f"{text}.{fraction:06}"
        return f"{text}.{fraction:06}"[: len(text) + 1 + digits] if digits else text

    def of_time(value: time) -> str:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return own(seconds * _US + value.microsecond)

    if types.is_time(kind):
        return [Reading("time", of_time)]
    if types.is_duration(kind):
        return [Reading("duration", lambda value: own(value // timedelta(microseconds=1)))]
    if types.is_integer(kind):
        return [
            Reading(f"{unit} since midnight", _own_of(own, _us_of(unit, int)))
            for unit in ("microseconds", "milliseconds", "nanoseconds", "seconds")
        ]
    if is_text(kind):
        return [Reading("text", lambda value: own(_us_of_clock(value)))]
    return []


def microseconds_of_clocks(values: pa.Array) -> pa.Array:
    """Return the microseconds of texts that `clock` has made."""
    return pa.array(
        [None if text is None else _us_of_clock(text) for text in values.to_pylist()], pa.int64()
    )


def _own_of(own: Callable[[int], str], of_value: Callable[[Any], int]) -> Callable[[Any], str]:
    return lambda value: own(of_value(value))


def _us_of_clock(text: str) -> int:
    """Return the microseconds of a text such as -838:59:59.5; raises ValueError for others."""
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.removeprefix("-").removesuffix("Z").split(":")
    whole, _, fraction = seconds.partition(".")
    total = (int(hours) * 60 + int(minutes)) * 60 + int(whole)
    return sign * (total * _US + int(fraction.ljust(6, "0")[:6]))
