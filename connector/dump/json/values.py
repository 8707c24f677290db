"""A decoded cell becomes its JSON text.

::

    NULL                            null
    left out by the row image       {"absent":true}
    integers, YEAR, BIT             numbers
    FLOAT, DOUBLE, VECTOR           the shortest numbers that read back
    DECIMAL, dates and times        text
    characters, ENUM, SET           text; {"hex"} for bytes that are not of the character set, or
                                    not UTF-8 if the log does not name it (CHAR, VARCHAR);
                                    the number of an ENUM or SET whose labels are not known
    BINARY, BLOB, GEOMETRY          {"hex":"…"} of the stored bytes
    JSON                            the document's text; {"json_diff":[…]} for changes of it
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from connector.binlog.columns.column_types import ColumnType
from connector.binlog.columns.floats import float32_text
from connector.binlog.columns.values import Absent, EnumIndex, Geometry, JsonDiffs
from connector.dump.json.cells import is_untold
from connector.dump.lines.writer import LARGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value

_SRID_LENGTH = 4


def cell_encoder(column: Column) -> Callable[[Value], str]:
    """Return the function that writes a cell of `column`."""
    if column.real_type == ColumnType.FLOAT:
        return _float_cell
    return _untold_cell if is_untold(column) else _cell


def cell_pieces(encode: Callable[[Value], str], value: Value) -> Iterator[str]:
    """Yield the text that `encode`, from `cell_encoder`, returns; a large one in pieces."""
    if not isinstance(value, (str, bytes)) or len(value) <= LARGE:
        yield encode(value)
        return
    text = isinstance(value, str)
    yield '"' if text else '{"hex":"'
    for start in range(0, len(value), LARGE):
        piece = value[start : start + LARGE]
        yield encode_basestring(piece)[1:-1] if isinstance(piece, str) else piece.hex()
    yield '"' if text else '"}'


def hexadecimal(raw: bytes) -> dict[str, str]:
    """Return the form of bytes that are not text."""
    return {"hex": raw.hex()}


def _cell(value: Value) -> str:
    return _BY_TYPE[type(value)](value)


def _float_cell(value: Value) -> str:
    return float32_text(value) if isinstance(value, float) else _cell(value)


def _untold_cell(value: Value) -> str:
    if isinstance(value, bytes):
        try:
            return encode_basestring(value.decode("utf-8"))
        except UnicodeDecodeError:
            return _hex(value)
    return _cell(value)


def _hex(value: bytes) -> str:
    return f'{{"hex":"{value.hex()}"}}'


def _geometry(value: Geometry) -> str:
    return _hex(value.srid.to_bytes(_SRID_LENGTH, "little") + value.wkb)


def _vector(value: list[float]) -> str:
    return f"[{','.join(map(float32_text, value))}]"


def _diffs(value: JsonDiffs) -> str:
    diffs = ",".join(
        f'{{"op":"{diff.operation.value}","path":{encode_basestring(diff.path)},'
        f'"value":{"null" if diff.value is None else encode_basestring(diff.value)}}}'
        for diff in value.diffs
    )
    return f'{{"json_diff":[{diffs}]}}'


# The type of a value decides its form, except that a FLOAT prints like a DOUBLE otherwise.
_BY_TYPE: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    Absent: lambda _: '{"absent":true}',
    int: str,
    float: repr,
    str: encode_basestring,
    bytes: _hex,
    list: _vector,
    EnumIndex: lambda value: str(value.index),
    Geometry: _geometry,
    JsonDiffs: _diffs,
}
