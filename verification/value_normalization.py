"""The form in which values of the source and of its replica are compared.

The replica may have wider types, and products differ: MariaDB has no type for JSON documents.
Numbers in documents are compared as JSON knows them, because the replica stores them so. The two
zeros of FLOAT and DOUBLE are equal, because MariaDB stores -0 as 0 since 11.8.9.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from stream_jobs.errors import MirrorError
from stream_jobs.source.column_types import DECIMAL_PRECISION_MAX, ColumnType, mask_of, type_text
from verification import verify_errors

_INTEGERS: Final = range(-(1 << 63), 1 << 64)
_TEXTS: Final = frozenset({"char", "varchar", "text", "enum", "set"})
_BYTES: Final = frozenset({"binary", "varbinary", "blob"})
_MOMENTS: Final = frozenset({"datetime", "timestamp"})
# Texts have so many digits of a second, see `row_text`.
_DIGITS: Final = (0, 3, 6)


class ValueNormalization:
    """Makes rows of both sides comparable."""

    def __init__(self, table: str, columns: Iterable[tuple[SchemaColumn, SchemaColumn]]) -> None:
        """Compare pairs of `columns`: of the source as the mirror has it, and of the replica.

        Raises MirrorError for a pair whose values cannot be compared.
        """
        self._kinds: dict[str, pa.DataType] = {}
        self._documents: list[str] = []
        self._are_printed_alike = True
        for ours, theirs in columns:
            kind = _common_type(ours, theirs)
            if kind is None:
                facts = {"ours": type_text(ours), "theirs": type_text(theirs)}
                raise MirrorError(
                    verify_errors.REPLICA_TYPE, table=table, column=ours["name"], **facts
                )
            self._kinds[ours["name"]] = kind
            if ours["type"] == "json":
                self._documents.append(ours["name"])
            self._are_printed_alike &= _printed(ours) == _printed(theirs) is not None

    @property
    def are_printed_alike(self) -> bool:
        """Whether both servers print equal values alike, as `row_text` asks for them."""
        return self._are_printed_alike

    @property
    def none(self) -> pa.Table:
        """No rows."""
        return pa.schema(list(self._kinds.items())).empty_table()

    def of(self, rows: pa.Table) -> pa.Table:
        """Return rows of either side, with the columns that are compared."""
        return pa.Table.from_arrays(
            [self._column(name, rows[name]) for name in self._kinds], names=list(self._kinds)
        )

    def _column(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        if name in self._documents:
            return pa.chunked_array([[_document(text) for text in values.to_pylist()]], pa.string())
        kind = self._kinds[name]
        cast = values if values.type == kind else values.cast(kind)
        # -0.0 + 0.0 is 0.0.
        return pc.add(cast, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else cast


def _common_type(ours: SchemaColumn, theirs: SchemaColumn) -> pa.DataType | None:
    """Return the type that holds all values of two columns; None if there is none."""
    own, other = ColumnType.of(ours).stored, ColumnType.of(theirs).stored
    if own == other:
        return own if mask_of(ours) or _facts(ours) == _facts(theirs) else None
    types = pa.types
    if types.is_floating(own) and types.is_floating(other):
        return pa.float64()
    if types.is_integer(own) and types.is_integer(other):
        return pa.int64()
    digits, more = _digits(own), _digits(other)
    if digits is None or more is None:
        return None
    scale = max(digits[1], more[1])
    precision = max(digits[0], more[0]) + scale
    return pa.decimal128(precision, scale) if precision <= DECIMAL_PRECISION_MAX else None


def _facts(column: SchemaColumn) -> object:
    """Return what else decides how a value becomes a text in the mirror."""
    if column["type"] == "time":
        return column.get("fraction", 0)
    if column["type"] == "set":
        return column.get("labels")
    return column["scale"] if column["type"] == "decimal" else None


def _digits(kind: pa.DataType) -> tuple[int, int] | None:
    """Return how many digits numbers have before and after the point."""
    if pa.types.is_integer(kind):
        return len(str(1 << kind.bit_width)), 0
    if pa.types.is_decimal(kind):
        return kind.precision - kind.scale, kind.scale
    return None


def _printed(column: SchemaColumn) -> tuple[object, ...] | None:
    """Return what decides the text that a server prints; None if it depends on the server."""
    kind = column["type"]
    if kind in INTEGER_TYPES or kind in ("bit", "year"):
        return ("number",)
    if kind == "decimal":
        return kind, column["scale"], column["precision"] > DECIMAL_PRECISION_MAX
    if kind in _MOMENTS:
        fraction = column.get("fraction", 0)
        return "moment", next(digits for digits in _DIGITS if digits >= fraction)
    if kind == "time":
        return kind, column.get("fraction", 0)
    if kind == "date":
        return (kind,)
    if kind in _TEXTS:
        return ("text",)
    return ("bytes",) if kind in _BYTES else None


def _document(text: str | None) -> str | None:
    """Return a JSON document with its numbers as JSON knows them: a DECIMAL is a DOUBLE."""
    if text is None:
        return None
    try:
        document = json.loads(text, parse_int=_number)
    except ValueError:
        # LONGTEXT holds any text.
        return text
    return json.dumps(document, sort_keys=True)


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if number in _INTEGERS else float(number)


def columns_by_name(columns: Iterable[SchemaColumn]) -> Mapping[str, SchemaColumn]:
    """Return columns by their names, which are compared without regard to case."""
    return {column["name"].lower(): column for column in columns}
