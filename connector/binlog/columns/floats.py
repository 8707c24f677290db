"""FLOAT, DOUBLE and VECTOR: IEEE 754, little-endian.

The texts have the fewest digits that read back. A VECTOR (9.0) is a length as in BLOB, then 32-bit
floats.

https://dev.mysql.com/doc/refman/9.0/en/vector.html
"""

from collections.abc import Callable
from math import isinf, isnan
from struct import Struct
from typing import Final, final

from librt.strings import BytesWriter, read_f32_le, read_f64_le, read_i32_le
from mypy_extensions import i64, u8

from connector.binlog import value_errors
from connector.binlog.columns.column import PrintedReader, Value
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import put_ascii, put_padded, put_uint
from connector.foundation.errors import DecodeError

FLOAT64_LENGTH: Final = 8

_FLOAT32: Final = Struct("<f")
_FLOAT32_LENGTH: Final = 4

_MINUS: Final = 45
_POINT: Final = 46
_ZERO: Final = 48

# sign 1 bit │ exponent 8 │ fraction 23, before which stands a bit that is 1
_FRACTION_BITS: Final = 23
_FRACTION_MASK: Final = 0x7F_FFFF
_IMPLIED_BIT: Final = 0x80_0000
_EXPONENT_MASK: Final = 0xFF
_EXPONENT_BIAS: Final = 127

# A number below it has at most 14 digits when it is counted in thousandths.
_THOUSANDTHS_MAX: Final = 1e11

# The sizes of numbers that neither `repr` nor JSON writes with an exponent.
_REPR_MIN: Final = 1e-4
_REPR_MAX: Final = 1e15

# From 2**-9 to 2**24 a number with up to 11 decimals is a quotient of integers of 64 bits.
_EXPONENT_MIN: Final = _EXPONENT_BIAS - 9
_EXPONENT_MAX: Final = _EXPONENT_BIAS + _FRACTION_BITS

# Six digits always survive the conversion to 32 bits and back; nine always suffice. Below the
# smallest normal number there are fewer bits, so fewer digits may do.
_FLOAT32_DIGITS = (6, 7, 8)
_FLOAT32_DIGITS_MAX = 9
_DENORMAL_DIGITS = range(1, _FLOAT32_DIGITS_MAX)
_FLOAT32_NORMAL_MIN = 2.0**-126


@final
class FloatReader(PrintedReader):
    """A FLOAT: 32 bits, which are widened to 64 without change."""

    __slots__ = ()

    def read(self, image: PayloadReader) -> Value:
        """Return the number; raise DecodeError for an infinity or NaN."""
        return require_finite(read_f32_le(image.data, image.take(_FLOAT32_LENGTH)))

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number with the fewest digits that read back to the same 32 bits."""
        put_float32(out, image.data, image.take(_FLOAT32_LENGTH))

    def skip(self, image: PayloadReader) -> None:
        image.skip(_FLOAT32_LENGTH)


@final
class DoubleReader(PrintedReader):
    """A DOUBLE: 64 bits."""

    __slots__ = ()

    def read(self, image: PayloadReader) -> Value:
        """Return the number; raise DecodeError for an infinity or NaN."""
        return require_finite(read_f64_le(image.data, image.take(FLOAT64_LENGTH)))

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the JSON number with the fewest digits that read back to the same value."""
        put_float64(out, require_finite(read_f64_le(image.data, image.take(FLOAT64_LENGTH))))

    def skip(self, image: PayloadReader) -> None:
        image.skip(FLOAT64_LENGTH)


@final
class _Shortest:
    """The function that writes the digits, imported at the first number."""

    def __init__(self) -> None:
        self.dumps: Callable[[float], bytes] | None = None


# A name of this module would be looked up in each call.
_SHORTEST: Final = _Shortest()


def shortest_digits(value: float) -> bytes:
    """Return the shortest JSON number that reads back to the same value."""
    dumps = _SHORTEST.dumps
    if dumps is None:
        # It takes long to import, and many commands print no values.
        from orjson import dumps as imported  # noqa: PLC0415

        dumps = _SHORTEST.dumps = imported
    return dumps(value)


def put_float64(out: BytesWriter, value: float) -> None:
    """Append a finite number as the shortest JSON number that reads back to the same value."""
    if not _put_thousandths(out, value):
        out.write(shortest_digits(value))


def put_float64_as_python(out: BytesWriter, value: float) -> None:
    """Append a number as `repr` writes it, whose exponents differ from those of `put_float64`.

    Raises DecodeError for an infinity or NaN.
    """
    if _put_thousandths(out, value):
        return
    if _REPR_MIN <= abs(value) < _REPR_MAX:
        # In this range both have the same digits and no exponent; `repr` takes ten times as long.
        out.write(shortest_digits(value))
    else:
        put_ascii(out, repr(require_finite(value)))


