"""Chooses the writer for the cells of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.bits import EnumReader, SetReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.geometry import GeometryReader
from connector.binlog.columns.strings import CharacterReader
from connector.envelope.rows.character_cells import (
    EnumWriter,
    GeometryWriter,
    SetWriter,
    character_writer,
)
from connector.envelope.rows.printed_cells import printed_writer

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.contract import SchemaColumn
    from connector.envelope.rows.cell_writer import CellWriter


def cell_writer(column: SchemaColumn, reader: ColumnReader) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads."""
    if isinstance(reader, PrintedReader):
        return printed_writer(column, reader)
    if isinstance(reader, CharacterReader):
        return character_writer(column, reader)
    if isinstance(reader, EnumReader):
        return EnumWriter(reader)
    if isinstance(reader, SetReader):
        return SetWriter(reader, column["name"])
    assert isinstance(reader, GeometryReader)
    return GeometryWriter(reader)
