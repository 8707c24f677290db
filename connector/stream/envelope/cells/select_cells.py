"""Cells of the text protocol become JSON without Python values; one writer for each column.

Numbers, dates and times come as the server prints them; text, bytes, numbers of labels, geometries
and vectors come in their stored form. The forms are those of `values`.
"""

from collections.abc import Callable
from typing import Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_f32_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.floats import put_float32, put_float64, require_finite
from connector.binlog.text_writer import QUOTE, put_ascii, put_uint, put_utf8, quoted
from connector.foundation.errors import DecodeError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.cells.values import not_text, put_geometry, put_label, put_labels

_WORD: Final = 8


class SelectCell:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the JSON of the cell in `data[start:end]`.

        Raises UnsupportedChange for a value that the envelope cannot hold.
        """
        raise NotImplementedError


def put_slice(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]` without an intermediate object."""
    at = start
    while at + _WORD <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += _WORD
    while at < end:
        byte: i64 = data[at]
        out.append(u8(byte))
        at += 1


_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D
_POINT: Final = 0x2E
_T: Final = 0x54
_Z: Final = 0x5A

_DATE_LENGTH: Final = 10

# Of 15 digits or fewer no two texts read back to the same double, and the server prints those.
_DOUBLE_DIGITS: Final = 15


@final
class NumberCell(SelectCell):
    """TINYINT to BIGINT and YEAR: printed digits are valid JSON, except for leading zeros."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the number; drop the zeros of ZEROFILL and of the year 0000."""
        if start < end and data[start] == _ZERO:
            start = _without_zeros(data, start, end)
        put_slice(out, data, start, end)


@final
class QuotedNumberCell(SelectCell):
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
class PrintedCell(SelectCell):
    """DATE, DATETIME and TIME."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the printed text in quotes."""
        out.append(u8(QUOTE))
        put_slice(out, data, start, end)
        out.append(u8(QUOTE))


@final
class TimestampCell(SelectCell):
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
class DoubleCell(SelectCell):
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
class FloatCell(SelectCell):
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
class FlagCell(SelectCell):
    """BIT(1): one byte."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.write(b"true" if start < end and data[start] else b"false")


@final
class BitsCell(SelectCell):
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


_COMMA: Final = 0x2C
_OPENING: Final = 0x5B
_CLOSING: Final = 0x5D

_WORD_MASK: Final = 0xFFFF_FFFF
_SRID_LENGTH: Final = 4
_FLOAT_LENGTH: Final = 4


@final
class Utf8Cell(SelectCell):
    """Text that is stored as UTF-8, and documents."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes, escaped; raise UnsupportedChange if it is not UTF-8."""
        out.append(u8(QUOTE))
        if not put_utf8(out, data, start, end):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class TextCell(SelectCell):
    """Text in other character sets."""

    __slots__ = ("_decode", "_name")

    def __init__(self, name: str, decode: Callable[[bytes], str]) -> None:
        self._name = name
        self._decode = decode

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes; raise UnsupportedChange if it is not in the character set."""
        try:
            text = self._decode(data[start:end])
        except DecodeError:
            raise not_text(self._name) from None
        out.write(quoted(text))


@final
class BytesCell(SelectCell):
    """Bytes, as base64."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        out.write(b64encode(data[start:end]))
        out.append(u8(QUOTE))


@final
class EnumCell(SelectCell):
    """ENUM, sent as its index; 0 is the empty string."""

    __slots__ = ("_labels",)

    def __init__(self, labels: list[str]) -> None:
        self._labels = [quoted(label) for label in ["", *labels]]

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the label in quotes, or an object with an index that has no label."""
        put_label(out, self._labels, _number(data, start, end))


@final
class SetCell(SelectCell):
    """SET, sent as its mask."""

    __slots__ = ("_labels", "_name")

    def __init__(self, labels: list[str], name: str) -> None:
        self._labels = [quoted(label)[1:-1] for label in labels]
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the labels in quotes; raise UnsupportedChange for a bit without a label."""
        mask = int(data[start:end])
        if mask >> len(self._labels):
            raise not_text(self._name)
        put_labels(out, self._labels, mask)


@final
class GeometryCell(SelectCell):
    """A geometry in its stored form: SRID u32, WKB."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append an object with SRID and base64; raise UnsupportedChange below 4 bytes."""
        if end - start < _SRID_LENGTH:
            raise UnsupportedChange(
                record_errors.GEOMETRY_SIZE, column=self._name, length=end - start
            )
        srid = i64(read_i32_le(data, start)) & _WORD_MASK
        put_geometry(out, data[start + _SRID_LENGTH : end], srid)


@final
class VectorCell(SelectCell):
    """VECTOR in its stored form: 32-bit floats, little-endian."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append an array of numbers; raise UnsupportedChange for an incomplete float."""
        if (end - start) % _FLOAT_LENGTH:
            raise UnsupportedChange(
                record_errors.VECTOR_SIZE, column=self._name, length=end - start
            )
        out.append(u8(_OPENING))
        at = start
        while at < end:
            if at > start:
                out.append(u8(_COMMA))
            put_float32(out, data, at)
            at += _FLOAT_LENGTH
        out.append(u8(_CLOSING))


def _number(data: bytes, start: i64, end: i64) -> i64:
    """Return an unsigned number of a few digits."""
    value: i64 = 0
    at = start
    while at < end:
        byte: i64 = data[at]
        value = value * 10 + (byte - _ZERO)
        at += 1
    return value
