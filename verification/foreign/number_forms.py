"""The forms of numbers: integers, DECIMAL, FLOAT, DOUBLE, YEAR and BIT.

https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-data-types
"""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from stream_jobs.source.column_types import DECIMAL_PRECISION_MAX
from verification.foreign import form_parts
from verification.foreign.base64_numbers import whole_numbers

_TRUTH: Final = {"true": 1, "false": 0}
# Doubles tell decimals of so many digits from each other.
DOUBLE_DIGITS: Final = 15
# Rounds no DECIMAL of MySQL.
_WIDE: Final = Context(prec=100)


def integer(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of an integer in a type."""
    kind = form_parts.decoded_kind(kind)
    types = pa.types
    wrap = 1 << 64 if column["type"] == "bigint" and column.get("unsigned") else 0
    if types.is_boolean(kind):
        return [form_parts.Reading("boolean", int, lambda values: values.cast(pa.int8()))]
    if types.is_integer(kind):
        readings = [form_parts.Reading("number", int, form_parts.same)]
        if wrap and types.is_signed_integer(kind):
            # Debezium's `bigint.unsigned.handling.mode=long`.
            readings.append(form_parts.Reading("number modulo 2^64", lambda value: value % wrap))
        return readings
    if types.is_decimal(kind):
        return [form_parts.Reading("number", _whole, form_parts.same)]
    if types.is_floating(kind):
        return [form_parts.Reading("number", _whole, _whole_doubles)]
    if form_parts.is_text(kind):
        readings = [form_parts.Reading("text", _whole_of_text, _numbers_of_texts)]
        if wrap:
            # Debezium's `bigint.unsigned.handling.mode=precise`, in JSON.
            readings.append(form_parts.Reading("base64 of unscaled bytes", _unscaled_of_text))
        return readings
    return [form_parts.Reading("unscaled bytes", _unscaled)] if form_parts.is_bytes(kind) else []


def year(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a YEAR in a type."""
    if pa.types.is_date(kind):
        return [form_parts.Reading("first day", _year_of)]
    return integer(column, kind)


def _year_of(value: date) -> int:
    return value.year


class _Decimals:
    """The forms of one DECIMAL: values with its digits after the point."""

    def __init__(self, column: SchemaColumn) -> None:
        self._precision, self._scale = column["precision"], column["scale"]
        # The mirror has longer ones as texts.
        self._is_text = self._precision > DECIMAL_PRECISION_MAX
        self.own = pa.decimal128(min(self._precision, DECIMAL_PRECISION_MAX), self._scale)

    def of_kind(self, kind: pa.DataType) -> Sequence[form_parts.Reading]:
        types = pa.types
        if types.is_integer(kind):
            wide = pa.decimal128(DECIMAL_PRECISION_MAX, self._scale)
            return [self._exact("number", lambda values: values.cast(wide).cast(self.own))]
        if types.is_decimal(kind):
            return [self._exact("number", lambda values: values.cast(self.own))]
        if types.is_floating(kind):
            is_long = self._precision > DOUBLE_DIGITS
            fast = form_parts.same if is_long else self._of_doubles
            return [form_parts.Reading("double", self._of_double, None if self._is_text else fast)]
        if form_parts.is_text(kind):
            return [
                self._exact("text", lambda values: values.cast(self.own)),
                form_parts.Reading(
                    "base64 of unscaled bytes",
                    lambda value: self._of_bytes(form_parts.from_base64(value)),
                    None if self._is_text else self._of_base64,
                ),
            ]
        if form_parts.is_bytes(kind):
            return [form_parts.Reading("unscaled bytes", self._of_bytes)]
        if types.is_struct(kind) and {field.name for field in kind} == {"scale", "value"}:
            return [form_parts.Reading("scale and unscaled bytes", self._of_struct)]
        return []

    def _exact(self, name: str, fast: Callable[[pa.Array], pa.Array]) -> form_parts.Reading:
        return form_parts.Reading(name, self._value, None if self._is_text else fast)

    def _value(self, value: Any) -> object:
        return _scaled(Decimal(value), self._scale, as_text=self._is_text)

    def _of_double(self, value: float) -> object:
        if self._precision > DOUBLE_DIGITS and not self._is_text:
            return float(value)
        nearest = round(Decimal(value), self._scale)
        if float(nearest) != value:
            raise ValueError(value)
        return self._value(nearest)

    def _of_doubles(self, values: pa.Array) -> pa.Array:
        """Return the decimals whose nearest doubles these are: of at most 15 digits."""
        doubles = values.cast(pa.float64()).fill_null(0.0).to_numpy()
        limit = 10.0**self._precision
        unscaled = np.rint(doubles * 10.0**self._scale)
        # The quotient of two whole doubles is the double nearest to the decimal.
        if (
            not (np.abs(unscaled) < limit).all()
            or not (unscaled / 10.0**self._scale == doubles).all()
        ):
            raise pa.ArrowInvalid
        return self._of_unscaled(unscaled.astype(np.int64), values)

    def _of_base64(self, values: pa.Array) -> pa.Array:
        unscaled = whole_numbers(values)
        if not (np.abs(unscaled) < 10.0**self._precision).all():
            raise pa.ArrowInvalid
        return self._of_unscaled(unscaled, values)

    def _of_unscaled(self, unscaled: NDArray[np.int64], values: pa.Array) -> pa.Array:
        """Return the decimals with these digits, and NULL where `values` have it."""
        words = np.empty((len(unscaled), 2), np.int64)
        words[:, 0] = unscaled
        words[:, 1] = words[:, 0] >> 63
        found = pa.Array.from_buffers(self.own, len(words), [None, pa.py_buffer(words)])
        return pc.if_else(values.is_valid(), found, None) if values.null_count else found

    def _of_bytes(self, value: bytes) -> object:
        unscaled = Decimal(int.from_bytes(value, "big", signed=True))
        return self._value(unscaled.scaleb(-self._scale, _WIDE))

    def _of_struct(self, value: dict[str, Any]) -> object:
        unscaled = Decimal(int.from_bytes(value["value"], "big", signed=True))
        return self._value(unscaled.scaleb(-value["scale"], _WIDE))


def decimal(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a DECIMAL in a type."""
    return _Decimals(column).of_kind(form_parts.decoded_kind(kind))


def _scaled(value: Decimal, scale: int, *, as_text: bool) -> object:
    """Return a number with so many digits after the point; raises ValueError if it has more."""
    if not value.is_finite():
        raise ValueError(value)
    own = value.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    if own != value:
        raise ValueError(value)
    return format(own, "f") if as_text else own


def floating(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a FLOAT or DOUBLE in a type."""
    kind = form_parts.decoded_kind(kind)
    del column
    types = pa.types
    if types.is_floating(kind) or types.is_integer(kind):
        # A FLOAT is often a DOUBLE elsewhere.
        return [form_parts.Reading("number", float, lambda values: values.cast(pa.float64()))]
    if types.is_decimal(kind):
        return [form_parts.Reading("decimal", float, lambda values: values.cast(pa.float64()))]
    return (
        [form_parts.Reading("text", float, lambda v: v.cast(pa.float64()))]
        if form_parts.is_text(kind)
        else []
    )


def bit(column: SchemaColumn, kind: pa.DataType) -> Sequence[form_parts.Reading]:
    """Return the forms of a BIT in a type."""
    kind = form_parts.decoded_kind(kind)
    types = pa.types
    length = column["length"]

    def own(number: int) -> object:
        if not 0 <= number < 1 << length:
            raise ValueError(number)
        return bool(number) if length == 1 else number

    little = form_parts.Reading(
        "bytes, least first", lambda value: own(int.from_bytes(value, "little"))
    )
    big = form_parts.Reading(
        "bytes, greatest first", lambda value: own(int.from_bytes(value, "big"))
    )
    if types.is_boolean(kind) and length == 1:
        return [form_parts.Reading("boolean", bool, form_parts.same)]
    if types.is_integer(kind) or types.is_decimal(kind):
        return [form_parts.Reading("number", lambda value: own(int(value)))]
    if form_parts.is_bytes(kind):
        return [little, big]
    if form_parts.is_text(kind):
        return [
            form_parts.Reading(
                "base64 of bytes, least first",
                lambda value: little.of_value(form_parts.from_base64(value)),
            ),
            form_parts.Reading(
                "base64 of bytes, greatest first",
                lambda value: big.of_value(form_parts.from_base64(value)),
            ),
            form_parts.Reading("text", lambda value: own(_whole_of_text(value))),
            form_parts.Reading("digits", lambda value: own(int(value, 2))),
        ]
    return []


def _whole(value: Any) -> int:
    if int(value) != value:
        raise ValueError(value)
    return int(value)


def _whole_doubles(values: pa.Array) -> pa.Array:
    # As decimals, which BIGINT UNSIGNED is compared as, Arrow would round them.
    if not pc.all(pc.equal(pc.trunc(values), values), min_count=0).as_py():
        raise pa.ArrowInvalid
    return values


def _whole_of_text(value: str) -> int:
    truth = _TRUTH.get(value.lower())
    return _whole(Decimal(value)) if truth is None else truth


def _numbers_of_texts(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64())


def _unscaled(value: bytes) -> int:
    return int.from_bytes(value, "big", signed=True)


def _unscaled_of_text(value: str) -> int:
    return _unscaled(form_parts.from_base64(value))
