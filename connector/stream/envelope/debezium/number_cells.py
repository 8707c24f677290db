"""Numbers in Debezium's forms, and types that are built from numbers: bits, vectors, points.

DECIMAL is base64 of an integer, BIGINT UNSIGNED has 64 bits, and floats are as Java prints them.
Bits, vectors and points come in their stored form, or are made of several numbers.
"""

from struct import Struct
from typing import Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_f64_be, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.floats import put_float64
from connector.binlog.text_writer import QUOTE, put_ascii, put_int, put_uint
from connector.stream.envelope.cells.writers import TextForm, put_slice

_ZERO: Final = 0x30
_MINUS: Final = 0x2D
_POINT: Final = 0x2E
_EXPONENT: Final = 0x65

# No number of 18 digits exceeds 64 bits.
_INT64_DIGITS: Final = 18
_WORD_RANGE: Final = 1 << 64
_INT64_RANGE: Final = 1 << 63

# Java prints numbers from 10^-3 to below 10^7 without an exponent.
_WHOLE_DIGITS_MAX: Final = 7
_ZEROS_MAX: Final = 2
# Below these powers of ten, numbers have fewer bits.
_POWER_MIN: Final = -307
_SINGLE_POWER_MIN: Final = -37

_YEAR_ZERO: Final = 1900
_FLOAT32: Final = Struct("<f")


@final
class UnscaledForm(TextForm):
    """DECIMAL: base64 of the digits without a point, in the fewest big-endian signed bytes."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the base64 in quotes, of `-123.45`."""
        out.append(u8(QUOTE))
        out.write(b64encode(_signed_bytes(_unscaled(data, start, end))))
        out.append(u8(QUOTE))


@final
class SignedBigintForm(TextForm):
    """BIGINT UNSIGNED: from 2^63 on, the same 64 bits as a negative number."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of its digits."""
        value = int(data[start:end])
        put_int(out, value - _WORD_RANGE if value >= _INT64_RANGE else value)


@final
class YearForm(TextForm):
    """YEAR: a number; the year 0 is 1900."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of its digits."""
        put_int(out, int(data[start:end]) or _YEAR_ZERO)


@final
class JavaNumberForm(TextForm):
    """FLOAT and DOUBLE with their shortest digits, with an exponent where Java has one."""

    __slots__ = ("_single",)

    def __init__(self, *, single: bool = False) -> None:
        """Write numbers of 64 bits, or of 32 if `single`."""
        self._single = single

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of a JSON number with a point or an exponent."""
        if _is_plain(data, start, end):
            put_slice(out, data, start, end)
        else:
            put_ascii(out, java_text(data[start:end].decode("ascii"), single=self._single))


@final
class RoundedForm(TextForm):
    """DECIMAL as the nearest 64-bit float."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number, of its digits."""
        put_ascii(out, java_text(repr(float(data[start:end]))))


