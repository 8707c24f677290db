"""What a database holds, as its server says: the statements of a run are made for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

_TABLES = (
    "SELECT table_name, table_type, COALESCE(create_options, '') FROM information_schema.tables "
    "WHERE table_schema = %s ORDER BY table_name"
)
_COLUMNS = (
    "SELECT table_name, column_name, column_type, extra FROM information_schema.columns "
    "WHERE table_schema = %s ORDER BY table_name, ordinal_position"
)
_KEYS = (
    "SELECT table_name, column_name FROM information_schema.statistics "
    "WHERE table_schema = %s AND index_name = 'PRIMARY' ORDER BY table_name, seq_in_index"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its type is that of `information_schema`, such as `int(11)`."""

    name: str
    kind: str
    is_generated: bool = False
    counts: bool = False  # AUTO_INCREMENT


@dataclass(frozen=True, slots=True)
class Shape:
    """A base table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    is_partitioned: bool = False

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The tables of a database, and what has a name like theirs and is no table."""

    tables: dict[str, Shape] = field(default_factory=dict)
    views: frozenset[str] = frozenset()
    sequences: frozenset[str] = frozenset()


def catalogue_of(cursor: Cursor, database: str) -> Catalogue:
    """Return what a database holds now."""
    columns: dict[str, list[Column]] = {}
    for table, name, kind, extra in _rows(cursor, _COLUMNS, database):
        said = extra.upper()
        columns.setdefault(table, []).append(
            Column(
                name,
                kind.lower(),
                is_generated=any(word in said for word in ("VIRTUAL", "STORED", "PERSISTENT")),
                counts="AUTO_INCREMENT" in said,
            )
        )
    keys: dict[str, list[str]] = {}
    for table, name in _rows(cursor, _KEYS, database):
        keys.setdefault(table, []).append(name)
    found = _rows(cursor, _TABLES, database)
    return Catalogue(
        {
            name: Shape(
                name,
                tuple(columns.get(name, ())),
                tuple(keys.get(name, ())),
                "partitioned" in options.lower(),
            )
            for name, kind, options in found
            # MariaDB has a type of its own for tables that keep their versions.
            if kind in ("BASE TABLE", "SYSTEM VERSIONED")
        },
        frozenset(name for name, kind, _ in found if kind == "VIEW"),
        frozenset(name for name, kind, _ in found if kind == "SEQUENCE"),
    )


def _rows(cursor: Cursor, statement: str, database: str) -> list[tuple[str, ...]]:
    cursor.execute(statement, (database,))
    return [tuple(map(str, row)) for row in cursor.fetchall()]
