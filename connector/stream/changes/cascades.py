"""Cascades: changes by foreign keys in other tables, which the log does not have.

The keys are read from the server: they are those of log position C, and the stream is at S, before
it. A key that was dropped between S and C is not among them. So after a statement before C that
may have dropped or moved a key, the tables that it names count as changed. Keys that were added
between S and C only bring copies that nobody needs. After each statement that may change keys,
they are read again.

The rows wait until they are copied. The progress record keeps their terms, so a restart between a
change of a parent and the copies of its children loses nothing.

https://dev.mysql.com/doc/refman/8.4/en/create-table-foreign-keys.html
"""

from typing import Final, final

from mypy_extensions import mypyc_attr

from connector.binlog.events import rows_header
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.sql_text import TableName
from connector.binlog.statement import Statement, StatementKind
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import DecodeError
from connector.stream.changes.foreign_keys import ANY_ROW, UNKNOWN, WHOLE, ForeignKeys, new_values

_NOTHING_HIDDEN: Final = rows_header.NO_FOREIGN_KEY_CHECKS_F | rows_header.USE_SQL_FOREIGN_KEY_F
# ALTER TABLE without any of these changes no foreign key, and no name that one has.
_WORDS_OF_ALTER: Final = (
    "FOREIGN", "REFERENCES", "CONSTRAINT", "RENAME", "CHANGE", "PRIMARY",
)  # fmt: skip


@final
class ForeignKeySnapshot:
    """The foreign keys that a server had when its log ended at `position` of a file."""

    def __init__(self, keys: ForeignKeys, file_number: int, position: int, *, logged: bool) -> None:
        """`logged` says that the server writes to its log what the keys cascade.

        The number of a file is at the end of its name.
        """
        self.keys = keys
        self.end = file_number, position
        self.logged = logged


@mypyc_attr(allow_interpreted_subclasses=True)
class ForeignKeySource:
    """The server that knows the foreign keys; this base class knows none."""

    def learn(self, altered: list[TableName]) -> ForeignKeySnapshot:
        """Return the keys of now, with the effect of statements on the tables `altered`.

        Raises SourceUnavailable or SourceRefused.
        """
        del altered
        return ForeignKeySnapshot(ForeignKeys(), 0, 0, logged=True)


def hidden_children(snapshot: ForeignKeySnapshot, tables: TableFilter) -> list[TableName]:
    """Return the followed `tables` whose rows the server changes without a trace in its log."""
    if snapshot.logged:
        return []
    keys = snapshot.keys
    children = {table for parent in keys.parents for table in keys.reached(parent)}
    return sorted(table for table in children if tables.follows(*table))


