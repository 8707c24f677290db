"""The tables of a source with their engines, as far as its account sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from connector.changes.table_filter import SYSTEM_DATABASES, TableFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

# The databases of the server itself, as a list in SQL.
SYSTEM_LIST: Final = ", ".join(f"'{name}'" for name in sorted(SYSTEM_DATABASES))
_TABLES = """
    SELECT table_schema AS db, table_name AS name, engine AS engine FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY table_schema, table_name
"""


class BaseTable(NamedTuple):
    """A table that is no view."""

    database: str
    name: str
    engine: str  # "" if the server cannot open the table


def base_tables(server: MysqlServer) -> list[BaseTable]:
    """Return all tables. Raises SourceUnavailable or SourceRefused."""
    return [
        BaseTable(str(row["db"]), str(row["name"]), str(row["engine"] or ""))
        for row in server.query(_TABLES)
    ]


def ignores_case(server: MysqlServer) -> bool:
    """Return whether the server takes names of tables for the same that differ in case."""
    return server.variable("lower_case_table_names") in ("1", "2")


def followed_by(server: MysqlServer, settings: SourceSettings) -> TableFilter:
    """Return the filter of the followed tables of a server."""
    return TableFilter(settings.tables, settings.exclude_tables, ignores_case=ignores_case(server))


def are_hidden(tables: Sequence[BaseTable]) -> bool:
    """Return whether the account sees no tables but those of the server itself."""
    return all(table.database in SYSTEM_DATABASES for table in tables)
