"""DECIMAL(p, s): big-endian groups of nine decimal digits become text with s decimals.

::

    DECIMAL(14, 4), 1234567890.1234    ┌──────────┬─────────────────────┬───────────┐
                                       │ 1        │ 234 567 890         │ 1234      │
                                       │ 1 byte   │ 4 bytes             │ 2 bytes   │
                                       └──────────┴─────────────────────┴───────────┘

The digits that do not fill a group need 1, 1, 2, 2, 3, 3, 4 or 4 bytes; they are the first of the
integer part and the last of the fraction. The highest bit is inverted. In a negative number, all
other bits are inverted, too.

https://dev.mysql.com/doc/refman/8.4/en/precision-math-decimal-characteristics.html
"""

from typing import Final, final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog import value_errors
from connector.binlog.columns.column import PrintedReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import put_padded, put_uint
from connector.foundation.errors import DecodeError

PRECISION_MAX = 65
SCALE_MAX = 38  # of MariaDB; 30 in MySQL
# Of a computed number, on both sides of the point: the server computes with nine groups.
COMPUTED_DIGITS_MAX = 81

_GROUP_DIGITS: Final = 9
_GROUP_BYTES: Final = 4
_POSITIVE: Final = 0x80
# The first number that a count of digits cannot hold.
_LIMITS: Final = [10**digits for digits in range(_GROUP_DIGITS + 1)]
# Two groups fit a number of 64 bits.
_INT64_DIGITS: Final = 18
_INT128_BYTES: Final = 16
_SIGN_BIT: Final = 63

_MINUS: Final = 45
_POINT: Final = 46
_ZERO: Final = 48


@final
class DecimalReader(PrintedReader):
    """A DECIMAL(precision, scale) as text, `-0.50`."""

    __slots__ = ("_highest_bit", "_length", "_scale", "_whole_digits")

    def __init__(self, precision: int, scale: int, *, computed: bool = False) -> None:
        """Raise DecodeError for a precision and scale that no server allows.

        A `computed` number, in a JSON document or a variable, can have more digits than a column.
        """
        precision_max = COMPUTED_DIGITS_MAX if computed else PRECISION_MAX
        scale_max = COMPUTED_DIGITS_MAX if computed else SCALE_MAX
        if not (0 < precision <= precision_max and scale <= scale_max and scale <= precision):
            raise DecodeError(value_errors.DECIMAL_DIGITS, precision=precision, scale=scale)
        whole_digits = precision - scale
        self._whole_digits: i64 = whole_digits
        self._scale: i64 = scale
        self._length: i64 = _part_length(whole_digits) + _part_length(scale)
        first_digits = whole_digits % _GROUP_DIGITS if whole_digits else scale
        self._highest_bit: i64 = _POSITIVE
        # In C, a literal would be shifted in 32 bits.
        self._highest_bit <<= 8 * _group_length(first_digits or _GROUP_DIGITS) - 8

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number without leading zeros, with all decimals of the scale.

        Raises DecodeError for a group whose number has too many digits.
        """
        at = image.take(self._length)
        data = image.data
        inverted = self._highest_bit
        if data[at] & _POSITIVE:
            others: i64 = 0
        else:
            others = -1
            inverted = ~inverted
            out.append(u8(_MINUS))
        started = False
        left = self._whole_digits
        while left:
            digits = left % _GROUP_DIGITS
            if not digits:
                digits = _GROUP_DIGITS
            group = _group(data, at, digits, inverted)
            if started:
                put_padded(out, group, digits)
            elif group:
                put_uint(out, group)
                started = True
            inverted = others
            at += _group_length(digits)
            left -= digits
        if not started:
            out.append(u8(_ZERO))
        left = self._scale
        if left:
            out.append(u8(_POINT))
        while left:
            digits = min(_GROUP_DIGITS, left)
            put_padded(out, _group(data, at, digits, inverted), digits)
            inverted = others
            at += _group_length(digits)
            left -= digits

    def put_unscaled(self, image: PayloadReader, out: BytesWriter, width: i64) -> None:
        """Append the number times 10**scale, which is whole, and move past it.

        It has 16 or more bytes of two's complement, little-endian. Raises DecodeError as `put`.
        """
        at = image.take(self._length)
        data = image.data
        negative = data[at] & _POSITIVE == 0
        others: i64 = -1 if negative else 0
        inverted = self._highest_bit ^ others
        whole_digits = self._whole_digits
        scale = self._scale
        high = 0
        low: i64 = 0
        low_digits: i64 = 0
        low_limit: i64 = 1
        while whole_digits or scale:
            if whole_digits:
                digits = whole_digits % _GROUP_DIGITS
                if not digits:
                    digits = _GROUP_DIGITS
                whole_digits -= digits
            else:
                digits = min(_GROUP_DIGITS, scale)
                scale -= digits
            group = _group(data, at, digits, inverted)
            inverted = others
            at += _group_length(digits)
            if low_digits + digits > _INT64_DIGITS:
                high = high * int(low_limit) + int(low)
                low = 0
                low_digits = 0
                low_limit = 1
            limit: i64 = _LIMITS[digits]
            low = low * limit + group
            low_digits += digits
            low_limit *= limit
        if high or width > _INT128_BYTES:
            value = high * int(low_limit) + int(low)
            out.write((-value if negative else value).to_bytes(width, "little", signed=True))
        else:
            low = -low if negative else low
            write_i64_le(out, low)
            write_i64_le(out, low >> _SIGN_BIT)

    def skip(self, image: PayloadReader) -> None:
        image.skip(self._length)


def _group(data: bytes, at: i64, digits: i64, inverted: i64) -> i64:
    """Return the group of `digits` that starts at `at`, whose bits in `inverted` are.

    Raises DecodeError for a number of more digits.
    """
    end = at + _group_length(digits)
    value: i64 = 0
    mask: i64 = 0
    while at < end:
        byte: i64 = data[at]
        value = value << 8 | byte
        mask = mask << 8 | 0xFF
        at += 1
    value = (value ^ inverted) & mask
    limit: i64 = _LIMITS[digits]
    if value >= limit:
        raise DecodeError(value_errors.DECIMAL_GROUP, digits=digits)
    return value


def _group_length(digits: i64) -> i64:
    """Return the bytes of a group of up to nine digits."""
    # Not a conditional expression: compiled, it would make an object.
    if digits < _GROUP_DIGITS:
        return (digits + 1) >> 1
    return _GROUP_BYTES


def _part_length(digits: int) -> i64:
    """Return the bytes of the digits on one side of the point."""
    full, rest = divmod(digits, _GROUP_DIGITS)
    return full * _GROUP_BYTES + _group_length(rest)
