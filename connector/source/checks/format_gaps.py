"""The formats in which a server and its sessions log, and what cannot be seen of sessions."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from connector.errors import SourceRefused, source_rows
from connector.errors.message import Message
from connector.logging_rules.session_state import BinlogFormat
from connector.source.checks.finding import set_global
from connector.source.checks.row_gap import RowGap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.logging_rules.server_version import ServerVersion
    from connector.source.server.mysql_server import MysqlServer

# MySQL since 5.7; it needs SELECT on the table.
_SESSIONS: Final = """
    SELECT LOWER(variable_name) AS name, variable_value AS value, COUNT(*) AS sessions
    FROM performance_schema.variables_by_thread
    WHERE (variable_name = 'binlog_format' AND variable_value <> @@GLOBAL.binlog_format)
      OR (variable_name = 'binlog_row_image' AND variable_value <> @@GLOBAL.binlog_row_image)
      OR (variable_name = 'sql_log_bin' AND variable_value = 'OFF')
    GROUP BY name, value ORDER BY name, value
"""
_RULES: Final = {
    "binlog_format": "R-log-statement-format",
    "binlog_row_image": "row images",
    "sql_log_bin": "sql_log_bin",
}
_RIGHTS_OF_SESSIONS_SINCE: Final = (8, 0, 14)
_BINLOG_ADMIN_SINCE: Final = (10, 5, 2)


def format_gaps(server: MysqlServer, version: ServerVersion) -> Iterator[RowGap]:
    """Yield what the server's `binlog_format` leaves out of the rows, if it is not ROW."""
    value = server.variable("binlog_format") or BinlogFormat.ROW.value
    if value == BinlogFormat.ROW.value:
        return
    how = set_global(server, "binlog_format", BinlogFormat.ROW.value)
    if value == BinlogFormat.MIXED.value:
        problem = Message(source_rows.MIXED_FORMAT, {"how": how})
        yield RowGap("R-log-statement-format (2)", problem)
    else:
        problem = Message(source_rows.STATEMENT_FORMAT, {"how": how})
        yield RowGap("R-log-statement-format (1)", problem)
    copied = Message(source_rows.CREATE_SELECT, {"value": value})
    yield RowGap("R-log-create-select-statement-format", copied)
    if value == BinlogFormat.STATEMENT.value or not version.mysql_since(8, 0, 4):
        temporary = Message(source_rows.TEMPORARY_TABLES, {"value": value, "how": how})
        yield RowGap("temporary tables", temporary)


def session_gaps(server: MysqlServer) -> Iterator[RowGap]:
    """Yield the settings of open sessions that differ from the server's, if they can be seen."""
    if server.identity.flavour == "mariadb":
        return
    with suppress(SourceRefused):
        for row in server.query(_SESSIONS):
            name = str(row["name"])
            facts = {"count": row["sessions"], "name": name, "value": row["value"]}
            yield RowGap(_RULES[name], Message(source_rows.SESSIONS, facts))


def not_seen(version: ServerVersion) -> Message:
    """Return what no account can see of sessions."""
    if version.is_mariadb:
        rights = ["BINLOG ADMIN"] if version.number >= _BINLOG_ADMIN_SINCE else ["SUPER"]
    elif version.number >= _RIGHTS_OF_SESSIONS_SINCE:
        rights = ["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER"]
    else:
        rights = ["SUPER"]
    return Message(source_rows.NOT_SEEN, {"rights": " or ".join(rights)})
