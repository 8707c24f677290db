"""Reads `information_schema`: the columns of a table as the log would show them.

It has the same facts as TABLE_MAP with binlog_row_metadata=FULL. So rows of a SELECT have the same
schema, and the same schema id, as rows of the log. One thing is missing: characters beyond the
Basic Multilingual Plane in labels of ENUM and SET, which the servers show as `?`.

*Order of an index.* MariaDB fills CHAR with spaces in an index, and takes them away before an
expression. A collation that does not pad compares these spaces: so the index has `a` + tab before
`a`, and WHERE after it; the index tells `ss` from `ß`, which have other numbers of spaces, and
WHERE takes them for equal. A SELECT of the rows after a key then misses rows. All collations with
NO PAD are like that, also binary ones; VARCHAR and MySQL are not
(`tests/integration/snapshots/test_key_orders.py`).

https://dev.mysql.com/doc/refman/8.4/en/information-schema-columns-table.html
https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-columns-table
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from connector.binlog.character_sets import charset_of
from connector.binlog.sql_text import quoted_name, sql_text
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.source import table_errors
from connector.stream.source.select_session import SelectSession

Row = dict[str, str | None]

# Each of them has a temporary table.
_SELECTS_OF_A_UNION: Final = 100


def unordered_columns(
    session: SelectSession,
    columns: Sequence[Mapping[str, str | None]],
    indexed: Collection[str | None],
) -> frozenset[str | None]:
    """Return the `indexed` columns whose order in an index is another.

    `columns` are those of `information_schema.columns`. Raises the errors of the session.
    """
    if session.identity.flavour != "mariadb":
        return frozenset()
    text_columns = [row for row in columns if row["type"] == "char" and row["name"] in indexed]
    unpadded = {
        collation
        for charset, collation in {(row["charset"], row["collation"]) for row in text_columns}
        if not _pads(session, charset or "", collation or "")
    }
    return frozenset(row["name"] for row in text_columns if row["collation"] in unpadded)


def _pads(session: SelectSession, charset: str, collation: str) -> bool:
    """Return whether a collation compares texts as if the shorter one ended with spaces."""
    texts = (
        f"CONVERT(_latin1 '{text}' USING {charset}) COLLATE {collation}" for text in ("a", "a ")
    )
    (answer,) = session.query(f"SELECT {' = '.join(texts)} AS pads")
    return answer["pads"] == "1"


class TableMissing(SourceRefused):
    """The table does not exist now, or the account may not read it."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """The columns of a table that a SELECT can name, in the order of the log, and its key."""

    columns: list[Row]  # see _COLUMNS
    key: dict[str, int]  # the 1-based number of each column of the key
    prefixed: frozenset[str | None]  # columns of which the key has only the beginning
    unique: frozenset[str | None]  # columns that alone are a unique key
    # Columns that an index has in another order than WHERE compares them, or may have.
    unordered: frozenset[str | None]
    collations: dict[str, int]  # collation numbers, by name
    mariadb: bool
    hidden: tuple[SchemaColumn, ...] = ()  # further columns of the log, which no SELECT shows

    def schema_columns(self) -> tuple[SchemaColumn, ...]:
        """Return the columns as `table_schema.schema_column` does from the log.

        Raises UnsupportedChange for a type that the envelope has no form for.
        """
        return tuple(self._schema_column(row) for row in self.columns)

    def _schema_column(self, row: Row) -> SchemaColumn:
        name, definition = row["name"] or "", row["definition"] or ""
        kind = self._family(row)
        column: SchemaColumn = {
            "name": name,
            "type": kind,
            "nullable": row["nullable"] == "YES",
            "key": self.key.get(name, 0),
        }
        if kind in _WITH_SIGN:
            column["unsigned"] = " unsigned" in definition
        if kind == "decimal":
            column["precision"] = _number(row, "digits")
            column["scale"] = _number(row, "scale")
        if kind in ("datetime", "timestamp", "time"):
            column["fraction"] = _number(row, "fraction")
        if row["type"] in PACKED_TYPES:
            column["length"] = PACKED_TYPES[row["type"] or ""]
        elif kind in ("char", "varchar", "binary", "varbinary"):
            column["length"] = _number(row, "length")
        elif kind == "bit":
            column["length"] = _number(row, "digits")
        if kind in ("char", "varchar", "text"):
            collation = self.collations[row["collation"] or ""]
            column["charset"] = charset_of(collation, mariadb=self.mariadb) or ""
            column["collation"] = collation
        if kind in ("enum", "set"):
            column["labels"] = read_labels(definition)
        return column

    def _family(self, row: Row) -> str:
        """Return the type of a column in the words of the schema."""
        if row["type"] == "vector" and self.mariadb:
            return "varbinary"
        kind = _FAMILIES.get(row["type"] or "")
        if kind is None:
            raise UnsupportedChange(record_errors.NO_FORM, column=row["name"], type=row["type"])
        return kind


def read_definition(session: SelectSession, database: str, table: str) -> TableDefinition:
    """Read a table's definition from the server.

    Raises TableMissing if there is no such table that the account may read, SourceRefused for a
    view or a sequence, UnsupportedChange if rows of a SELECT cannot have the columns that the log
    has.
    """
    name = f"{database}.{table}"
    where = f"table_schema = {sql_text(database)} AND table_name = {sql_text(table)}"
    kinds = session.query(_TABLE.format(where=where))
    columns = session.query(_COLUMNS.format(where=where))
    if not kinds or not columns:
        raise TableMissing(
            table_errors.TABLE_MISSING, server=session.name, table=name, database=database
        )
    if "VIEW" in (kinds[0]["type"] or ""):
        raise SourceRefused(table_errors.VIEW, server=session.name, table=name)
    if kinds[0]["type"] == "SEQUENCE":
        raise SourceRefused(table_errors.SEQUENCE, server=session.name, table=name)
    indexes = _unique_indexes(session, database, table)
    return _definition(session, kinds[0], columns, indexes, _collation_ids(session, columns))


def _unique_indexes(session: SelectSession, database: str, table: str) -> list[Row]:
    rows = session.query(f"SHOW INDEX FROM {quoted_name(database, table)}")
    return [row for row in rows if row["Non_unique"] == "0"]


def by_database(names: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the tables of (database, table) by database, each for one of the questions here."""
    tables: dict[str, list[str]] = {}
    for database, table in names:
        tables.setdefault(database, []).append(table)
    return tables


