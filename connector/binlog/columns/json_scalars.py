"""Scalars of a JSON document become the text that MySQL prints, character for character.

Values of SQL types that JSON does not know are strings, DECIMAL excepted: dates and times always
with six digits, others as `"base64:type15:…"`. The texts are those of 8.0; 5.7 prints the double
1.0 as 1, and base64 with bare line breaks.

https://dev.mysql.com/doc/refman/8.4/en/json.html#json-converting-between-types
"""

from base64 import b64encode
from typing import Final

from librt.strings import BytesWriter, read_i64_le
from mypy_extensions import i64, u8

from connector.binlog import value_errors
from connector.binlog.columns import time_text
from connector.binlog.columns.column import ColumnType
from connector.binlog.columns.decimal import DecimalReader
from connector.binlog.columns.floats import put_float64, require_finite, shortest_digits
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii
from connector.foundation.errors import DecodeError

# The server prints a number without exponent if its point is within these places.
_POINT_MIN = -14
_POINT_MAX = 15
_EXPONENT_MIN: Final = 1e15  # 10 ** _POINT_MAX
# From here on up to there the shortest digits come without exponent, too.
_PLAIN_MIN: Final = 1e-3

_FRACTION_DIGITS: Final = 6
_FRACTION_BITS: Final = 24
_FRACTION_MASK: Final = (1 << _FRACTION_BITS) - 1
_PACKED_LENGTH: Final = 8
_CLOCK_LENGTH: Final = len(" hh:mm:ss")
# The server's base64 breaks lines; in a JSON string the break is an escape.
_BASE64_LINE = 76

_MINUS: Final = 45

_DECIMAL: Final = ColumnType.NEWDECIMAL.value
_TIME: Final = ColumnType.TIME.value
_DATE: Final = ColumnType.DATE.value
_DATETIME: Final = ColumnType.DATETIME.value
_TIMESTAMP: Final = ColumnType.TIMESTAMP.value


def double_text(value: float) -> str:
    """Return the shortest digits that read back to `value`, in the server's form.

    Raises DecodeError for an infinity or NaN, which JSON does not have.
    """
    out = BytesWriter()
    put_double(out, value)
    return out.getvalue().decode("ascii")


def put_double(out: BytesWriter, value: float) -> None:
    """Append the shortest digits that read back to `value`, in the server's form.

    Raises DecodeError for an infinity or NaN, which JSON does not have.
    """
    size = abs(require_finite(value))
    if _PLAIN_MIN <= size < _EXPONENT_MIN or size == 0:
        put_float64(out, value)
    else:
        put_ascii(out, _server_form(shortest_digits(value).decode("ascii")))


def _server_form(number: str) -> str:
    """Return a number other than zero, with an exponent if the server prints one."""
    sign = "-" if number[0] == "-" else ""
    mantissa, _, exponent = number.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    # number = 0.digits * 10 ** point
    point = len(whole) + int(exponent or "0")
    digits = f"{whole}{fraction}"
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return sign + _place_point(stripped.rstrip("0"), point)


def _place_point(digits: str, point: int) -> str:
    if not (_POINT_MIN <= point <= _POINT_MAX or 0 < point < len(digits)):
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{tail}e{point - 1}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point < len(digits):
        return f"{digits[:point]}.{digits[point:]}"
    return f"{digits}{'0' * (point - len(digits))}.0"


def put_opaque(out: BytesWriter, column_type: i64, data: bytes) -> None:
    """Append a value of an SQL type.

    Raises DecodeError when `data` is not of the type.
    """
    if column_type == _DECIMAL:
        reader = PayloadReader(data)
        precision = reader.read_uint8()
        DecimalReader(precision, reader.read_uint8(), computed=True).put(reader, out)
    elif column_type in (_DATETIME, _TIMESTAMP, _DATE, _TIME):
        out.append(u8(QUOTE))
        _put_packed(out, column_type, data)
        out.append(u8(QUOTE))
    else:
        encoded = b64encode(data).decode("ascii")
        lines = [encoded[n : n + _BASE64_LINE] for n in range(0, len(encoded), _BASE64_LINE)]
        put_ascii(out, f'"base64:type{column_type}:' + "\\n".join(lines) + '"')


def _put_packed(out: BytesWriter, column_type: i64, data: bytes) -> None:
    """Append a date or time: the bits of a DATETIME2 or TIME2, and 24 of the microseconds."""
    if len(data) != _PACKED_LENGTH:
        raise DecodeError(value_errors.TIME_LENGTH, length=len(data), needed=_PACKED_LENGTH)
    packed: int = read_i64_le(data, 0)
    whole: i64 = abs(packed) >> _FRACTION_BITS
    fraction: i64 = abs(packed) & _FRACTION_MASK
    time_text.require_fraction_fits(fraction, _FRACTION_DIGITS)
    if column_type == _TIME:
        if packed < 0:
            out.append(u8(_MINUS))
        time_text.put_packed_time(out, whole)
    else:
        time_text.put_packed_datetime(out, whole)
    if column_type == _DATE:
        out.truncate(len(out) - _CLOCK_LENGTH)
    else:
        time_text.put_fraction(out, fraction, _FRACTION_DIGITS)
