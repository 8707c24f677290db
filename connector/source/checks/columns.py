"""Whether the columns exist that the settings leave out, keep or mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import UnsupportedChange, source_setup
from connector.errors.message import Message
from connector.source.checks.finding import Finding, Severity
from connector.source.server.column_choice import column_choice
from connector.source.tables.base_tables import SYSTEM_LIST, followed_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.contract import SchemaColumn
    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_COLUMNS: Final = f"""
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
    chosen = column_choice(settings)
    if chosen is None:
        return
    followed = followed_by(server, settings)
    tables: dict[tuple[str, str], list[SchemaColumn]] = {}
    for row in server.query(_COLUMNS):
        place = str(row["db"]), str(row["name"])
        if followed.follows(*place) and chosen.hides(*place):
            tables.setdefault(place, []).append(_column(row))
    for pattern in chosen.patterns:
        found = sum(
            pattern.matches(column["name"])
            for place, columns in tables.items()
            if pattern.names_table(*place)
            for column in columns
        )
        facts = {"pattern": pattern.text}
        problem = Message(source_setup.NO_COLUMN, facts)
        yield Finding(pattern.text, f"{found} columns", "a column", found > 0, problem, severity)
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
