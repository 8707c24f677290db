"""Decoded values, in the forms of `event_cells`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from librt.strings import BytesWriter

from connector.binlog.columns.values import EnumIndex
from connector.envelope.cells.values import value_encoder
from connector.envelope.debezium.choice import BINARY, STRINGS, binary_cell, printed_cell
from connector.envelope.debezium.number_cells import JavaNumberCell
from connector.envelope.debezium.stored_cells import put_point, put_shape
from connector.envelope.debezium.text_cells import put_compact, with_escapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm


def debezium_encoder(
    column: SchemaColumn, form: DebeziumForm, *, point: bool
) -> Callable[[Any], str]:
    """Return the function that writes a non-NULL value of `column` as JSON.

    Raises UnsupportedChange for a type that the envelope cannot hold.
    """
    kind = column["type"]
    exact = value_encoder(column)
    if kind == "geometry":
        return _point if point else _shape
    if kind == "json":
        return lambda value: with_escapes(exact(_compact(value)))
    if kind in STRINGS:
        return lambda value: "null" if isinstance(value, EnumIndex) else with_escapes(exact(value))
    cell = binary_cell(form) if kind in BINARY else printed_cell(column, form)
    if cell is None:
        return exact

    def encode(value: Any) -> str:
        if isinstance(value, bytes):
            text = value
        else:
            # Decimals and times are text; numbers in quotes are not needed as such.
            text = (value if isinstance(value, str) else exact(value).strip('"')).encode()
        out = BytesWriter()
        cell.put(out, text, 0, len(text))
        return out.getvalue().decode()

    return encode


def _compact(document: Any) -> Any:
    if not isinstance(document, str):
        return document
    out = BytesWriter()
    put_compact(out, document.encode())
    return out.getvalue().decode()


def _point(value: Any) -> str:
    out = BytesWriter()
    put_point(out, value.wkb, value.srid, JavaNumberCell())
    return out.getvalue().decode()


def _shape(value: Any) -> str:
    out = BytesWriter()
    put_shape(out, value.wkb, value.srid)
    return out.getvalue().decode()