@final
class Cascades:
    """What the changes of one stream cascade to followed tables."""

    def __init__(self, tables: TableFilter, source: ForeignKeySource, rows: "CascadedRows") -> None:
        """Learn the keys; from now on, `tables` also has their parents read.

        The changed rows go to `rows`. Raises the errors of `source`.
        """
        self.rows = rows
        # Tables of statements that may have changed keys since these were read.
        self._altered: list[TableName] = []
        self._tables = tables
        self._source = source
        self._learned = ForeignKeySnapshot(ForeignKeys(), 0, 0, logged=True)
        self._after_delete: dict[TableName, dict[TableName, set[str]]] = {}
        # The previous table map, because the next one mostly is the same.
        self._table_map: TableMapEvent | None = None
        self._name: TableName = ("", "")
        self._is_followed = False
        self._is_parent = False
        self.learn()

    @property
    def outdated(self) -> bool:
        """Whether the keys must be read again, after the current transaction."""
        return len(self._altered) > 0

    @property
    def hidden_children(self) -> list[TableName]:
        """The followed tables whose rows the server changes without a trace in its log."""
        return hidden_children(self._learned, self._tables)

    def learn(self) -> None:
        """Read the keys again. Raises the errors of the source."""
        # The name of a database says that all its tables are gone.
        altered = [table for table in self._altered if table[1]]
        self._learned = learned = self._source.learn(altered)
        keys = learned.keys
        parents = {
            parent
            for parent in keys.parents
            if any(self._tables.follows(*table) for table in keys.reached(parent))
        }
        self._tables.parents = frozenset(parents)
        self._after_delete = {parent: keys.after_delete(parent) for parent in parents}
        self._table_map = None
        self._altered = []

    def publishes(self, table_map: TableMapEvent) -> bool:
        """Return whether rows of this table are published, and not only read for their keys."""
        if table_map is not self._table_map:
            self._table_map = table_map
            self._name = table_map.schema, table_map.table
            self._is_followed = self._tables.follows(table_map.schema, table_map.table)
            self._is_parent = self._name in self._after_delete
        return self._is_followed

    def take(self, rows: RowsEvent) -> None:
        """Note what changed rows have cascaded."""
        self.publishes(rows.table_map)
        if (
            self._is_parent
            and rows.kind is not rows_header.INSERT
            and not rows.flags & _NOTHING_HIDDEN
        ):
            if rows.kind is rows_header.DELETE:
                self._add(self._after_delete[self._name])
            else:
                self._update(rows)

    def statement(self, statement: Statement, query: str, file_number: int, position: int) -> None:
        """Note a statement, on any tables, whose event is at `position` of a file."""
        if (
            not statement.tables
            or not statement.kind.changes_columns
            or statement.kind is StatementKind.INDEX
        ):
            return
        words = query.upper()
        ends_tables = statement.kind.ends_tables
        if not ends_tables:
            altered = statement.kind is StatementKind.ALTER_TABLE
            of_keys = _WORDS_OF_ALTER if altered else ("REFERENCES",)
            if not any(word in words for word in of_keys):
                return
        if (file_number, position) < self._learned.end:
            drops = not ends_tables and "DROP" in words
            if drops and ("FOREIGN" in words or "CONSTRAINT" in words):
                for name in statement.tables:
                    if self._tables.follows(*name):
                        self.rows.add(name, {WHOLE})
                self._doubt(statement.tables)
            elif ends_tables or statement.renames:
                self._doubt(statement.tables)
        self._altered += statement.tables

    def _doubt(self, tables: list[TableName]) -> None:
        """Have the rows copied that keys may have changed which the server no longer has."""
        keys = self._learned.keys
        for database, table in tables:
            for parent in keys.parents:
                if parent[0] == database and table in ("", parent[1]):
                    self._add(keys.after_delete(parent))

    def _add(self, terms: dict[TableName, set[str]]) -> None:
        for table, conditions in terms.items():
            if self._tables.follows(*table):
                self.rows.add(table, conditions)

    def _update(self, rows: RowsEvent) -> None:
        keys = self._learned.keys
        columns = keys.referenced_columns(self._name)
        if not columns:
            return
        names = [(column.name or "").lower() for column in rows.table_map.columns]
        if not all(name in names for name in columns):
            # The log does not name its columns, or the keys are of a later time.
            self._add(keys.after_update(self._name, dict.fromkeys(columns, UNKNOWN)))
            return
        indexes = {names.index(name): name for name in columns}
        try:
            for values in new_values(rows, indexes):
                self._add(keys.after_update(self._name, values))
        except DecodeError:
            # What follows reports it, if the table is published.
            self._add(keys.after_update(self._name, dict.fromkeys(columns, UNKNOWN)))


# With more, the condition of a copy would be as slow as a copy of all rows.
_TERMS_MAX: Final = 64
_CHARACTERS_MAX: Final = 4000


@final
class CascadedRows:
    """For each table, the terms that its changed rows meet: see `foreign_keys`."""

    def __init__(self) -> None:
        self._terms: dict[TableName, set[str]] = {}

    def count(self) -> int:
        """Return how many tables have such rows."""
        return len(self._terms)

    @property
    def tables(self) -> list[TableName]:
        """The tables that have such rows."""
        return list(self._terms)

    def add(self, table: TableName, terms: set[str]) -> None:
        """Add rows of a table."""
        known = self._terms.get(table)
        if known is None:
            known = self._terms[table] = set()
        elif terms <= known or WHOLE in known:
            return
        known |= terms
        if WHOLE in known:
            self._terms[table] = {WHOLE}
        elif ANY_ROW in known or len(known) > _TERMS_MAX or sum(map(len, known)) > _CHARACTERS_MAX:
            self._terms[table] = {ANY_ROW}

    def take(self, table: TableName) -> str:
        """Drop the rows of a table, and return their condition: `WHOLE`, or SQL."""
        return " OR ".join(
            f"({term})" if term else WHOLE for term in sorted(self._terms.pop(table))
        )

    def forget(self, database: str, table: str) -> None:
        """Drop the rows of a table that is gone; "" means each table of the database."""
        for name in self.tables:
            if name[0] == database and table in ("", name[1]):
                del self._terms[name]

    def to_record(self) -> dict[str, dict[str, list[str]]]:
        """Return the terms as a JSON object, by database and table."""
        record: dict[str, dict[str, list[str]]] = {}
        for (database, table), terms in self._terms.items():
            record.setdefault(database, {})[table] = sorted(terms)
        return record

    @staticmethod
    def of_record(record: dict[str, dict[str, list[str]]]) -> "CascadedRows":
        """Return the rows of which `to_record` returned the terms."""
        rows = CascadedRows()
        for database, tables in record.items():
            for table, terms in tables.items():
                rows.add((database, table), set(terms))
        return rows