def read_definitions(
    session: SelectSession, database: str, tables: Collection[str]
) -> dict[str, TableDefinition]:
    """Return the definitions of the base tables among some tables of a database, by name.

    Only what other kinds of tables need is read one by one. Raises the errors of the session.
    """
    kinds = rows_by_table(session, _TABLE, "1", database, tables)
    columns = rows_by_table(session, _COLUMNS, "ordinal_position", database, tables)
    indexes = rows_by_table(session, _INDEXES, "seq_in_index", database, tables)
    collations = _collation_ids(session, [row for rows in columns.values() for row in rows])
    definitions = {}
    for name, (kind,) in kinds.items():
        unique = [row for row in indexes.get(name, []) if row["Non_unique"] == "0"]
        if kind["type"] != "BASE TABLE" or name not in columns:
            continue
        if {row["Key_name"] for row in unique} - {"PRIMARY"}:
            # SHOW INDEX says which of several keys comes first.
            unique = _unique_indexes(session, database, name)
        definitions[name] = _definition(session, kind, columns[name], unique, collations)
    return definitions


def rows_by_table(
    session: SelectSession, select: str, place: str, database: str, tables: Collection[str]
) -> dict[str, list[Row]]:
    """Return the rows of `select` by the name of their table, in the order of `place`.

    `select` ends with WHERE {where}. Raises the errors of the session.
    """
    begin = select.partition("WHERE")[0]
    begin = begin.replace("SELECT", f"SELECT table_name AS of_table, {place} AS place,", 1)
    begin += f"WHERE table_schema = {sql_text(database)} AND table_name"
    texts = [sql_text(table) for table in tables]
    if session.identity.flavour == "mariadb":
        # It looks at all tables of the database, unless a condition names one.
        selects = [f"{begin} = {text}" for text in texts]
        starts = range(0, len(selects), _SELECTS_OF_A_UNION)
        queries = [" UNION ALL ".join(selects[at : at + _SELECTS_OF_A_UNION]) for at in starts]
    else:
        queries = [f"{begin} IN ({', '.join(texts)})"]
    rows = [row for sql in queries for row in session.query(sql)]
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row.pop("place") or 0)):
        found.setdefault(row.pop("of_table") or "", []).append(row)
    return found


def _definition(
    session: SelectSession,
    kind: Row,
    columns: list[Row],
    indexes: list[Row],
    collations: dict[str, int],
) -> TableDefinition:
    """Return the definition of a table; `indexes` are the columns of its unique keys."""
    key = _key(columns, indexes)
    if kind["type"] == "SYSTEM VERSIONED" and not any(
        row["computed_as"] == "ROW START" for row in columns
    ):
        columns += _PERIOD
        # The period's end makes keys of rows of the past.
        key = {**key, "row_end": len(key) + 1} if key else key
    return TableDefinition(
        columns,
        key,
        # The server takes no other key with prefixes for a primary one.
        frozenset(
            row["Column_name"]
            for row in indexes
            if row["Key_name"] == "PRIMARY" and row["Sub_part"] is not None
        ),
        _unique(indexes),
        unordered_columns(session, columns, {row["Column_name"] for row in indexes}),
        collations,
        mariadb=session.identity.flavour == "mariadb",
        # MEMORY has hash indexes of another kind.
        hidden=_hashes(columns, indexes) if kind["engine"] != "MEMORY" else (),
    )


