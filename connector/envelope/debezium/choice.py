"""Chooses the form of a column whose text is not that of the profile `exact`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.envelope.debezium.number_cells import (
    JavaNumberCell,
    RoundedCell,
    UnscaledCell,
    WrappedCell,
    YearCell,
)
from connector.envelope.debezium.stored_cells import BitsCell, VectorCell
from connector.envelope.debezium.temporal_cells import (
    EPOCH_NUMBER,
    EPOCH_TEXT,
    NULL,
    DaysCell,
    DurationCell,
    MomentCell,
    ZonedCell,
)

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from connector.envelope.cells.selected_cell import SelectedCell
    from connector.envelope.debezium.form import DebeziumForm

_MILLIS_DIGITS: Final = 3
_MICROS_DIGITS: Final = 6
# Types whose values are strings of characters.
TEXTS: Final = frozenset({"char", "varchar", "text", "set"})
STRINGS: Final = TEXTS | {"enum", "json"}


def printed_cell(column: SchemaColumn, form: DebeziumForm) -> SelectedCell | None:
    """Return what writes the value that the server prints; None if the form is that of `exact`."""
    kind = column["type"]
    if kind == "decimal":
        return _decimal_cell(form)
    if kind == "bigint" and column.get("unsigned", False):
        return WrappedCell()
    if kind in ("float", "double"):
        return JavaNumberCell(single=kind == "float")
    if kind == "year":
        return YearCell()
    if kind == "vector":
        return VectorCell()
    if kind == "bit":
        bits = column.get("length", 1)
        return None if bits == 1 else BitsCell(bits)
    return _temporal_cell(column)


def _decimal_cell(form: DebeziumForm) -> SelectedCell | None:
    if form.decimals == "precise":
        return UnscaledCell()
    return RoundedCell() if form.decimals == "double" else None


def _temporal_cell(column: SchemaColumn) -> SelectedCell | None:
    kind = column["type"]
    zero = NULL if column["nullable"] else EPOCH_NUMBER
    if kind == "date":
        return DaysCell(zero)
    if kind == "datetime":
        fraction = column.get("fraction", 0)
        return MomentCell(_MILLIS_DIGITS if fraction <= _MILLIS_DIGITS else _MICROS_DIGITS, zero)
    if kind == "timestamp":
        return ZonedCell(NULL if column["nullable"] else EPOCH_TEXT)
    return DurationCell() if kind == "time" else None
