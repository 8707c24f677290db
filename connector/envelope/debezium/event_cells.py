"""Cells of row images: read as the server prints them, and then given their form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import BytesWriter

from connector.binlog.columns.bits import EnumReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.geometry import GeometryReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.columns.strings import CharacterReader
from connector.codec.json_strings import quoted
from connector.envelope.cells.cell_writer import CellWriter
from connector.envelope.debezium.binary_cells import BinaryTextWriter
from connector.envelope.debezium.choice import BINARY, binary_cell, printed_cell
from connector.envelope.debezium.number_cells import JavaNumberCell
from connector.envelope.debezium.stored_cells import put_point, put_shape
from connector.envelope.debezium.text_cells import CompactDocumentWriter, EscapedWriter

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader
    from connector.contract import SchemaColumn
    from connector.envelope.cells.selected_cell import SelectedCell
    from connector.envelope.debezium.form import DebeziumForm

_NULL: Final = b"null"


def debezium_writer(
    column: SchemaColumn, reader: ColumnReader, form: DebeziumForm, *, point: bool
) -> CellWriter | None:
    """Return the writer for the cells of `column`; None if its form is that of `exact`.

    `exact` has that form; `point`: the column is a POINT, not any geometry.
    """
    if isinstance(reader, GeometryReader):
        return _ShapeWriter(reader, point=point)
    if isinstance(reader, EnumReader):
        return EscapedWriter(_LabelWriter(reader))
    if isinstance(reader, DocumentReader):
        return CompactDocumentWriter(reader)
    if isinstance(reader, CharacterReader):
        if column["type"] not in BINARY:
            return None
        binary = binary_cell(form)
        return None if binary is None else BinaryTextWriter(reader, binary)
    cell = printed_cell(column, form)
    if cell is None or not isinstance(reader, PrintedReader):
        return None
    return _PrintedWriter(reader, cell)


@final
class _PrintedWriter(CellWriter):
    """A column whose printed text has a form of its own."""

    __slots__ = ("_cell", "_printed", "_reader")

    def __init__(self, reader: PrintedReader, cell: SelectedCell) -> None:
        self._reader = reader
        self._cell = cell
        self._printed = BytesWriter()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        printed = self._printed
        printed.truncate(0)
        self._reader.put(image, printed)
        text = printed.getvalue()
        self._cell.put(out, text, 0, len(text))


@final
class _LabelWriter(CellWriter):
    """ENUM: the label; NULL for an index that has none."""

    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [quoted(label) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        index = self._reader.read_index(image)
        labels = self._labels
        out.write(labels[index] if index < len(labels) else _NULL)


@final
class _ShapeWriter(CellWriter):
    """A geometry; a POINT has its coordinates, too."""

    __slots__ = ("_number", "_point", "_reader")

    def __init__(self, reader: GeometryReader, *, point: bool) -> None:
        self._reader = reader
        self._point = point
        self._number = JavaNumberCell()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        if self._point:
            put_point(out, stored.read_rest(), srid, self._number)
        else:
            put_shape(out, stored.read_rest(), srid)
