"""Which tables are followed: `database.table` patterns with `*`, `?` and `[…]`.

Helper tables of gh-ost and pt-online-schema-change for a followed table are not followed, unless a
pattern names them without a wildcard. What reads a log for people, or for one job, follows them all
the same: tables of applications can have such names, too.

Neither are sequences of MariaDB. The server keeps a sequence as a table of one row, and logs each
new state as an INSERT. `CREATE SEQUENCE` and the statements after it do not say more, so a sequence
is known by its columns, which no other table has.

https://mariadb.com/docs/server/reference/sql-structure/sequences/sequence-overview
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import mypyc_attr

from connector.binlog import argument_errors
from connector.foundation.errors import ConfigError

if TYPE_CHECKING:
    from connector.binlog.events.table_map import TableMapEvent


_COLUMNS: Final = (
    "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment",
    "cache_size", "cycle_option", "cycle_count",
)  # fmt: skip


def is_sequence(table_map: TableMapEvent) -> bool:
    """Return whether the log names the columns of a sequence, in their order."""
    columns = table_map.columns
    return len(columns) == len(_COLUMNS) and all(
        column.name == name and not column.nullable and not column.primary_key
        for column, name in zip(columns, _COLUMNS, strict=True)
    )


# Names are small and few; but a source that creates tables all the time must not fill the memory.
_KNOWN_MAX: Final = 10_000

_ANY: Final = frozenset("*?[")
_EVERY: Final = "*"

_GHOST = re.compile(r"([_~])(.+?)(?:_\d{14})?_(gho|ghc|del)", re.DOTALL)
_PERCONA = re.compile(r"(_+)(.+)_(new|old)", re.DOTALL)

# The servers keep their internal state here; it is not replicated data.
SYSTEM_DATABASES = frozenset({"information_schema", "mysql", "performance_schema", "sys"})


@mypyc_attr(allow_interpreted_subclasses=True)
class TableListener:
    """Gets each fact about a table that is not published; this base class does nothing."""

    def table_left_out(self, database: str, table: str) -> None:
        """A table is not followed, because an online schema change created it."""

    def sequence_left_out(self, database: str, table: str) -> None:
        """Rows of a followed name are the state of a sequence, and are not published."""


@final
class TableFilter:
    """Decides, once for each table, whether its changes are published."""

    def __init__(
        self,
        include: Sequence[str],
        exclude: Sequence[str] = (),
        listener: TableListener | None = None,
        *,
        databases: Sequence[str] = (),
        ignores_case: bool = False,
        lower_case_names: bool = False,
        helper_tables: bool = False,
    ) -> None:
        """Follow tables that match a pattern of `include` and none of `exclude`.

        `databases` are patterns of databases, whose tables are all followed; a dot is part of the
        name. With `helper_tables`, tables of online schema changes are not left out. System
        databases match only a pattern that names them without a wildcard. `listener` hears
        of tables of online schema changes. With `ignores_case`, the server does not tell names by
        their case, and neither do the patterns; with `lower_case_names`, it keeps them in lower
        case, too. Raises ConfigError for what is no pattern.
        """
        self._ignores_case = ignores_case
        self._lower_case_names = lower_case_names
        if ignores_case:
            include = [pattern.lower() for pattern in include]
            exclude = [pattern.lower() for pattern in exclude]
            databases = [pattern.lower() for pattern in databases]
        self._include = [_split(pattern) for pattern in include]
        self._include += [(database, _EVERY) for database in databases]
        self._helper_tables = helper_tables
        # Settings may name thousands of tables one by one.
        self._names, self._patterns = _divided(self._include)
        self._excluded_names, self._excluded = _divided([_split(pattern) for pattern in exclude])
        self._known: dict[tuple[str, str], bool] = {}
        self._asked = include, exclude, databases
        # The same patterns for names in any case; None until a statement needs it.
        self._any_case: TableFilter | None = None
        # Sequences that the listener has heard of.
        self._sequences: dict[tuple[str, str], None] = {}
        # Tables whose changes foreign keys may cascade to followed ones.
        self.parents: frozenset[tuple[str, str]] = frozenset()
        self._listener = TableListener() if listener is None else listener

    def follows(self, database: str, table: str) -> bool:
        """Return whether changes of `database.table` are published."""
        name = (database, table)
        followed = self._known.get(name)
        if followed is None:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            followed = self._known[name] = self._decide(database, table)
        return followed

    def logged_name(self, database: str, table: str) -> tuple[str, str]:
        """Return what the log calls a table that a user names.

        Topics, columns that are left out and masks are chosen by that name.
        """
        if self._lower_case_names:
            return database.lower(), table.lower()
        return database, table

    def same_name(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        """Return whether the server takes two names for those of one table."""
        if self._ignores_case:
            return one[0].lower() == other[0].lower() and one[1].lower() == other[1].lower()
        return one == other

    def may_name(self, database: str, table: str) -> bool:
        """Return whether a statement that names `database.table` may concern a followed table.

        A server with lower_case_table_names=1 logs a statement as the client wrote it, and rows
        under the name in lower case; so here, names in any letter case match. Table "" is the whole
        database.
        """
        if self.follows(database, table) if table else self.may_follow_database(database):
            return True
        if self._ignores_case:
            return False
        any_case = self._any_case
        if any_case is None:
            include, exclude, databases = self._asked
            any_case = self._any_case = TableFilter(
                include,
                exclude,
                databases=databases,
                ignores_case=True,
                helper_tables=self._helper_tables,
            )
        return any_case.may_name(database, table)

    def reads(self, database: str, table: str) -> bool:
        """Return whether changes of `database.table` are read, published or not."""
        return self.follows(database, table) or (database, table) in self.parents

    def reads_rows(self, table_map: TableMapEvent) -> bool:
        """Return whether rows with a table map are read; the state of a sequence is not."""
        database, table = table_map.schema, table_map.table
        if not self.reads(database, table):
            return False
        if not is_sequence(table_map):
            return True
        if (database, table) not in self._sequences:
            if len(self._sequences) >= _KNOWN_MAX:
                self._sequences.clear()
            self._sequences[database, table] = None
            self._listener.sequence_left_out(database, table)
        return False

    def unmatched_names(self, tables: Iterable[tuple[str, str]]) -> list[str]:
        """Return the patterns without a wildcard that match none of these tables."""
        names = set(tables)
        if self._ignores_case:
            names = {(database.lower(), table.lower()) for database, table in names}
        return [
            f"{database}.{table}"
            for database, table in self._include
            if (database, table) in self._names and (database, table) not in names
        ]

    def may_follow_database(self, database: str) -> bool:
        """Return whether some table of `database` could be followed."""
        if self._ignores_case:
            database = database.lower()
        return any(_database_matches(database, pattern) for pattern, _ in self._include)

    def _decide(self, database: str, table: str) -> bool:
        if self._ignores_case:
            database, table = database.lower(), table.lower()
        if not self._matches(database, table):
            return False
        if self._helper_tables or (database, table) in self._names:
            return True
        if any(name == table and _database_matches(database, of) for of, name in self._patterns):
            return True
        if any(self._matches(database, original) for original in named_after(table)):
            self._listener.table_left_out(database, table)
            return False
        return True

    def _matches(self, database: str, table: str) -> bool:
        included = (database, table) in self._names or any(
            _database_matches(database, database_pattern) and fnmatchcase(table, table_pattern)
            for database_pattern, table_pattern in self._patterns
        )
        if not included or (database, table) in self._excluded_names:
            return False
        return not any(
            fnmatchcase(database, database_pattern) and fnmatchcase(table, table_pattern)
            for database_pattern, table_pattern in self._excluded
        )


def named_after(table: str) -> list[str]:
    """Return the tables that the name of such a tool's table can refer to; none for other names."""
    ghost = _GHOST.fullmatch(table)
    if ghost is not None:
        return [ghost[2]]
    percona = _PERCONA.fullmatch(table)
    if percona is None:
        return []
    # Leading underscores may belong to the original table's name.
    return ["_" * kept + percona[2] for kept in range(len(percona[1]))]


def _split(pattern: str) -> tuple[str, str]:
    database, _, table = pattern.partition(".")
    if not database or not table:
        raise ConfigError(argument_errors.TABLE_PATTERN, pattern=pattern)
    return database, table


def _divided(
    patterns: Sequence[tuple[str, str]],
) -> tuple[frozenset[tuple[str, str]], list[tuple[str, str]]]:
    """Return the names of tables among patterns, and the patterns that have a wildcard."""
    names = frozenset(own for own in patterns if not any(map(has_wildcard, own)))
    return names, [own for own in patterns if own not in names]


def has_wildcard(pattern: str) -> bool:
    """Return whether a pattern matches more than what is equal to it."""
    return not _ANY.isdisjoint(pattern)


def _database_matches(database: str, pattern: str) -> bool:
    if database.lower() in SYSTEM_DATABASES:
        return database == pattern
    return fnmatchcase(database, pattern)
