"""A table of the source becomes its schema, as the log tells it, and the SELECT that reads it.

`information_schema` has what TABLE_MAP has with binlog_row_metadata=FULL, so that rows of a SELECT
have the same schema, and the same id of it, as rows of the log.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-columns-table.html
https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-columns-table
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from connector.binlog.collations import charset_of
from connector.envelope.selected_rows import SelectedRowWriter
from connector.envelope.table_schema import TableSchema
from connector.errors import SourceRefused, UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.envelope.contract import SchemaColumn
    from connector.source.select_session import SelectSession

    Row = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the key by which rows are told apart, which is that of their records."""

    name: str
    expression: str  # the quoted name, for WHERE and ORDER BY
    # Whether WHERE with a `literal` and ORDER BY agree on what follows a value, so that the table
    # can be read in pieces; false where the key has only the beginning of the value.
    ordered: bool
    type: str  # as in the schema
    charset: str  # of text: the server's own name
    address: str  # MariaDB's UUID, INET4 or INET6, else ""

    def literal(self, cell: bytes) -> str:
        """Return the SQL of a value, given by its cell in `Chunk.last_key`."""
        if self.address:
            return f"CAST(X'{cell.hex()}' AS {self.address})"
        if self.type in _BYTES:
            return f"X'{cell.hex()}'"
        if self.type in _TEXTS:
            return f"_{self.charset} X'{cell.hex()}'"
        if self.type == "bit":
            return str(int.from_bytes(cell, "big"))
        text = cell.decode("ascii")
        if self.type in _TIMES:
            return f"'{text}'"
        if self.type in _FLOATS and "e" not in text:
            return f"{text}e0"  # without an exponent it would be a DECIMAL
        return text


@dataclass(frozen=True, slots=True)
class SelectedTable:
    """A table as it is now, and how to read it.

    `select_list` has each column of the schema, also invisible ones, in its order, in the form
    that `SelectedRowWriter` reads; `quoted_name` is what to select from.
    """

    schema: TableSchema
    select_list: str
    quoted_name: str
    key_columns: tuple[KeyColumn, ...]  # in key order; none where records have no key

    @classmethod
    def describe(cls, session: SelectSession, database: str, table: str) -> Self:
        """Ask the server what the table looks like.

        Raises SourceRefused when there is no such table that the account may read,
        UnsupportedChange for a column that the envelope has no form for.
        """
        where = f"table_schema = {_text(database)} AND table_name = {_text(table)}"
        rows = session.query(_COLUMNS.format(where=where))
        if not rows:
            reason = (
                f"{session.place}: table {database}.{table} does not exist, or the account may "
                f"not read it: GRANT SELECT ON {database}.* TO the account of source.user"
            )
            raise SourceRefused(reason)
        key_parts = session.query(_KEYS.format(where=where))
        key = _key(rows, key_parts)
        collations = _collation_ids(session, rows)
        columns = tuple(_schema_column(f"{database}.{table}", row, key, collations) for row in rows)
        return cls(
            TableSchema.of_columns(database, table, columns),
            ", ".join(_expression(row) for row in rows),
            f"{quoted_identifier(database)}.{quoted_identifier(table)}",
            _key_columns(rows, columns, key_parts),
        )

    @property
    def name(self) -> str:
        """`database.table`."""
        return self.schema.name

    def writer(self) -> SelectedRowWriter:
        """Return a writer of its rows; each thread that reads needs its own."""
        return SelectedRowWriter(self.schema)


def quoted_identifier(name: str) -> str:
    """Return a name as SQL has it."""
    return "`{}`".format(name.replace("`", "``"))


_COLUMNS = """
    SELECT column_name AS name, data_type AS type, column_type AS definition,
      is_nullable AS nullable, character_octet_length AS length, numeric_precision AS number_digits,
      numeric_scale AS scale, datetime_precision AS fraction, character_set_name AS charset,
      collation_name AS collation, column_key AS keyed
    FROM information_schema.columns WHERE {where} ORDER BY ordinal_position
"""

_KEYS = """
    SELECT index_name AS name, column_name AS column_name, sub_part AS prefix
    FROM information_schema.statistics WHERE {where} AND non_unique = 0
    ORDER BY index_name, seq_in_index
"""

_INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_FLOATS = frozenset({"float", "double"})
_TEXTS = frozenset({"char", "varchar", "text"})
_BYTES = frozenset({"binary", "varbinary", "blob"})
_TIMES = frozenset({"date", "datetime", "timestamp", "time"})

# MariaDB's types that the log has as BINARY: name to bytes.
_ADDRESSES = {"uuid": 16, "inet6": 16, "inet4": 4}

_FAMILIES = {
    **{name: name for name in (*_INTEGERS, *_FLOATS, *_TIMES)},
    **{name: name for name in ("decimal", "bit", "year", "enum", "set", "json", "vector")},
    **{name: name for name in ("char", "varchar", "binary", "varbinary")},
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), "blob"),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon"), "geometry"),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), "geometry"),
    **dict.fromkeys(("geometrycollection", "geomcollection"), "geometry"),
    **dict.fromkeys(_ADDRESSES, "binary"),
}

_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPES = {"0": "\0", "n": "\n", "r": "\r"}


def _text(value: str) -> str:
    """Return a string as SQL has it, whatever its characters are."""
    return f"_utf8mb4 X'{value.encode().hex()}'"


