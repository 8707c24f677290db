"""The tables of a server become texts that values of a log are compared with.

Of each column it is recorded how its cells are written:

``text``      what SELECT prints
``hex``       the bytes, in hexadecimal digits; also of text where the log has no character sets
``number``    decimal digits
``float``     a double in full
``label``     ``number:label`` of an ENUM or a SET
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

# What a statement returns: every cell as text, None for NULL.
Rows = list[list[str | None]]


# As JSON has them; a `default` that is NULL is left out.
RecordedColumn = TypedDict(
    "RecordedColumn",
    {
        "name": str,
        "type": str,
        "as": str,
        "default": NotRequired[str],
        "generated": NotRequired[bool],
    },
)


class RecordedTable(TypedDict):
    """The rows are sorted; a cell is None for NULL."""

    columns: list[RecordedColumn]
    rows: Rows


_NUMBERS = {"tinyint", "smallint", "mediumint", "int", "bigint", "year"}
_BYTES = {
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"),
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
    *("multipolygon", "geometrycollection", "geomcollection"),
}
_TEXTS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
# MariaDB writes them as binary columns.
_PACKED = {"uuid": 16, "inet6": 16, "inet4": 4}

_COLUMNS = """
    SELECT table_schema, table_name, table_type, column_name, data_type, column_type, extra,
      column_default
    FROM information_schema.columns JOIN information_schema.tables
      USING (table_schema, table_name)
    WHERE table_schema LIKE 'golden%' AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
    ORDER BY table_schema, table_name, ordinal_position
"""


def recorded_tables(execute: Callable[[str], Rows]) -> dict[str, RecordedTable]:
    """Return columns and rows of each table of the recording's databases."""
    # MySQL 5.7 has no metadata, MariaDB none by default: its bytes are all the log tells of a text.
    metadata = execute("SHOW VARIABLES LIKE 'binlog_row_metadata'")
    charsets_known = bool(metadata) and metadata[0][1] != "NO_LOG"
    columns: dict[str, list[RecordedColumn]] = {}
    selected: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    for row in execute(_COLUMNS):
        schema, table, table_type, name, data_type, column_type, extra, default = row
        assert schema and table and name and data_type and column_type  # noqa: PT018
        form = _form(data_type, charsets_known=charsets_known)
        column: RecordedColumn = {"name": name, "type": column_type, "as": form}
        if extra and "GENERATED" in extra:
            column["generated"] = True
        elif default is not None and default != "NULL":
            column["default"] = _default(default)
        full_name = f"{_quoted(schema)}.{_quoted(table)}"
        # The log has the rows of the past as well.
        sources[full_name] = (
            f"{full_name} FOR SYSTEM_TIME ALL" if table_type == "SYSTEM VERSIONED" else full_name
        )
        columns.setdefault(full_name, []).append(column)
        selected.setdefault(full_name, []).append(_expression(_quoted(name), form, data_type))
    return {
        table: {
            "columns": columns[table],
            "rows": sorted(
                execute(f"SELECT {', '.join(expressions)} FROM {sources[table]}"),
                key=repr,
            ),
        }
        for table, expressions in selected.items()
    }


def _default(text: str) -> str:
    """MySQL shows the value of a default, MariaDB its literal."""
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))


def _form(data_type: str, *, charsets_known: bool) -> str:
    if data_type in _NUMBERS or data_type == "bit":
        return "number"
    if data_type in ("float", "double"):
        return "float"
    if data_type in ("enum", "set"):
        return "label"
    if data_type in _BYTES or data_type in _PACKED:
        return "hex"
    return "hex" if data_type in _TEXTS and not charsets_known else "text"


def _expression(column: str, form: str, data_type: str) -> str:
    if data_type in _PACKED:
        return f"HEX(CAST({column} AS BINARY({_PACKED[data_type]})))"
    if form == "hex":
        return f"HEX({column})"
    if data_type == "bit":
        return f"CAST({column} + 0 AS UNSIGNED)"
    if form == "float":
        # Arithmetic in DOUBLE shows all digits of a FLOAT.
        return f"{column} + 0e0"
    if form == "label":
        return f"CONCAT(CAST({column} AS UNSIGNED), ':', CONVERT({column} USING utf8mb4))"
    return column if form == "number" else f"CONVERT(CAST({column} AS CHAR) USING utf8mb4)"
