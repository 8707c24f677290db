"""A cell of the text protocol becomes the JSON that the stream writes of the same value.

The forms are those of `values`. Cells come as the SELECT of `source.selected_table` asks for them:
ENUM and SET as numbers, unless their labels are uncertain, FLOAT as a DOUBLE with all digits,
strings as stored bytes, and the rest as the server prints it, TIMESTAMP in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_f32_le, write_i64_le
from mypy_extensions import i64, u8

from connector.binlog.character_sets import character_decoder
from connector.binlog.columns.floats import put_float32, put_float64, require_finite
from connector.digits import put_ascii, put_uint
from connector.envelope.values import not_text
from connector.errors import DecodeError, UnsupportedChange
from connector.json_strings import QUOTE, put_utf8, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.envelope.contract import SchemaColumn

_ZERO: Final = 0x30
_NINE: Final = 0x39
_MINUS: Final = 0x2D
_POINT: Final = 0x2E
_COMMA: Final = 0x2C
_T: Final = 0x54
_Z: Final = 0x5A
_OPENING: Final = 0x5B
_CLOSING: Final = 0x5D
_CLOSE: Final = 0x7D

_WORD: Final = 8
_WORD_MASK: Final = 0xFFFF_FFFF
_DATE_LENGTH: Final = 10
_SRID_LENGTH: Final = 4
_FLOAT_LENGTH: Final = 4

# Of 15 digits or fewer no two texts read back to the same double, and the server prints those.
_DOUBLE_DIGITS: Final = 15

_UTF8: Final = ("utf8mb3", "utf8mb4")
_NUMBERS: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "year"})
_BYTES: Final = frozenset({"binary", "varbinary", "blob"})
_TEXTS: Final = frozenset({"char", "varchar", "text"})
_PRINTED: Final = frozenset({"date", "datetime", "time"})


class SelectedCell:
    """Writes the cells of one column that are not NULL."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the JSON of the cell in `data[start:end]`.

        Raises UnsupportedChange for what the envelope has no form for.
        """
        raise NotImplementedError


def selected_cell(column: SchemaColumn) -> SelectedCell:
    """Return what writes the cells of `column`.

    Raises UnsupportedChange for a type that the envelope has no form for.
    """
    kind = column["type"]
    name = column["name"]
    unsigned_bigint = kind == "bigint" and column.get("unsigned", False)
    if kind in _NUMBERS or (kind == "bigint" and not unsigned_bigint):
        return _NumberCell()
    if kind == "decimal" or unsigned_bigint:
        return _QuotedNumberCell()
    if kind in _PRINTED:
        return _PrintedCell()
    if kind == "timestamp":
        return _TimestampCell()
    if kind in _TEXTS:
        charset = column.get("charset", "")
        if charset in _UTF8:
            return _Utf8Cell(name)
        return _TextCell(name, character_decoder(charset))
    if kind == "json" or has_uncertain_labels(column):
        return _Utf8Cell(name)
    if kind in _BYTES:
        return _BytesCell()
    return _rare_cell(column)


def has_uncertain_labels(column: SchemaColumn) -> bool:
    """Return whether a label may stand for another: servers show some characters as `?`.

    The cells of such an ENUM or SET are labels, as UTF-8, instead of numbers.
    """
    return any("?" in label for label in column.get("labels", ()))


def _rare_cell(column: SchemaColumn) -> SelectedCell:
    kind = column["type"]
    name = column["name"]
    if kind == "double":
        return _DoubleCell()
    if kind == "float":
        return _FloatCell()
    if kind == "bit":
        return _FlagCell() if column.get("length") == 1 else _BitsCell()
    if kind == "enum":
        return _EnumCell(column.get("labels", []))
    if kind == "set":
        return _SetCell(column.get("labels", []), name)
    if kind == "geometry":
        return _GeometryCell(name)
    if kind == "vector":
        return _VectorCell(name)
    reason = f"column {name} has type {kind}, which the envelope has no form for"
    raise UnsupportedChange(reason)


def put_slice(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]`, without an object in between."""
    at = start
    while at + _WORD <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += _WORD
    while at < end:
        byte: i64 = data[at]
        out.append(u8(byte))
        at += 1


def _without_zeros(data: bytes, start: i64, end: i64) -> i64:
    """Return where a number begins behind the zeros of ZEROFILL, or those of the year 0000."""
    at = start
    while at + 1 < end and data[at] == _ZERO:
        following: i64 = data[at + 1]
        if following < _ZERO or following > _NINE:
            break
        at += 1
    return at


def _number(data: bytes, start: i64, end: i64) -> i64:
    """Return a number of a few digits, without a sign."""
    value: i64 = 0
    at = start
    while at < end:
        byte: i64 = data[at]
        value = value * 10 + (byte - _ZERO)
        at += 1
    return value


