"""Chooses the form of a column whose text is not that of the profile `exact`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.envelope.debezium.binary_cells import HexCell, UrlSafeCell
from connector.envelope.debezium.iso_cells import (
    EPOCH_DATE,
    IsoDateCell,
    IsoMomentCell,
    IsoTimeCell,
)
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
    DaysCell,
    DurationCell,
    MomentCell,
    TimeOfDayCell,
    ZonedCell,
)
from connector.envelope.debezium.unfit import Unfit

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from connector.envelope.cells.selected_cell import SelectedCell
    from connector.envelope.debezium.form import DebeziumForm

_NULL: Final = b"null"

_MILLIS_DIGITS: Final = 3
_MICROS_DIGITS: Final = 6
_NANOS_DIGITS: Final = 9
# Types whose values are bytes.
BINARY: Final = frozenset({"binary", "varbinary", "blob"})
# Types whose values are strings of characters.
TEXTS: Final = frozenset({"char", "varchar", "text", "set"})
STRINGS: Final = TEXTS | {"enum", "json"}


def printed_cell(column: SchemaColumn, form: DebeziumForm) -> SelectedCell | None:
    """Return what writes the value that the server prints; None if the form is that of `exact`."""
    kind = column["type"]
    if kind == "decimal":
        return _decimal_cell(form)
    if kind == "bigint" and column.get("unsigned", False):
        return UnscaledCell() if form.unsigned_bigints == "precise" else WrappedCell()
    if kind in ("float", "double"):
        return JavaNumberCell(single=kind == "float")
    if kind == "year":
        return YearCell()
    if kind == "vector":
        return VectorCell()
    if kind == "bit":
        bits = column.get("length", 1)
        return None if bits == 1 else BitsCell(bits)
    return _temporal_cell(column, form)


def binary_cell(form: DebeziumForm) -> SelectedCell | None:
    """Return what writes stored bytes; None if the form is base64, that of `exact`."""
    if form.binary == "hex":
        return HexCell()
    return UrlSafeCell() if form.binary == "base64-url-safe" else None


def _decimal_cell(form: DebeziumForm) -> SelectedCell | None:
    if form.decimals == "precise":
        return UnscaledCell()
    return RoundedCell() if form.decimals == "double" else None


def _temporal_cell(column: SchemaColumn, form: DebeziumForm) -> SelectedCell | None:
    kind = column["type"]
    if kind == "timestamp":
        # Every form of times has the same text.
        return ZonedCell(_zero(column, EPOCH_TEXT))
    if form.times == "isostring":
        return _iso_cell(column, form)
    if kind == "date":
        return DaysCell(_zero(column, EPOCH_NUMBER))
    if kind == "datetime":
        digits = _digits(column, form)
        return MomentCell(digits, _zero(column, EPOCH_NUMBER), Unfit(column, form))
    if kind != "time":
        return None
    if form.times == "connect":
        return TimeOfDayCell(Unfit(column, form))
    return DurationCell(_NANOS_DIGITS if form.times == "nanoseconds" else _MICROS_DIGITS)


def _iso_cell(column: SchemaColumn, form: DebeziumForm) -> SelectedCell | None:
    kind = column["type"]
    if kind == "date":
        return IsoDateCell(_zero(column, EPOCH_DATE))
    if kind == "datetime":
        return IsoMomentCell(_zero(column, EPOCH_TEXT))
    return IsoTimeCell(Unfit(column, form)) if kind == "time" else None


def _digits(column: SchemaColumn, form: DebeziumForm) -> int:
    """Return the digits after the second in the number of a DATETIME."""
    if form.times == "microseconds":
        return _MICROS_DIGITS
    if form.times == "nanoseconds":
        return _NANOS_DIGITS
    if form.times == "connect" or column.get("fraction", 0) <= _MILLIS_DIGITS:
        return _MILLIS_DIGITS
    return _MICROS_DIGITS


def _zero(column: SchemaColumn, epoch: bytes) -> bytes:
    """Return what is written for a date with a zero part."""
    return _NULL if column["nullable"] else epoch
