"""The tables of a source that the stream follows, and the columns that settings name in them.

An account sees only the tables that it has a right to. For each pattern of columns that are left
out, kept or masked, a check says whether such columns exist.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from connector.binlog.sql_text import sql_text
from connector.binlog.table_filter import SYSTEM_DATABASES, TableFilter
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.foundation.errors.message import Message
from connector.foundation.settings.configuration import source_in_lower_case
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import ServerIdentity
from connector.stream.source import setup_errors
from connector.stream.source.findings import Finding, Severity
from connector.stream.source.record_options import column_choice
from connector.stream.source.select_session import SelectSession

# The databases of the server itself, as a list in SQL.
SYSTEM_LIST: Final = ", ".join(f"'{name}'" for name in sorted(SYSTEM_DATABASES))
_TABLES = """
    SELECT table_schema AS db, table_name AS name, engine AS engine FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
"""
_ORDER = " ORDER BY table_schema, table_name"


class BaseTable(NamedTuple):
    """A table that is no view."""

    database: str
    name: str
    engine: str  # "" if the server cannot open the table


def base_tables(server: MysqlServer) -> list[BaseTable]:
    """Return all tables. Raises SourceUnavailable or SourceRefused."""
    return [
        BaseTable(str(row["db"]), str(row["name"]), str(row["engine"] or ""))
        for row in server.query(_TABLES + _ORDER)
    ]


def tables_of(settings: SourceSettings, identity: ServerIdentity, database: str) -> list[str]:
    """Return the tables of a database that the account sees at the server `identity`.

    Raises SourceUnavailable or SourceRefused.
    """
    with SelectSession.on(identity, settings) as session:
        rows = session.query(f"{_TABLES} AND table_schema = {sql_text(database)}")
    return [row["name"] or "" for row in rows]


def ignores_case(server: MysqlServer) -> bool:
    """Return whether the server takes names of tables for the same that differ in case."""
    return server.variable("lower_case_table_names") in ("1", "2")


def followed_table_filter(server: MysqlServer, settings: SourceSettings) -> TableFilter:
    """Return the filter of the followed tables of a server."""
    return TableFilter(settings.tables, settings.exclude_tables, ignores_case=ignores_case(server))


def sees_no_tables(tables: Sequence[BaseTable]) -> bool:
    """Return whether the account sees no tables but those of the server itself."""
    return all(table.database in SYSTEM_DATABASES for table in tables)


COLUMNS_QUERY: Final = f"""
    SELECT table_schema AS db, table_name AS name, column_name AS part, data_type AS type,
      column_key = 'PRI' AS keyed
    FROM information_schema.columns WHERE table_schema NOT IN ({SYSTEM_LIST})
    ORDER BY table_schema, table_name, ordinal_position
"""  # noqa: S608 - constants
_TEXTS: Final = frozenset({"tinytext", "mediumtext", "longtext"})


def check_columns(
    server: MysqlServer, settings: SourceSettings, severity: Severity
) -> Iterator[Finding]:
    """Yield a finding for each pattern of columns, and for each table that does not fit them.

    Raises SourceUnavailable if the connection breaks.
    """
    chosen = column_choice(source_in_lower_case(settings) if ignores_case(server) else settings)
    if chosen is None:
        return
    followed = followed_table_filter(server, settings)
    tables: dict[tuple[str, str], list[SchemaColumn]] = {}
    for row in server.query(COLUMNS_QUERY):
        place = str(row["db"]), str(row["name"])
        if followed.follows(*place) and chosen.hides(*place):
            tables.setdefault(place, []).append(_column(row))
    for pattern in chosen.patterns:
        count = sum(
            pattern.matches(column["name"])
            for place, columns in tables.items()
            if pattern.names_table(*place)
            for column in columns
        )
        facts = {"pattern": pattern.text}
        problem = Message(setup_errors.NO_COLUMN, facts)
        yield Finding(pattern.text, f"{count} columns", "a column", count > 0, problem, severity)
    for place, columns in tables.items():
        try:
            chosen.of(*place, columns)
        except UnsupportedChange as error:
            name = ".".join(place)
            yield Finding(name, "other columns", "as chosen", False, error.message, severity)


def _column(row: dict[str, object]) -> SchemaColumn:
    kind = str(row["type"]).lower()
    return {
        "name": str(row["part"]),
        "type": "text" if kind in _TEXTS else kind,
        "nullable": True,
        "key": int(bool(row["keyed"])),
    }
