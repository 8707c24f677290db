"""Chooses the writer for the cells of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.bits import EnumReader, SetReader
from connector.binlog.columns.column_reader import PrintedReader
from connector.binlog.columns.geometry import GeometryReader
from connector.binlog.columns.strings import CharacterReader
from connector.envelope.cells.character_cells import (
    EnumWriter,
    GeometryWriter,
    SetWriter,
    character_writer,
)
from connector.envelope.cells.distinct_labels import DistinctWriter, indistinct
from connector.envelope.cells.printed_cells import printed_writer
from connector.envelope.debezium.choice import TEXTS
from connector.envelope.debezium.event_cells import debezium_writer
from connector.envelope.debezium.text_cells import EscapedWriter

if TYPE_CHECKING:
    from connector.binlog.columns.column_reader import ColumnReader
    from connector.contract import SchemaColumn
    from connector.envelope.cells.cell_writer import CellWriter
    from connector.envelope.debezium.form import DebeziumForm


def cell_writer(
    column: SchemaColumn,
    reader: ColumnReader,
    debezium: DebeziumForm | None = None,
    *,
    point: bool = False,
) -> CellWriter:
    """Return the writer for the cells of `column`, which `reader` reads.

    `debezium` is the form of its profile; `point` as in `debezium_writer`.
    """
    written = _writer(column, reader, debezium, point=point)
    numbers = indistinct(column)
    if numbers and isinstance(reader, (EnumReader, SetReader)):
        return DistinctWriter(column, numbers, reader, written)
    return written


def _writer(
    column: SchemaColumn, reader: ColumnReader, debezium: DebeziumForm | None, *, point: bool
) -> CellWriter:
    if debezium is None:
        return _exact_writer(column, reader)
    found = debezium_writer(column, reader, debezium, point=point)
    if found is not None:
        return found
    written = _exact_writer(column, reader)
    return EscapedWriter(written) if column["type"] in TEXTS else written


def _exact_writer(column: SchemaColumn, reader: ColumnReader) -> CellWriter:
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
