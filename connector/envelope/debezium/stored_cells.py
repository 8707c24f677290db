"""Bits, vectors and points: cells in their stored form, or made of several numbers."""

from __future__ import annotations

from typing import Final, final

from librt.base64 import b64encode
from librt.strings import BytesWriter, read_f64_be, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.floats import put_float64
from connector.codec.digits import put_uint
from connector.codec.json_strings import QUOTE
from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.debezium.number_cells import JavaNumberCell

_OPENING: Final = 0x5B
_COMMA: Final = 0x2C
_CLOSING: Final = 0x5D

# The byte order, the type, x and y.
_X: Final = 5
_Y: Final = 13
_POINT_LENGTH: Final = 21
_LITTLE_ENDIAN: Final = 1


@final
class RewrittenCell(SelectedCell):
    """A cell whose text in our own form becomes another one."""

    __slots__ = ("_form", "_scratch", "_written")

    def __init__(self, written: SelectedCell, form: SelectedCell) -> None:
        """Give what `written` appends to `form`."""
        self._written = written
        self._form = form
        self._scratch = BytesWriter()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the second form."""
        scratch = self._scratch
        scratch.truncate(0)
        self._written.put(scratch, data, start, end)
        text = scratch.getvalue()
        self._form.put(out, text, 0, len(text))


@final
class BitsCell(SelectedCell):
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
class VectorCell(SelectedCell):
    """VECTOR: an array of numbers as Java prints them."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = JavaNumberCell(single=True)

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


def put_point(out: BytesWriter, wkb: bytes, srid: i64, number: JavaNumberCell) -> None:
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


def _put_coordinate(out: BytesWriter, wkb: bytes, at: i64, number: JavaNumberCell) -> None:
    scratch = BytesWriter()
    little = len(wkb) >= _POINT_LENGTH and wkb[0] == _LITTLE_ENDIAN
    put_float64(scratch, read_f64_le(wkb, at) if little else read_f64_be(wkb, at))
    text = scratch.getvalue()
    number.put(out, text, 0, len(text))
