"""Chooses the writer for the cells of a column of a SELECT.

The SELECT of `source.selected_table` decides the form of the cells: ENUM and SET are numbers,
unless their labels are uncertain; FLOAT is a DOUBLE with all digits; strings are stored bytes; all
others are printed by the server, TIMESTAMP in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.binlog.charsets.character_sets import character_decoder
from connector.envelope.cells.distinct_labels import DistinctCell, indistinct
from connector.envelope.cells.selected_printed_cells import (
    BitsCell,
    DoubleCell,
    FlagCell,
    FloatCell,
    NumberCell,
    PrintedCell,
    QuotedNumberCell,
    TimestampCell,
)
from connector.envelope.cells.selected_stored_cells import (
    BytesCell,
    EnumCell,
    GeometryCell,
    SetCell,
    TextCell,
    Utf8Cell,
    VectorCell,
)
from connector.envelope.cells.uncertain_labels import has_uncertain_labels
from connector.envelope.debezium.choice import STRINGS
from connector.envelope.debezium.selected_forms import debezium_cell
from connector.envelope.debezium.text_cells import EscapedCell
from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from connector.envelope.cells.selected_cell import SelectedCell
    from connector.envelope.debezium.form import DebeziumForm

_UTF8: Final = ("utf8mb3", "utf8mb4")
_NUMBERS: Final = frozenset({"tinyint", "smallint", "mediumint", "int", "year"})
_BYTES: Final = frozenset({"binary", "varbinary", "blob"})
_TEXTS: Final = frozenset({"char", "varchar", "text"})
_PRINTED: Final = frozenset({"date", "datetime", "time"})


def selected_cell(
    column: SchemaColumn, debezium: DebeziumForm | None = None, *, point: bool = False
) -> SelectedCell:
    """Return the writer for the cells of `column`; `debezium` and `point` as for events.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    written = _cell(column, debezium, point=point)
    numbers = indistinct(column)
    if numbers and not has_uncertain_labels(column):
        return DistinctCell(column, numbers, written)
    return written


def _cell(column: SchemaColumn, debezium: DebeziumForm | None, *, point: bool) -> SelectedCell:
    if debezium is None:
        return _exact_cell(column)
    found = debezium_cell(column, debezium, point=point)
    if found is not None:
        return found
    written = _exact_cell(column)
    return EscapedCell(written) if column["type"] in STRINGS else written


def _exact_cell(column: SchemaColumn) -> SelectedCell:
    kind = column["type"]
    name = column["name"]
    unsigned_bigint = kind == "bigint" and column.get("unsigned", False)
    if kind in _NUMBERS or (kind == "bigint" and not unsigned_bigint):
        return NumberCell()
    if kind == "decimal" or unsigned_bigint:
        return QuotedNumberCell()
    if kind in _PRINTED:
        return PrintedCell()
    if kind == "timestamp":
        return TimestampCell()
    if kind in _TEXTS:
        charset = column.get("charset", "")
        if charset in _UTF8:
            return Utf8Cell(name)
        return TextCell(name, character_decoder(charset))
    if kind == "json" or has_uncertain_labels(column):
        return Utf8Cell(name)
    if kind in _BYTES:
        return BytesCell()
    return _rare_cell(column)


def _rare_cell(column: SchemaColumn) -> SelectedCell:
    kind = column["type"]
    name = column["name"]
    if kind == "double":
        return DoubleCell()
    if kind == "float":
        return FloatCell()
    if kind == "bit":
        return FlagCell() if column.get("length") == 1 else BitsCell()
    if kind == "enum":
        return EnumCell(column.get("labels", []))
    if kind == "set":
        return SetCell(column.get("labels", []), name)
    if kind == "geometry":
        return GeometryCell(name)
    if kind == "vector":
        return VectorCell(name)
    raise UnsupportedChange(table_rows.NO_FORM, column=name, type=kind)
