"""Cells whose JSON is the server's printed form: numbers, dates and times.

The forms are those of `values`.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter, write_f32_le
from mypy_extensions import i64, u8

from connector.binlog.columns.floats import put_float32, put_float64, require_finite
from connector.codec.digits import put_ascii, put_uint
from connector.codec.json_strings import QUOTE
from connector.envelope.cells.selected_cell import SelectedCell, put_slice

_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D
_POINT: Final = 0x2E
_T: Final = 0x54
_Z: Final = 0x5A

_WORD: Final = 8
_DATE_LENGTH: Final = 10

# Of 15 digits or fewer no two texts read back to the same double, and the server prints those.
_DOUBLE_DIGITS: Final = 15


@final
class NumberCell(SelectedCell):
    """TINYINT to BIGINT and YEAR: printed digits are valid JSON, except for leading zeros."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number; drop the zeros of ZEROFILL and of the year 0000."""
        if start < end and data[start] == _ZERO:
            start = _without_zeros(data, start, end)
        put_slice(out, data, start, end)


@final
class QuotedNumberCell(SelectedCell):
    """DECIMAL and BIGINT UNSIGNED."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number in quotes, without leading zeros."""
        out.append(u8(QUOTE))
        if start < end and data[start] == _ZERO:
            start = _without_zeros(data, start, end)
        put_slice(out, data, start, end)
        out.append(u8(QUOTE))


@final
class PrintedCell(SelectedCell):
    """DATE, DATETIME and TIME."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the printed text in quotes."""
        out.append(u8(QUOTE))
        put_slice(out, data, start, end)
        out.append(u8(QUOTE))


@final
class TimestampCell(SelectedCell):
    """TIMESTAMP, which the session prints in UTC."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append `YYYY-MM-DDThh:mm:ss[.ffffff]Z` in quotes."""
        out.append(u8(QUOTE))
        put_slice(out, data, start, start + _DATE_LENGTH)
        out.append(u8(_T))
        put_slice(out, data, start + _DATE_LENGTH + 1, end)
        out.append(u8(_Z))
        out.append(u8(QUOTE))


@final
class DoubleCell(SelectedCell):
    """DOUBLE: the server prints the shortest digits that read back; the form changes slightly."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the shortest digits that read back to the same 64 bits."""
        at = start
        if data[at] == _MINUS:
            at += 1
        # Digits, and perhaps a point between them: not 007, 0.00x, or anything with an exponent.
        if at < end and end - at <= _DOUBLE_DIGITS and data[at] != _ZERO:
            points: i64 = 0
            while at < end:
                byte: i64 = data[at]
                if byte == _POINT:
                    points += 1
                elif byte < _ZERO or byte > _NINE:
                    break
                at += 1
            if at == end:
                put_slice(out, data, start, end)
                if not points:
                    out.append(u8(_POINT))
                    out.append(u8(_ZERO))
                return
        put_float64(out, _float(data, start, end))


@final
class FloatCell(SelectedCell):
    """FLOAT, which comes as the DOUBLE of the same value."""

    __slots__ = ("_stored",)

    def __init__(self) -> None:
        self._stored = BytesWriter()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the shortest digits that read back to the same 32 bits."""
        stored = self._stored
        stored.truncate(0)
        write_f32_le(stored, _float(data, start, end))
        put_float32(out, stored.getvalue(), 0)


@final
class FlagCell(SelectedCell):
    """BIT(1): one byte."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append `true` or `false`."""
        out.write(b"true" if start < end and data[start] else b"false")


@final
class BitsCell(SelectedCell):
    """BIT: big-endian bytes."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the bits in quotes, as an unsigned decimal number."""
        out.append(u8(QUOTE))
        if end - start < _WORD:
            value: i64 = 0
            at = start
            while at < end:
                byte: i64 = data[at]
                value = value << 8 | byte
                at += 1
            put_uint(out, value)
        else:
            put_ascii(out, str(int.from_bytes(data[start:end], "big")))
        out.append(u8(QUOTE))


def _without_zeros(data: bytes, start: i64, end: i64) -> i64:
    """Return the start of a number after the zeros of ZEROFILL, or those of the year 0000."""
    at = start
    while at + 1 < end and data[at] == _ZERO:
        following: i64 = data[at + 1]
        if following < _ZERO or following > _NINE:
            break
        at += 1
    return at


def _float(data: bytes, start: i64, end: i64) -> float:
    return require_finite(float(data[start:end]))
