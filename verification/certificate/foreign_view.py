"""The SQL of DuckDB that makes the view `certified` of a table of another program.

The view has the columns of the source, in types that print as the source's text has them. Forms of
values for which no expression surely does that have none: then only this program can compute the
checksums of the target.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from connector.foundation.contract import INTEGER_TYPES
from stream_jobs.source.column_types import DECIMAL_PRECISION_MAX
from verification.certificate.range_sums import VIEW
from verification.foreign.column_mapping import ColumnMapping, ColumnPair
from verification.foreign.deletion_marks import sql_of
from verification.row_text import duckdb_name

_TEXTS: Final = frozenset({"char", "varchar", "text", "enum", "set"})
_BYTES: Final = frozenset({"varbinary", "blob"})
_DATES: Final[Mapping[str, str]] = {
    "date": "{}",
    "midnight": (
        "CASE WHEN epoch_us({0}) % 86400000000 = 0 "
        "THEN CAST(make_timestamp(epoch_us({0})) AS DATE) END"
    ),
    "days since 1970": "DATE '1970-01-01' + CAST({} AS INTEGER)",
}
_MOMENTS: Final[Mapping[str, str]] = {
    "timestamp": "make_timestamp(epoch_us({}))",
    "seconds since 1970": "make_timestamp(CAST({} AS BIGINT) * 1000000)",
    "milliseconds since 1970": "make_timestamp(CAST({} AS BIGINT) * 1000)",
    "microseconds since 1970": "make_timestamp(CAST({} AS BIGINT))",
}
_OPAQUE: Final[Mapping[str, str]] = {
    "bytes": "{}",
    "base64": "from_base64({})",
    "hexadecimal": "unhex({})",
}


def view_of(scan: str, mapping: ColumnMapping, schema: pa.Schema) -> str | None:
    """Return the statement for a table function; None if the columns of `schema` have none."""
    columns = []
    for name, pair in mapping.pairs.items():
        expression = _expression(pair, schema.field(pair.target).type)
        if expression is None:
            return None
        columns.append(f"{expression.format(duckdb_name(pair.target))} AS {duckdb_name(name)}")
    mark, where = mapping.names.mark, ""
    if mark is not None:
        where = f" WHERE NOT {sql_of(mark, duckdb_name(mark), schema.field(mark).type)}"
    return f"CREATE OR REPLACE VIEW {VIEW} AS SELECT {', '.join(columns)} FROM {scan}{where}"  # noqa: S608 - quoted names


def _expression(pair: ColumnPair, kind: pa.DataType) -> str | None:
    """Return a template for the values of a column; None if they may print otherwise."""
    source, form = pair.column["type"], pair.form.name
    if source in INTEGER_TYPES or source == "year" or (source == "bit" and form == "number"):
        # Some programs write a BOOLEAN of MySQL as true.
        is_number_text = form == "text" and source != "tinyint"
        is_plain = is_number_text or (
            form in ("number", "boolean") and not pa.types.is_floating(kind)
        )
        return "CAST({} AS HUGEINT)" if is_plain else None
    if source == "bit":
        return "{}" if form == "boolean" else None
    if source == "decimal":
        is_exact = form in ("number", "text") and pair.column["precision"] <= DECIMAL_PRECISION_MAX
        digits = f"{pair.column['precision']}, {pair.column['scale']}"
        return f"CAST({{}} AS DECIMAL({digits}))" if is_exact else None
    if source == "date":
        return _DATES.get(form)
    if source in ("datetime", "timestamp"):
        return _MOMENTS.get(form)
    if source in _TEXTS:
        return "{}" if form == "text" else None
    return _OPAQUE.get(form) if source in _BYTES else None
