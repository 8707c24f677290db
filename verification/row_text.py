"""A row as one text that the source and Arrow write alike, byte by byte.

    7,19.90,N,3,N,abc      id, price, NULL, then the lengths of two texts, then the texts

Numbers and dates come first: their texts have no comma. Then come the lengths of texts and bytes,
and last these themselves, as UTF-8. NULL is `N`, and has no place among the texts. So two different
rows never have the same text.

A column has a place here only if both sides surely print the same: not FLOAT, DOUBLE and JSON, not
spatial types and vectors, nothing that the mirror hides, and no character set that is neither
Unicode nor latin1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connector.binlog.sql_text import quoted_identifier
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.source.information_schema import PACKED_TYPES, Row, read_definition
from connector.stream.source.select_session import SelectSession
from stream_jobs.source.column_types import DECIMAL_PRECISION_MAX, decimal_texts, mask_of

if TYPE_CHECKING:
    from stream_jobs.source.table_schema import TableSchema

_NULL: Final = "N"
_BYTES: Final = pa.binary()
# Rows whose texts are in memory at a time; Arrow's offsets end at 2 GB.
_ROWS: Final = 50_000

_TEXTS: Final = frozenset({"char", "varchar", "text", "enum", "set"})
_OPAQUE: Final = frozenset({"binary", "varbinary", "blob"})
_UTF8: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii"})
_UNITS: Final = {0: pa.timestamp("s"), 3: pa.timestamp("ms"), 6: pa.timestamp("us")}


class _Part(NamedTuple):
    """How one column is written."""

    name: str
    sql: str  # its text at the source
    of_arrow: Callable[[pa.Array], pa.Array]  # its text, from the mirror's values
    has_length: bool


class RowText:
    """Writes rows of one table as texts."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._plain = [part for part in parts if not part.has_length]
        self._measured = [part for part in parts if part.has_length]

    @classmethod
    def of(
        cls,
        session: SelectSession,
        schema: TableSchema,
        names: Sequence[str],
        rows: Sequence[Row] | None = None,
    ) -> RowText | None:
        """Return the text of the columns `names`; None if it cannot be exact.

        `schema` has the columns as the mirror has them, and `rows` are those of the table's
        definition, if it was read. Raises the errors of `read_definition`.
        """
        chosen = session.chosen_columns
        if chosen is not None and chosen.hides(schema.database, schema.table):
            # The server would sum what its columns hold, and the mirror has masks.
            return None
        if rows is None:
            rows = read_definition(session, schema.database, schema.table).columns
        by_name = {row["name"]: row for row in rows}
        parts = [
            _part(schema.by_name[name], by_name[name]) if name in by_name else None
            for name in names
        ]
        known = [part for part in parts if part is not None]
        return cls(known) if len(known) == len(parts) else None

    @property
    def sql(self) -> str:
        """The expression for the text at the source; its value is bytes."""
        fields = [f"IFNULL({part.sql}, '{_NULL}')" for part in self._plain]
        fields += [f"IFNULL(LENGTH({part.sql}), '{_NULL}')" for part in self._measured]
        fields += [part.sql for part in self._measured]
        # CONCAT_WS leaves NULL out. As one part is bytes, no part is converted.
        return f"CONCAT_WS(_binary',', {', '.join(fields)})"

    def of_rows(self, data: pa.Table) -> Iterator[list[bytes]]:
        """Yield the texts of rows, some at a time."""
        for start in range(0, data.num_rows, _ROWS):
            yield self._texts(data.slice(start, _ROWS))

    def _texts(self, data: pa.Table) -> list[bytes]:
        fields = [_or_null(part.of_arrow(_one(data[part.name]))) for part in self._plain]
        values = [part.of_arrow(_one(data[part.name])).cast(_BYTES) for part in self._measured]
        lengths = [_or_null(pc.binary_length(value).cast(pa.string())) for value in values]
        every = [*(field.cast(_BYTES) for field in (*fields, *lengths)), *values]
        joined = pc.binary_join_element_wise(*every, b",", null_handling="skip")
        texts: list[bytes] = joined.to_pylist()
        return texts


def _part(column: SchemaColumn, row: Row) -> _Part | None:
    name, kind = column["name"], column["type"]
    quoted = quoted_identifier(name)
    if mask_of(column) is not None or row["computed_as"] in ("ROW START", "ROW END"):
        return None
    if kind in INTEGER_TYPES or kind in ("bit", "year", "decimal"):
        return _number(column, quoted, is_padded="zerofill" in (row["definition"] or ""))
    if kind == "date":
        return _Part(name, quoted, _string, False)
    if kind in ("datetime", "timestamp"):
        return _moment(name, quoted, column["fraction"])
    if kind == "time":
        return _Part(name, quoted, _string, True)
    if kind in _TEXTS and not has_uncertain_labels(column):
        return _text(name, quoted, row["charset"] or "")
    if kind in _OPAQUE and row["type"] in _OPAQUE_TYPES:
        return _Part(name, quoted, _string, True)
    if row["type"] in PACKED_TYPES:
        length = PACKED_TYPES[row["type"] or ""]
        return _Part(name, f"CAST({quoted} AS BINARY({length}))", _string, True)
    return None


_OPAQUE_TYPES: Final = _OPAQUE | {"tinyblob", "mediumblob", "longblob"}


def _number(column: SchemaColumn, quoted: str, *, is_padded: bool) -> _Part | None:
    name, kind = column["name"], column["type"]
    # As texts, BIT is bytes, YEAR has four digits, and ZEROFILL adds zeros.
    sql = f"({quoted} + 0)" if is_padded or kind in ("bit", "year") else quoted
    if kind == "bit" and column["length"] == 1:
        return _Part(name, sql, _boolean, False)
    if kind == "decimal":
        if column["precision"] > DECIMAL_PRECISION_MAX:
            return None if is_padded else _Part(name, quoted, _string, True)
        return _Part(name, sql, decimal_texts, False)
    return _Part(name, sql, _string, False)


def _text(name: str, quoted: str, charset: str) -> _Part | None:
    if charset in _UTF8:
        return _Part(name, quoted, _string, True)
    if charset == "latin1":
        return _Part(name, f"CONVERT({quoted} USING utf8mb4)", _string, True)
    return None


def _moment(name: str, quoted: str, fraction: int) -> _Part:
    """Return the part of a date with a time; the mirror has microseconds."""
    digits = min(digits for digits in _UNITS if digits >= fraction)
    zeros = "0" * (digits - fraction)
    sql = f"CONCAT({quoted}, '{zeros}')" if zeros else quoted
    unit = _UNITS[digits]

    def of_arrow(values: pa.Array) -> pa.Array:
        values = values.cast(pa.int64()).cast(_UNITS[6])
        try:
            return values.cast(unit).cast(pa.string())
        except pa.ArrowInvalid:
            # The column cannot hold such a value. Its text has more digits, as no other one.
            return values.cast(pa.string())

    return _Part(name, sql, of_arrow, False)


def _string(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return values
    return values.cast(pa.string())


def _boolean(values: pa.Array) -> pa.Array:
    return values.cast(pa.int8()).cast(pa.string())


def _or_null(texts: pa.Array) -> pa.Array:
    return texts.fill_null(_NULL) if texts.null_count else texts


def _one(values: pa.ChunkedArray) -> pa.Array:
    combined = values.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)