def _put_thousandths(out: BytesWriter, value: float) -> bool:
    """Append a number with up to three decimals; return False for any other."""
    if not -_THOUSANDTHS_MAX < value < _THOUSANDTHS_MAX:
        return False
    # Most numbers that people write have up to three decimals. With at most 15 digits, no two texts
    # read back to the same number, so the text found here is the shortest.
    thousandths = i64(value * 1000.0 + (0.5 if value > 0 else -0.5))
    if thousandths == 0 or float(thousandths) / 1000.0 != value:
        return False
    if thousandths < 0:
        out.append(u8(_MINUS))
        thousandths = -thousandths
    whole = thousandths // 1000
    decimals = thousandths - whole * 1000
    put_uint(out, whole)
    out.append(u8(_POINT))
    hundredths = decimals // 10
    tenths = decimals // 100
    if decimals != hundredths * 10:
        put_padded(out, decimals, 3)
    elif hundredths != tenths * 10:
        put_padded(out, hundredths, 2)
    else:
        out.append(u8(_ZERO + tenths))
    return True


def float32_text(value: float) -> str:
    """Return the shortest text that reads back to the same 32-bit float.

    `value` must be a 32-bit float, such as a FLOAT column holds.
    """
    out = BytesWriter()
    put_float32(out, _FLOAT32.pack(value), 0)
    return out.getvalue().decode("ascii")


def put_float32(out: BytesWriter, data: bytes, at: i64) -> None:
    """Append the shortest text that reads back to the 32-bit float in the four bytes at `at`.

    Raises DecodeError for an infinity or NaN.
    """
    bits = i64(read_i32_le(data, at))
    exponent = bits >> _FRACTION_BITS & _EXPONENT_MASK
    if not _EXPONENT_MIN <= exponent <= _EXPONENT_MAX:
        put_ascii(out, _repr32(require_finite(read_f32_le(data, at))))
        return
    if bits < 0:
        out.append(u8(_MINUS))
    # The number is significand / 2**shift, and times 10**decimals it is numerator / 2**shift.
    significand = bits & _FRACTION_MASK | _IMPLIED_BIT
    shift = _EXPONENT_MAX - exponent
    unit: i64 = 1
    decimals: i64 = 0
    while True:
        numerator = significand * unit
        rounded = _round_half_even(numerator, shift)
        error = (rounded << shift) - numerator
        # A number nearer than half the distance to the next float reads back. The next lower float
        # is half as far from a power of two. A tie has more decimals than the number itself.
        if error < 0:
            error *= -2 if significand == _IMPLIED_BIT else -1
        if 2 * error < unit:
            break
        decimals += 1
        unit *= 10
    whole = rounded // unit
    put_uint(out, whole)
    out.append(u8(_POINT))
    if decimals:
        put_padded(out, rounded - whole * unit, decimals)
    else:
        out.append(u8(_ZERO))


def _round_half_even(numerator: i64, shift: i64) -> i64:
    """Return `numerator` / 2**`shift` as the nearest integer."""
    floor = numerator >> shift
    twice_rest = (numerator - (floor << shift)) << 1
    one: i64 = 1  # in C, a literal would be shifted in 32 bits
    one <<= shift
    if twice_rest > one or (twice_rest == one and floor & 1):
        return floor + 1
    return floor


def _repr32(value: float) -> str:
    """Return the shortest text of a 32-bit float of any size."""
    stored = _FLOAT32.pack(value)
    for digits in _FLOAT32_DIGITS if abs(value) >= _FLOAT32_NORMAL_MIN else _DENORMAL_DIGITS:
        shortest = float(f"{value:.{digits}g}")
        if _FLOAT32.pack(shortest) == stored:
            return repr(shortest)
    return repr(float(f"{value:.{_FLOAT32_DIGITS_MAX}g}"))


def require_finite(value: float) -> float:
    """Return `value`; raise DecodeError for an infinity or NaN, which no server stores."""
    if isinf(value) or isnan(value):
        raise DecodeError(value_errors.NOT_FINITE)
    return value


_FLOAT_LENGTH: Final = 4

_OPENING: Final = 91
_COMMA: Final = 44
_CLOSING: Final = 93


@final
class VectorReader(PrintedReader):
    """A VECTOR as its numbers, widened to 64 bits; as text `[1.0,-2.5]`."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read values after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> Value:
        """Return the numbers as a list; raise DecodeError for an infinity or NaN."""
        stored = self._read_stored(image)
        return [
            require_finite(read_f32_le(stored, at)) for at in range(0, len(stored), _FLOAT_LENGTH)
        ]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the numbers, each with the fewest digits that read back to the same 32 bits."""
        stored = self._read_stored(image)
        out.append(u8(_OPENING))
        at: i64 = 0
        while at < len(stored):
            if at:
                out.append(u8(_COMMA))
            put_float32(out, stored, at)
            at += _FLOAT_LENGTH
        out.append(u8(_CLOSING))

    def _read_stored(self, image: PayloadReader) -> bytes:
        stored = image.read_bytes(image.read_length(self._prefix))
        if len(stored) % _FLOAT_LENGTH:
            raise DecodeError(value_errors.VECTOR_LENGTH, length=len(stored))
        return stored

    def skip(self, image: PayloadReader) -> None:
        image.skip(image.read_length(self._prefix))
