"""Triggers, events and stored routines of a source, as far as its account sees them.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-triggers-table.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connector.source.tables.base_tables import SYSTEM_LIST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.changes.table_names import TableName
    from connector.source.server.mysql_server import MysqlServer

_TRIGGERS: Final = f"""
    SELECT 'trigger' AS kind, trigger_schema AS db, trigger_name AS name,
      event_object_table AS of_table, action_statement AS body
    FROM information_schema.triggers WHERE trigger_schema NOT IN ({SYSTEM_LIST})
"""  # noqa: S608 - constants
_EVENTS: Final = f"""
    SELECT 'event' AS kind, event_schema AS db, event_name AS name, '' AS of_table,
      event_definition AS body
    FROM information_schema.events
    WHERE event_schema NOT IN ({SYSTEM_LIST}) AND status = 'ENABLED'
"""  # noqa: S608 - constants
_ROUTINES: Final = """
    SELECT LOWER(routine_type) AS kind, routine_schema AS db, routine_name AS name, '' AS of_table,
      routine_definition AS body
    FROM information_schema.routines WHERE
"""
_OF_NAMES: Final = f"{_ROUTINES} routine_schema IN ({{databases}}) AND routine_name IN ({{names}})"
_WITH_LOG_SETTINGS: Final = rf"""{_ROUTINES} routine_schema NOT IN ({SYSTEM_LIST}) AND (
      routine_definition LIKE '%sql\_log\_bin%' OR routine_definition LIKE '%binlog\_format%'
      OR routine_definition LIKE '%binlog\_row\_image%')
"""
_NAMES_PER_QUERY: Final = 500


@dataclass(frozen=True, slots=True)
class Program:
    """A trigger, an event, a procedure or a function; `body` is None if it is hidden."""

    kind: str
    database: str
    name: str
    table: str  # of a trigger; "" for others
    body: str | None


def triggers_and_events(server: MysqlServer) -> list[Program]:
    """Return triggers, and events that are enabled. Raises SourceUnavailable or SourceRefused."""
    return [*_programs(server, _TRIGGERS), *_programs(server, _EVENTS)]


def routines_about_logging(server: MysqlServer) -> list[Program]:
    """Return routines that name a setting about the log. Raises as above."""
    return _programs(server, _WITH_LOG_SETTINGS)


def routines(server: MysqlServer, names: Iterable[TableName]) -> list[Program]:
    """Return the stored routines with these names, and maybe others. Raises as above."""
    wanted = sorted(names)
    found: list[Program] = []
    for begin in range(0, len(wanted), _NAMES_PER_QUERY):
        some = wanted[begin : begin + _NAMES_PER_QUERY]
        databases = sorted({database for database, _ in some})
        own = sorted({name for _, name in some})
        query = _OF_NAMES.format(
            databases=", ".join(["%s"] * len(databases)), names=", ".join(["%s"] * len(own))
        )
        found += _programs(server, query, [*databases, *own])
    return found


def _programs(server: MysqlServer, query: str, values: Iterable[str] = ()) -> list[Program]:
    return [
        Program(
            str(row["kind"]),
            str(row["db"]),
            str(row["name"]),
            str(row["of_table"]),
            None if row["body"] is None else str(row["body"]),
        )
        for row in server.query(query, list(values))
    ]