def java_text(number: str, *, single: bool = False) -> str:
    """Return the text of a float, of its shortest digits in any form: `1e+22` is `1.0E22`.

    Java prints at least two digits, and takes the two that are nearest.
    https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/lang/Double.html#toString(double)
    """
    sign = "-" if number.startswith("-") else ""
    mantissa, _, exponent = number.removeprefix("-").partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = (whole + decimals).lstrip("0")
    # The number is 0.digits times 10 to this power.
    power = int(exponent or 0) + len(whole) - (len(whole + decimals) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0"
    if len(digits) == 1 and power < (_SINGLE_POWER_MIN if single else _POWER_MIN):
        # So few bits that the nearest two digits are others.
        value = float(number)
        if single:
            (value,) = _FLOAT32.unpack(_FLOAT32.pack(value))
        mantissa, _, exponent = f"{abs(value):.1e}".partition("e")
        return f"{sign}{mantissa}E{int(exponent)}"
    if -_ZEROS_MAX <= power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    if 0 < power <= _WHOLE_DIGITS_MAX:
        return f"{sign}{digits[:power].ljust(power, '0')}.{digits[power:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power - 1}"


def _is_plain(data: bytes, start: i64, end: i64) -> bool:
    """Return whether the number is a plain one of 1 to 7 digits before the point."""
    at = start
    if data[at] == _MINUS:
        at += 1
    if data[at] == _ZERO:
        return False
    first = at
    point: i64 = -1
    while at < end:
        byte: i64 = data[at]
        if byte == _EXPONENT:
            return False
        if byte == _POINT:
            point = at
        at += 1
    return 0 < point - first <= _WHOLE_DIGITS_MAX


def _unscaled(data: bytes, start: i64, end: i64) -> int:
    if end - start > _INT64_DIGITS:
        return int(data[start:end].replace(b".", b""))
    value: i64 = 0
    at = start
    while at < end:
        byte: i64 = data[at]
        if byte >= _ZERO:
            value = value * 10 + byte - _ZERO
        at += 1
    return -value if data[start] == _MINUS else value


def _signed_bytes(value: int) -> bytes:
    # A negative power of two needs no more bits than the number above it.
    bits = (~value if value < 0 else value).bit_length()
    return value.to_bytes(bits // 8 + 1, "big", signed=True)


_OPENING: Final = 0x5B
_COMMA: Final = 0x2C
_CLOSING: Final = 0x5D

# The byte order, the type, x and y.
_X: Final = 5
_Y: Final = 13
_POINT_LENGTH: Final = 21
_LITTLE_ENDIAN: Final = 1


@final
class LittleEndianBitsForm(TextForm):
    """BIT(n), n above 1: base64 of its bytes, the lowest first."""

    __slots__ = ("_length",)

    def __init__(self, bits: int) -> None:
        """Write the bytes of so many bits."""
        self._length = (bits + 7) // 8

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the base64 in quotes, of an unsigned decimal number."""
        out.append(u8(QUOTE))
        out.write(b64encode(int(data[start:end]).to_bytes(self._length, "little")))
        out.append(u8(QUOTE))


@final
class JavaVectorForm(TextForm):
    """VECTOR: an array of numbers as Java prints them."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = JavaNumberForm(single=True)

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the array, of `[1.0,2.5]`."""
        out.append(u8(_OPENING))
        first = start + 1
        at = first
        while at < end:
            byte: i64 = data[at]
            if byte in (_COMMA, _CLOSING):
                if at > first:
                    self._number.put(out, data, first, at)
                out.append(u8(byte))
                first = at + 1
            at += 1


def put_point(out: BytesWriter, wkb: bytes, srid: i64, number: JavaNumberForm) -> None:
    """Append a POINT with its coordinates; `number` writes them."""
    out.write(b'{"x":')
    _put_coordinate(out, wkb, _X, number)
    out.write(b',"y":')
    _put_coordinate(out, wkb, _Y, number)
    out.append(u8(_COMMA))
    _put_wkb(out, wkb, srid)


def put_shape(out: BytesWriter, wkb: bytes, srid: i64) -> None:
    """Append a geometry that is no POINT column."""
    out.append(u8(0x7B))
    _put_wkb(out, wkb, srid)


def _put_wkb(out: BytesWriter, wkb: bytes, srid: i64) -> None:
    out.write(b'"wkb":"')
    out.write(b64encode(wkb))
    out.write(b'","srid":')
    if srid:
        put_uint(out, srid)
    else:
        out.write(b"null")
    out.append(u8(0x7D))


def _put_coordinate(out: BytesWriter, wkb: bytes, at: i64, number: JavaNumberForm) -> None:
    scratch = BytesWriter()
    little = len(wkb) >= _POINT_LENGTH and wkb[0] == _LITTLE_ENDIAN
    put_float64(scratch, read_f64_le(wkb, at) if little else read_f64_be(wkb, at))
    text = scratch.getvalue()
    number.put(out, text, 0, len(text))