def _float(data: bytes, start: i64, end: i64) -> float:
    return require_finite(float(data[start:end]))


@final
class _NumberCell(SelectedCell):
    """What is JSON as it is printed, but for zeros in front."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        if start < end and data[start] == _ZERO:
            start = _without_zeros(data, start, end)
        put_slice(out, data, start, end)


@final
class _QuotedNumberCell(SelectedCell):
    """DECIMAL and BIGINT UNSIGNED."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        if start < end and data[start] == _ZERO:
            start = _without_zeros(data, start, end)
        put_slice(out, data, start, end)
        out.append(u8(QUOTE))


@final
class _PrintedCell(SelectedCell):
    """DATE, DATETIME and TIME."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        put_slice(out, data, start, end)
        out.append(u8(QUOTE))


@final
class _TimestampCell(SelectedCell):
    """TIMESTAMP, which the session prints in UTC."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        put_slice(out, data, start, start + _DATE_LENGTH)
        out.append(u8(_T))
        put_slice(out, data, start + _DATE_LENGTH + 1, end)
        out.append(u8(_Z))
        out.append(u8(QUOTE))


@final
class _DoubleCell(SelectedCell):
    """DOUBLE: the shortest digits that read back, which are the server's, in the stream's form."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
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
class _FloatCell(SelectedCell):
    """FLOAT, which comes as the DOUBLE of the same value."""

    __slots__ = ("_stored",)

    def __init__(self) -> None:
        self._stored = BytesWriter()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        stored = self._stored
        stored.truncate(0)
        write_f32_le(stored, _float(data, start, end))
        put_float32(out, stored.getvalue(), 0)


@final
class _FlagCell(SelectedCell):
    """BIT(1): one byte."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.write(b"true" if start < end and data[start] else b"false")


@final
class _BitsCell(SelectedCell):
    """BIT: big-endian bytes."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
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


@final
class _Utf8Cell(SelectedCell):
    """Text that is stored as UTF-8, and documents."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        if not put_utf8(out, data, start, end):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class _TextCell(SelectedCell):
    """Text in another character set."""

    __slots__ = ("_decode", "_name")

    def __init__(self, name: str, decode: Callable[[bytes], str]) -> None:
        self._name = name
        self._decode = decode

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        try:
            text = self._decode(data[start:end])
        except DecodeError:
            raise not_text(self._name) from None
        out.write(quoted(text))


@final
class _BytesCell(SelectedCell):
    """Bytes, as base64."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        out.append(u8(QUOTE))
        out.write(b64encode(data[start:end]))
        out.append(u8(QUOTE))


@final
class _EnumCell(SelectedCell):
    """ENUM, which comes as its index: 0 is the empty string."""

    __slots__ = ("_labels",)

    def __init__(self, labels: list[str]) -> None:
        self._labels = [quoted(label) for label in ["", *labels]]

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        index = _number(data, start, end)
        if index < len(self._labels):
            out.write(self._labels[index])
            return
        out.write(b'{"index":')
        put_uint(out, index)
        out.append(u8(_CLOSE))


@final
class _SetCell(SelectedCell):
    """SET, which comes as its mask."""

    __slots__ = ("_labels", "_name")

    def __init__(self, labels: list[str], name: str) -> None:
        self._labels = [quoted(label)[1:-1] for label in labels]
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        mask = int(data[start:end])
        if mask >> len(self._labels):
            raise not_text(self._name)
        out.append(u8(QUOTE))
        several = False
        for label in self._labels:
            if mask & 1:
                if several:
                    out.append(u8(_COMMA))
                out.write(label)
                several = True
            mask >>= 1
        out.append(u8(QUOTE))


@final
class _GeometryCell(SelectedCell):
    """A geometry as it is stored: SRID u32, WKB."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        if end - start < _SRID_LENGTH:
            reason = f"column {self._name} holds a geometry of {end - start} bytes: correct it"
            raise UnsupportedChange(reason)
        out.write(b'{"wkb":"')
        out.write(b64encode(data[start + _SRID_LENGTH : end]))
        out.write(b'","srid":')
        put_uint(out, i64(read_i32_le(data, start)) & _WORD_MASK)
        out.append(u8(_CLOSE))


@final
class _VectorCell(SelectedCell):
    """VECTOR as it is stored: 32-bit floats, little-endian."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        if (end - start) % _FLOAT_LENGTH:
            reason = f"column {self._name} holds a vector of {end - start} bytes: correct it"
            raise UnsupportedChange(reason)
        out.append(u8(_OPENING))
        at = start
        while at < end:
            if at > start:
                out.append(u8(_COMMA))
            put_float32(out, data, at)
            at += _FLOAT_LENGTH
        out.append(u8(_CLOSING))