def _family(row: Row) -> str:
    """Return the type of a column as the schema has it."""
    kind = _FAMILIES.get(row["type"] or "", "")
    if row["type"] == "vector" and row["length"] is not None:
        return "varbinary"  # of MariaDB
    return kind


def _schema_column(
    table: str, row: Row, key: Mapping[str, int], collations: Mapping[str, int]
) -> SchemaColumn:
    """Return a column as `table_schema.schema_column` does from the log."""
    name = row["name"] or ""
    kind = _family(row)
    if not kind:
        reason = (
            f"copy of table {table}: column {name} has type {row['type']}, which the envelope has "
            "no form for: exclude the table"
        )
        raise UnsupportedChange(reason)
    definition = row["definition"] or ""
    column: SchemaColumn = {
        "name": name,
        "type": kind,
        "nullable": row["nullable"] == "YES",
        "key": key.get(name, 0),
    }
    if kind in _INTEGERS or kind in _FLOATS or kind == "decimal":
        column["unsigned"] = " unsigned" in definition
    if kind == "decimal":
        column["precision"] = _number(row, "number_digits")
        column["scale"] = _number(row, "scale")
    if kind in _TIMES and kind != "date":
        column["fraction"] = _number(row, "fraction")
    if row["type"] in _ADDRESSES:
        column["length"] = _ADDRESSES[row["type"] or ""]
    elif kind in ("char", "varchar", "binary", "varbinary"):
        column["length"] = _number(row, "length")
    elif kind == "bit":
        column["length"] = _number(row, "number_digits")
    if kind in _TEXTS:
        collation = collations[row["collation"] or ""]
        column["charset"] = charset_of(collation) or ""
        column["collation"] = collation
    if kind in ("enum", "set"):
        column["labels"] = _labels(definition)
    return column


def _number(row: Row, name: str) -> int:
    value = row[name]
    assert value is not None
    return int(value)


def _labels(definition: str) -> list[str]:
    """Return the labels in `enum('a','it''s')`."""
    return [_ESCAPED.sub(_unescaped, label) for label in _LABEL.findall(definition)]


def _unescaped(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    return "'" if escaped is None else _ESCAPES.get(escaped, escaped)


def _key(columns: list[Row], parts: list[Row]) -> dict[str, int]:
    """Return the 1-based place of each column of the key, as the server sees it.

    Without a primary key it is the first unique one of whole columns that cannot be NULL.
    """
    keyed = {row["name"] for row in columns if row["keyed"] == "PRI"}
    keys: dict[str, list[str]] = {}
    for part in parts:
        keys.setdefault(part["name"] or "", []).append(part["column_name"] or "")
    chosen = keys.get("PRIMARY") or next(
        (names for names in keys.values() if set(names) == keyed), []
    )
    return {name: place for place, name in enumerate(chosen, start=1)}


def _collation_ids(session: SelectSession, rows: list[Row]) -> dict[str, int]:
    """Return the numbers of the collations of `rows`, by name."""
    names = {row["collation"] for row in rows if row["collation"] is not None}
    if not names:
        return {}
    listed = ", ".join(_text(name) for name in sorted(names))
    table, column = "collations", "collation_name"
    if session.identity.flavour == "mariadb" and session.query(_FULL_NAMES):
        # From 10.10 on, a collation of several character sets has one name and several numbers.
        table, column = "collation_character_set_applicability", "full_collation_name"
    found = session.query(
        f"SELECT {column} AS name, id AS id FROM information_schema.{table} "  # noqa: S608 - names of our own
        f"WHERE {column} IN ({listed})"
    )
    return {row["name"] or "": int(row["id"] or 0) for row in found}


_FULL_NAMES = """
    SELECT 1 FROM information_schema.columns
    WHERE table_schema = 'information_schema'
      AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'
"""


def _expression(row: Row) -> str:
    """Return what to select, so that the text of the answer is exact."""
    column = quoted_identifier(row["name"] or "")
    kind = row["type"] or ""
    if kind in _ADDRESSES:
        return f"CAST({column} AS BINARY({_ADDRESSES[kind]}))"
    if kind in ("enum", "set"):
        return f"CAST({column} AS UNSIGNED)"
    if kind == "float" or (kind == "double" and "(" in (row["definition"] or "")):
        # A FLOAT prints with six digits, and one with a count of digits with that count.
        return f"{column} + 0e0"
    return column


def _key_columns(
    rows: list[Row],
    columns: tuple[SchemaColumn, ...],
    key_parts: list[Row],
) -> tuple[KeyColumn, ...]:
    # The server makes a unique key with prefixes no primary key of its own accord.
    prefixed = {
        part["column_name"]
        for part in key_parts
        if part["name"] == "PRIMARY" and part["prefix"] is not None
    }
    by_name = {row["name"]: row for row in rows}
    found = sorted((column for column in columns if column["key"]), key=lambda c: c["key"])
    return tuple(
        KeyColumn(
            column["name"],
            quoted_identifier(column["name"]),
            ordered=column["name"] not in prefixed,
            type=column["type"],
            charset=by_name[column["name"]]["charset"] or "",
            address=_address(by_name[column["name"]]),
        )
        for column in found
    )


def _address(row: Row) -> str:
    kind = row["type"] or ""
    return kind.upper() if kind in _ADDRESSES else ""