def _hashes(columns: list[Row], indexes: list[Row]) -> tuple[SchemaColumn, ...]:
    """Return the columns in which MariaDB keeps the hashes of long unique keys."""
    taken = {(row["name"] or "").upper() for row in columns}
    names = (name for n in count(1) if (name := f"DB_ROW_HASH_{n}") not in taken)
    keys: dict[str | None, bool] = {}
    for row in indexes:
        if row["Index_type"] == "HASH":
            keys[row["Key_name"]] = keys.get(row["Key_name"], False) or row["Null"] == "YES"
    return tuple(
        SchemaColumn(name=name, type="bigint", nullable=nullable, key=0, unsigned=True)
        for name, nullable in zip(names, keys.values(), strict=False)
    )


def _unique(indexes: list[Row]) -> frozenset[str | None]:
    """Return the columns of unique indexes that have one column, and whole values."""
    parts = Counter(row["Key_name"] for row in indexes)
    return frozenset(
        row["Column_name"]
        for row in indexes
        if parts[row["Key_name"]] == 1 and row["Sub_part"] is None
    )


def read_labels(definition: str) -> list[str]:
    """Return the labels in `enum('a','it''s')`."""
    return [_ESCAPED.sub(_unescaped, label) for label in _LABEL.findall(definition)]


_TABLE = """
    SELECT table_type AS type, engine AS engine FROM information_schema.tables WHERE {where}
"""

_COLUMNS = """
    SELECT column_name AS name, data_type AS type, column_type AS definition,
      is_nullable AS nullable, character_octet_length AS length, numeric_precision AS digits,
      numeric_scale AS scale, datetime_precision AS fraction, character_set_name AS charset,
      collation_name AS collation, column_key AS keyed, generation_expression AS computed_as
    FROM information_schema.columns WHERE {where} ORDER BY ordinal_position
"""

# As SHOW INDEX has them.
_INDEXES = """
    SELECT non_unique AS Non_unique, index_name AS Key_name, column_name AS Column_name,
      sub_part AS Sub_part, nullable AS `Null`, index_type AS Index_type
    FROM information_schema.statistics WHERE {where}
"""

# The columns that WITH SYSTEM VERSIONING adds, and does not show.
_PERIOD: list[Row] = [
    {
        **dict.fromkeys(("length", "digits", "scale", "charset", "collation", "keyed"), None),
        "name": name,
        "type": "timestamp",
        "definition": "timestamp(6)",
        "nullable": "NO",
        "fraction": "6",
        "computed_as": computed_as,
    }
    for name, computed_as in (("row_start", "ROW START"), ("row_end", "ROW END"))
]

# MariaDB's types that the log has as BINARY: name to bytes.
PACKED_TYPES = {"uuid": 16, "inet6": 16, "inet4": 4}

_WITH_SIGN = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double"}
)
_FAMILIES: dict[str, str] = {
    **{name: name for name in _WITH_SIGN},
    **{name: name for name in ("date", "datetime", "timestamp", "time", "year", "bit")},
    **{name: name for name in ("char", "varchar", "binary", "varbinary")},
    **{name: name for name in ("enum", "set", "json", "vector")},
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), "blob"),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon"), "geometry"),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon"), "geometry"),
    **dict.fromkeys(("geometrycollection", "geomcollection"), "geometry"),
    **dict.fromkeys(PACKED_TYPES, "binary"),
}

_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPES = {"0": "\0", "n": "\n", "r": "\r"}


def _unescaped(match: re.Match[str]) -> str:
    escaped: str | None = match[1]
    return "'" if escaped is None else _ESCAPES.get(escaped, escaped)


def _number(row: Row, name: str) -> int:
    value = row[name]
    assert value is not None
    return int(value)


def _key(columns: list[Row], indexes: list[Row]) -> dict[str, int]:
    """Return the 1-based number of each column of the key.

    If there is no primary key, the server takes the first unique key of whole columns that cannot
    be NULL, and marks its columns in the same way.
    """
    keyed = {row["name"] for row in columns if row["keyed"] == "PRI"}
    keys: dict[str | None, list[str]] = {}
    for part in indexes:
        keys.setdefault(part["Key_name"], []).append(part["Column_name"] or "")
    keys_of_all = (names for names in keys.values() if set(names) == keyed)
    return {name: number for number, name in enumerate(next(keys_of_all, []), start=1)}


_FULL_NAMES = """
    SELECT 1 FROM information_schema.columns
    WHERE table_schema = 'information_schema'
      AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND column_name = 'ID'
"""


def _collation_ids(session: SelectSession, columns: list[Row]) -> dict[str, int]:
    """Return the numbers of the collations of `columns`, by name."""
    names = {row["collation"] for row in columns if row["collation"] is not None}
    if not names:
        return {}
    listed = ", ".join(sql_text(name) for name in sorted(names))
    table, column = "collations", "collation_name"
    if session.identity.flavour == "mariadb" and session.query(_FULL_NAMES):
        # From 10.10 on, a collation of several character sets has one name and several numbers.
        table, column = "collation_character_set_applicability", "full_collation_name"
    rows = session.query(
        f"SELECT {column} AS name, id AS id FROM information_schema.{table} "  # noqa: S608 - names of our own
        f"WHERE {column} IN ({listed})"
    )
    return {row["name"] or "": int(row["id"] or 0) for row in rows}
