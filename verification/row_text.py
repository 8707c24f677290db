"""A row as one text that the source, Arrow and DuckDB write alike, byte by byte.

    7,19.90,N,3,N,abc      id, price, NULL, then the lengths of two texts, then the texts

Numbers and dates come first: their texts have no comma. Then come the lengths of texts and bytes,
and last these themselves, as UTF-8. NULL is `N`, and has no place among the texts. So two different
rows never have the same text.

A column has a place here only if both sides surely print the same: not FLOAT, DOUBLE and JSON, not
spatial types and vectors, nothing that the mirror hides, and no character set that is neither
Unicode nor latin1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connector.binlog.sql_text import quoted_identifier
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.envelope.cells.labels import has_uncertain_labels
from connector.stream.source.information_schema import PACKED_TYPES, Row, read_definition
from connector.stream.source.select_session import SelectSession
from stream_jobs.source import column_types
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
    """How one column is written from the mirror's values."""

    name: str
    of_arrow: Callable[[pa.Array], pa.Array]
    has_length: bool
    duckdb: str  # the text in DuckDB
    is_bytes: bool = False  # whether that is a BLOB


class MirrorText:
    """Writes rows of a mirror as texts, in Arrow and in DuckDB."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._plain = [part for part in parts if not part.has_length]
        self._measured = [part for part in parts if part.has_length]

    @classmethod
    def of_mirror(cls, columns: Iterable[SchemaColumn]) -> "MirrorText | None":
        """Return the text of columns; None if one of them has no exact text."""
        parts = [_mirror_part(column) for column in columns]
        known = [part for part in parts if part is not None]
        return MirrorText(known) if len(known) == len(parts) else None

    @property
    def duckdb(self) -> str:
        """The expression for the text in DuckDB: a VARCHAR, or a BLOB if a column has bytes."""
        fields = [f"coalesce({part.duckdb}, '{_NULL}')" for part in self._plain]
        fields += [f"coalesce({_duckdb_length(part)}, '{_NULL}')" for part in self._measured]
        if not any(part.is_bytes for part in self._measured):
            # concat_ws leaves NULL out, as the source's CONCAT_WS does.
            return f"concat_ws(',', {', '.join([*fields, *(p.duckdb for p in self._measured)])})"
        values = [
            f"coalesce(','::BLOB || {part.duckdb if part.is_bytes else f'encode({part.duckdb})'}, "
            "''::BLOB)"
            for part in self._measured
        ]
        return " || ".join([f"encode(concat_ws(',', {', '.join(fields)}))", *values])

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


class RowText(MirrorText):
    """Writes rows of one table as texts, on both sides."""

    def __init__(self, parts: Sequence[_Part], sql_by_name: Mapping[str, str], form: str) -> None:
        super().__init__(parts)
        self._sql_by_name = sql_by_name
        # Texts with the same form write rows alike, whatever the names of the columns are.
        self.form = form

    @classmethod
    def of(
        cls,
        session: SelectSession,
        schema: TableSchema,
        names: Sequence[str],
        rows: Sequence[Row] | None = None,
    ) -> "RowText | None":
        """Return the text of the columns `names`; None if it cannot be exact.

        `schema` has the columns as the mirror has them, and `rows` are those of the table's
        definition, if it was read. Raises the errors of `read_definition`.
        """
        if hides_values(session, schema):
            return None
        if rows is None:
            rows = read_definition(session, schema.database, schema.table).columns
        by_name = {row["name"]: row for row in rows}
        parts, sql_by_name = [], {}
        for name in names:
            part = _mirror_part(schema.by_name[name])
            sql = _source_sql(schema.by_name[name], by_name[name]) if name in by_name else None
            if part is None or sql is None:
                return None
            parts.append(part)
            sql_by_name[name] = sql
        form = repr([_facts(schema.by_name[name]) for name in names])
        return cls(parts, sql_by_name, form)

    @property
    def sql(self) -> str:
        """The expression for the text at the source; its value is bytes."""
        plain = [self._sql_by_name[part.name] for part in self._plain]
        measured = [self._sql_by_name[part.name] for part in self._measured]
        fields = [f"IFNULL({sql}, '{_NULL}')" for sql in plain]
        fields += [f"IFNULL(LENGTH({sql}), '{_NULL}')" for sql in measured]
        fields += measured
        # CONCAT_WS leaves NULL out. As one part is bytes, no part is converted.
        return f"CONCAT_WS(_binary',', {', '.join(fields)})"


def _facts(column: SchemaColumn) -> list[tuple[str, object]]:
    """Return what tells how a column of the mirror is written."""
    return sorted((fact, value) for fact, value in column.items() if fact != "name")


def hides_values(session: SelectSession, schema: TableSchema) -> bool:
    """Return whether the server would sum what its columns hold, and the mirror has masks."""
    chosen = session.chosen_columns
    return chosen is not None and chosen.hides(schema.database, schema.table)


def columns_without_text(
    schema: TableSchema, names: Sequence[str], rows: Sequence[Row]
) -> list[str]:
    """Return the columns that keep a table from having a text, with their types."""
    by_name = {row["name"]: row for row in rows}
    return [
        f"{name} ({column_types.type_text(schema.by_name[name])})"
        for name in names
        if name not in by_name
        or _mirror_part(schema.by_name[name]) is None
        or _source_sql(schema.by_name[name], by_name[name]) is None
    ]


_OPAQUE_TYPES: Final = _OPAQUE | {"tinyblob", "mediumblob", "longblob"}


def _source_sql(column: SchemaColumn, row: Row) -> str | None:
    """Return the text of a column at the source; None if it is not that of the mirror."""
    kind, quoted = column["type"], quoted_identifier(column["name"])
    if row["computed_as"] in ("ROW START", "ROW END"):
        return None
    if kind in INTEGER_TYPES or kind in ("bit", "year", "decimal"):
        # As texts, BIT is bytes, YEAR has four digits, and ZEROFILL adds zeros.
        is_padded = "zerofill" in (row["definition"] or "")
        if kind == "decimal" and column["precision"] > column_types.DECIMAL_PRECISION_MAX:
            return None if is_padded else quoted
        return f"({quoted} + 0)" if is_padded or kind in ("bit", "year") else quoted
    if kind in ("datetime", "timestamp"):
        zeros = "0" * (_digits(column) - column["fraction"])
        return f"CONCAT({quoted}, '{zeros}')" if zeros else quoted
    if kind in _TEXTS:
        charset = row["charset"] or ""
        latin = f"CONVERT({quoted} USING utf8mb4)" if charset == "latin1" else None
        return quoted if charset in _UTF8 else latin
    if row["type"] in PACKED_TYPES:
        length = PACKED_TYPES[row["type"] or ""]
        return f"CAST({quoted} AS BINARY({length}))"
    is_plain = kind in ("date", "time") or row["type"] in _OPAQUE_TYPES
    return quoted if is_plain else None


def _mirror_part(column: SchemaColumn) -> _Part | None:
    """Return how a column of the mirror is written; None if the source may write it otherwise."""
    name, kind = column["name"], column["type"]
    own = duckdb_name(name)
    printed = f"CAST({own} AS VARCHAR)"
    if column_types.mask_of(column) is not None:
        return None
    if kind == "bit" and column["length"] == 1:
        return _Part(name, _boolean, False, f"CAST(CAST({own} AS TINYINT) AS VARCHAR)")
    if kind in INTEGER_TYPES or kind in ("bit", "year", "date"):
        return _Part(name, _string, False, printed)
    if kind == "decimal":
        is_text = column["precision"] > column_types.DECIMAL_PRECISION_MAX
        return _Part(
            name,
            _string if is_text else column_types.decimal_texts,
            is_text,
            own if is_text else printed,
        )
    if kind in ("datetime", "timestamp"):
        return _moment(column)
    if kind == "time" or (kind in _TEXTS and not has_uncertain_labels(column)):
        return _Part(name, _string, True, own)
    return _Part(name, _string, True, own, is_bytes=True) if kind in _OPAQUE else None


def duckdb_name(name: str) -> str:
    """Return a name as DuckDB quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _duckdb_length(part: _Part) -> str:
    length = "octet_length" if part.is_bytes else "strlen"
    return f"CAST({length}({part.duckdb}) AS VARCHAR)"


def _digits(column: SchemaColumn) -> int:
    """Return how many digits of a second the text of a column has."""
    return min(digits for digits in _UNITS if digits >= column["fraction"])


_FORMATS: Final = {0: "%Y-%m-%d %H:%M:%S", 3: "%Y-%m-%d %H:%M:%S.%g", 6: "%Y-%m-%d %H:%M:%S.%f"}


def _moment(column: SchemaColumn) -> _Part:
    """Return the part of a date with a time; the mirror has microseconds."""
    digits = _digits(column)
    unit = _UNITS[digits]
    own = duckdb_name(column["name"])
    # Without the zone of the session.
    moment = f"make_timestamp(epoch_us({own}))" if column["type"] == "timestamp" else own

    def of_arrow(values: pa.Array) -> pa.Array:
        values = values.cast(pa.int64()).cast(_UNITS[6])
        try:
            return values.cast(unit).cast(pa.string())
        except pa.ArrowInvalid:
            # The column cannot hold such a value. Its text has more digits, as no other one.
            return values.cast(pa.string())

    return _Part(column["name"], of_arrow, False, f"strftime({moment}, '{_FORMATS[digits]}')")


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
