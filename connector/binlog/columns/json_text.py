r"""Scalars of a JSON document become the text that MySQL prints, character for character.

Strings are escaped as the server does: `\"`, `\\`, the five short forms, and `\u00xx` for other
control characters; everything else stands for itself. Values of SQL types that JSON does not know
are strings, DECIMAL excepted: dates and times always with six digits, others as
`"base64:type15:…"`. The texts are those of 8.0; 5.7 prints the double 1.0 as 1, and base64 with
bare line breaks.

https://dev.mysql.com/doc/refman/8.4/en/json.html#json-converting-between-types
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from typing import TYPE_CHECKING

from connector.binlog.column_types import ColumnType
from connector.binlog.columns.decimal import decimal_of
from connector.binlog.columns.floats import require_finite
from connector.binlog.columns.temporal import (
    fraction_text,
    packed_datetime_text,
    packed_time_text,
)
from connector.errors import DecodeError
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Callable

# The server prints a number without exponent when its point is within these places.
_POINT_MIN = -14
_POINT_MAX = 15

_FRACTION_DIGITS = 6
_FRACTION_BITS = 24
_PACKED_LENGTH = 8
# The server's base64 breaks lines; in a JSON string the break is an escape.
_BASE64_LINE = 76

_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def quote(text: str) -> str:
    """Return a JSON string."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def double_text(value: float) -> str:
    """Return the shortest digits that read back to `value`, in the server's form.

    Raises DecodeError for an infinity or NaN, which JSON does not have.
    """
    require_finite(value)
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return f"{sign}0.0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    # value = 0.digits * 10 ** point
    point = len(whole) + int(exponent or 0)
    digits = f"{whole}{fraction}"
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    if not (_POINT_MIN <= point <= _POINT_MAX or 0 < point < len(digits)):
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{tail}e{point - 1}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point < len(digits):
        return f"{digits[:point]}.{digits[point:]}"
    return f"{digits}{'0' * (point - len(digits))}.0"


def opaque_text(column_type: int, data: bytes) -> str:
    """Return the text of a value of an SQL type.

    Raises DecodeError when `data` is not of the type.
    """
    read = _OPAQUE.get(column_type)
    if read is None:
        encoded = b64encode(data).decode("ascii")
        lines = [encoded[n : n + _BASE64_LINE] for n in range(0, len(encoded), _BASE64_LINE)]
        return quote(f"base64:type{column_type}:" + "\n".join(lines))
    return read(data)


def _decimal(data: bytes) -> str:
    reader = PayloadReader(data)
    precision = reader.read_uint8()
    return decimal_of(precision, reader.read_uint8())(reader)


def _packed(data: bytes) -> tuple[str, int, str]:
    """Return the sign, the bits of a packed date or time above its fraction, and the fraction."""
    if len(data) != _PACKED_LENGTH:
        reason = f"a date or time in a JSON document has {len(data)} bytes instead of 8"
        raise DecodeError(reason)
    packed = int.from_bytes(data, "little", signed=True)
    sign = "-" if packed < 0 else ""
    packed = abs(packed)
    fraction = fraction_text(packed & ((1 << _FRACTION_BITS) - 1), _FRACTION_DIGITS)
    return sign, packed >> _FRACTION_BITS, fraction


def _time(data: bytes) -> str:
    sign, whole, fraction = _packed(data)
    return f'"{sign}{packed_time_text(whole)}{fraction}"'


def _datetime(data: bytes) -> str:
    _, whole, fraction = _packed(data)
    return f'"{packed_datetime_text(whole)}{fraction}"'


def _date(data: bytes) -> str:
    _, whole, _ = _packed(data)
    return f'"{packed_datetime_text(whole)[:10]}"'


_OPAQUE: dict[int, Callable[[bytes], str]] = {
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.TIME: _time,
    ColumnType.DATE: _date,
    ColumnType.DATETIME: _datetime,
    ColumnType.TIMESTAMP: _datetime,
}
