"""Cells of SELECTs, in the forms of `event_cells`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from connector.envelope.cells.selected_cell import SelectedCell
from connector.envelope.cells.selected_printed_cells import BitsCell, DoubleCell, FloatCell
from connector.envelope.cells.selected_stored_cells import VectorCell
from connector.envelope.debezium.choice import BINARY, binary_cell, printed_cell
from connector.envelope.debezium.number_cells import JavaNumberCell
from connector.envelope.debezium.stored_cells import RewrittenCell, put_point, put_shape
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm

_SRID_LENGTH: Final = 4
_WORD_MASK: Final = 0xFFFF_FFFF


def debezium_cell(column: SchemaColumn, form: DebeziumForm, *, point: bool) -> SelectedCell | None:
    """Return the writer for the cells of `column`; None if its form is that of `exact`."""
    kind = column["type"]
    if kind == "geometry":
        return _ShapeCell(column["name"], point=point)
    if kind in BINARY:
        return binary_cell(form)
    cell = printed_cell(column, form)
    if cell is None:
        return None
    if kind == "float":
        return RewrittenCell(FloatCell(), cell)
    if kind == "double":
        return RewrittenCell(DoubleCell(), cell)
    if kind == "vector":
        return RewrittenCell(VectorCell(column["name"]), cell)
    if kind == "bit":
        return RewrittenCell(BitsCell(), _InQuotes(cell))
    return cell


@final
class _InQuotes(SelectedCell):
    """A cell whose text comes in quotes."""

    __slots__ = ("_cell",)

    def __init__(self, cell: SelectedCell) -> None:
        self._cell = cell

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        self._cell.put(out, data, start + 1, end - 1)


@final
class _ShapeCell(SelectedCell):
    """A geometry in its stored form: SRID u32, WKB."""

    __slots__ = ("_name", "_number", "_point")

    def __init__(self, name: str, *, point: bool) -> None:
        self._name = name
        self._point = point
        self._number = JavaNumberCell()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        if end - start < _SRID_LENGTH:
            raise UnsupportedChange(table_rows.GEOMETRY_SIZE, column=self._name, length=end - start)
        srid = i64(read_i32_le(data, start)) & _WORD_MASK
        wkb = data[start + _SRID_LENGTH : end]
        if self._point:
            put_point(out, wkb, srid, self._number)
        else:
            put_shape(out, wkb, srid)
