"""Cells in their stored form: text, bytes, numbers of labels, geometries, vectors.

The forms are those of `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.base64 import b64encode
from librt.strings import read_i32_le
from mypy_extensions import i64, u8

from connector.binlog.columns.floats import put_float32
from connector.codec.json_strings import QUOTE, put_utf8, quoted
from connector.envelope.cells.cell_forms import put_geometry, put_label, put_labels
from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.cells.values import not_text
from connector.errors import DecodeError, UnsupportedChange, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from librt.strings import BytesWriter

_ZERO: Final = 0x30
_COMMA: Final = 0x2C
_OPENING: Final = 0x5B
_CLOSING: Final = 0x5D

_WORD_MASK: Final = 0xFFFF_FFFF
_SRID_LENGTH: Final = 4
_FLOAT_LENGTH: Final = 4


@final
class Utf8Cell(SelectedCell):
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
class TextCell(SelectedCell):
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
class BytesCell(SelectedCell):
    """Bytes, as base64."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append base64 in quotes."""
        out.append(u8(QUOTE))
        out.write(b64encode(data[start:end]))
        out.append(u8(QUOTE))


@final
class EnumCell(SelectedCell):
    """ENUM, sent as its index; 0 is the empty string."""

    __slots__ = ("_labels",)

    def __init__(self, labels: list[str]) -> None:
        self._labels = [quoted(label) for label in ["", *labels]]

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the label in quotes, or an object with an index that has no label."""
        put_label(out, self._labels, _number(data, start, end))


@final
class SetCell(SelectedCell):
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
class GeometryCell(SelectedCell):
    """A geometry in its stored form: SRID u32, WKB."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append an object with SRID and base64; raise UnsupportedChange below 4 bytes."""
        if end - start < _SRID_LENGTH:
            raise UnsupportedChange(table_rows.GEOMETRY_SIZE, column=self._name, length=end - start)
        srid = i64(read_i32_le(data, start)) & _WORD_MASK
        put_geometry(out, data[start + _SRID_LENGTH : end], srid)


@final
class VectorCell(SelectedCell):
    """VECTOR in its stored form: 32-bit floats, little-endian."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append an array of numbers; raise UnsupportedChange for an incomplete float."""
        if (end - start) % _FLOAT_LENGTH:
            raise UnsupportedChange(table_rows.VECTOR_SIZE, column=self._name, length=end - start)
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
