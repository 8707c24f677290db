"""Changes of followed tables that would not arrive as rows, by the rules of the server.

`check` shows it. It changes nothing about whether a stream starts. Formats and engines are here;
row images, stored programs and foreign keys have modules of their own.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from connector.binlog.sql_text import quoted_name
from connector.foundation.errors import SourceRefused
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.foundation.server_version import ServerVersion
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.identity import version_of
from connector.replication.server.mysql_server import MysqlServer
from connector.rules.server import BinlogFormat, engine_of
from connector.stream.source import findings, row_image_gaps, table_errors
from connector.stream.source.followed_tables import BaseTable, followed_table_filter, sees_no_tables
from connector.stream.source.foreign_keys import cascade_gaps
from connector.stream.source.stored_program_gaps import program_gaps

# MySQL since 5.7; it needs SELECT on the table.
_SESSIONS: Final = """
    SELECT LOWER(variable_name) AS name, variable_value AS value, COUNT(*) AS sessions
    FROM performance_schema.variables_by_thread
    WHERE (variable_name = 'binlog_format' AND variable_value <> @@GLOBAL.binlog_format)
      OR (variable_name = 'binlog_row_image' AND variable_value <> @@GLOBAL.binlog_row_image)
      OR (variable_name = 'sql_log_bin' AND variable_value = 'OFF')
    GROUP BY name, value ORDER BY name, value
"""
_RULES_OF_SETTINGS: Final = {
    "binlog_format": "R-log-statement-format",
    "binlog_row_image": "row images",
    "sql_log_bin": "sql_log_bin",
}
_RIGHTS_OF_SESSIONS_SINCE: Final = (8, 0, 14)
_BINLOG_ADMIN_SINCE: Final = (10, 5, 2)


def format_gaps(server: MysqlServer, version: ServerVersion) -> Iterator[findings.RowLoggingGap]:
    """Yield what the server's `binlog_format` leaves out of the rows, if it is not ROW."""
    value = server.variable("binlog_format") or BinlogFormat.ROW.value
    if value == BinlogFormat.ROW.value:
        return
    how = findings.set_global(server, "binlog_format", BinlogFormat.ROW.value)
    if value == BinlogFormat.MIXED.value:
        problem = Message(table_errors.MIXED_FORMAT, {"how": how})
        yield findings.RowLoggingGap("R-log-statement-format (2)", problem)
    else:
        problem = Message(table_errors.STATEMENT_FORMAT, {"how": how})
        yield findings.RowLoggingGap("R-log-statement-format (1)", problem)
    copied = Message(table_errors.CREATE_SELECT, {"value": value})
    yield findings.RowLoggingGap("R-log-create-select-statement-format", copied)
    if value == BinlogFormat.STATEMENT.value or not version.mysql_since(8, 0, 4):
        temporary = Message(table_errors.TEMPORARY_TABLES, {"value": value, "how": how})
        yield findings.RowLoggingGap("temporary tables", temporary)


def session_gaps(server: MysqlServer) -> Iterator[findings.RowLoggingGap]:
    """Yield the settings of open sessions that differ from the server's, if they can be seen."""
    if server.identity.flavour == "mariadb":
        return
    with suppress(SourceRefused):
        for row in server.query(_SESSIONS):
            name = str(row["name"])
            facts = {"count": row["sessions"], "name": name, "value": row["value"]}
            yield findings.RowLoggingGap(
                _RULES_OF_SETTINGS[name], Message(table_errors.SESSIONS, facts)
            )


def not_seen(version: ServerVersion) -> Message:
    """Return what no account can see of sessions."""
    if version.is_mariadb:
        rights = ["BINLOG ADMIN"] if version.number >= _BINLOG_ADMIN_SINCE else ["SUPER"]
    elif version.number >= _RIGHTS_OF_SESSIONS_SINCE:
        rights = ["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER"]
    else:
        rights = ["SUPER"]
    return Message(table_errors.NOT_SEEN, {"rights": " or ".join(rights)})


_OF_ENGINE: Final = {
    "BLACKHOLE": table_errors.BLACKHOLE,
    "MRG_MYISAM": table_errors.MERGED,
    "FEDERATED": table_errors.REMOTE,
    "CONNECT": table_errors.REMOTE,
    "SPIDER": table_errors.REMOTE,
}
# A table of these can have another engine, with the same rows from then on.
_CONVERTIBLE: Final = (table_errors.NO_ROWS, table_errors.BLACKHOLE, table_errors.EMPTIED)
_RULES_OF_ENGINES: Final = {
    table_errors.NO_ROWS.code: "R-log-statement-format (2)",
    table_errors.EMPTIED.code: "MEMORY tables",
}
# Since then, the server logs TRUNCATE for a MEMORY table that a restart has emptied.
_MARIADB_TRUNCATES_SINCE: Final = (10, 11, 0)


def engine_gap(engine: str, server: ServerVersion) -> ErrorCode | None:
    """Return what to say of tables with this engine; None if all their changes are rows."""
    special = _OF_ENGINE.get(engine.upper())
    if special is not None:
        return special
    if engine.upper() == "MEMORY" and not _truncates(server):
        return table_errors.EMPTIED
    known = engine_of(engine, server)
    if known is None:
        return table_errors.UNKNOWN_ENGINE
    return None if known.row_capable else table_errors.NO_ROWS


def engine_gaps(
    followed: Sequence[BaseTable], server: ServerVersion
) -> Iterator[findings.RowLoggingGap]:
    """Yield a gap for each engine with followed tables that needs a word."""
    by_engine: dict[str, list[BaseTable]] = {}
    for table in followed:
        if table.engine:
            by_engine.setdefault(table.engine, []).append(table)
    for engine, tables in sorted(by_engine.items()):
        code = engine_gap(engine, server)
        if code is None:
            continue
        places = tuple(
            (
                f"{table.database}.{table.name}",
                f"ALTER TABLE {quoted_name(table.database, table.name)} ENGINE = InnoDB"
                if code in _CONVERTIBLE
                else "",
            )
            for table in tables
        )
        facts = {"engine": engine} if "engine" in code.facts else {}
        rule = _RULES_OF_ENGINES.get(code.code, "R-log-row-format")
        yield findings.RowLoggingGap(rule, Message(code, facts), places)


def _truncates(server: ServerVersion) -> bool:
    if server.is_mariadb:
        return server.number >= _MARIADB_TRUNCATES_SINCE
    return server.mysql_since(8, 0, 22)


_RIGHTS: Final = {"triggers": "TRIGGER", "events": "EVENT"}


def row_gaps(
    server: MysqlServer, settings: SourceSettings, tables: Sequence[BaseTable], *, copies: bool
) -> Iterator[findings.RowLoggingGap]:
    """Yield what would not arrive as rows; `tables` are all that the account sees.

    `copies` says whether the pipeline copies rows that foreign keys change. Raises
    SourceUnavailable or SourceRefused.
    """
    version = version_of(server.identity)
    wanted = followed_table_filter(server, settings)
    followed = [table for table in tables if wanted.follows(table.database, table.name)]
    yield from format_gaps(server, version)
    yield from session_gaps(server)
    yield from row_image_gaps.image_gaps(server, version, followed)
    yield from row_image_gaps.generated_gaps(server, version, followed)
    yield from row_image_gaps.version_gaps(server, version, followed)
    yield from cascade_gaps(server, wanted, copies=copies)
    yield from engine_gaps(followed, version)
    yield from program_gaps(server, wanted, {table.database for table in followed})
    yield from row_image_gaps.key_gaps(server, version, followed)
    yield from _hidden_programs(server, settings, tables)


def _hidden_programs(
    server: MysqlServer, settings: SourceSettings, tables: Sequence[BaseTable]
) -> Iterator[findings.RowLoggingGap]:
    """Yield what the account does not see of all databases."""
    held = findings.global_privileges(server)
    lacking = {}
    if not held & {"ALL PRIVILEGES", "ALL"}:
        lacking = {name: right for name, right in _RIGHTS.items() if right not in held}
        if sees_no_tables(tables) and "SELECT" not in held:
            lacking = {"tables": "SELECT", **lacking}
    if lacking:
        facts = {
            "objects": list(lacking),
            "rights": list(lacking.values()),
            "account": findings.account_of(server, settings),
        }
        yield findings.RowLoggingGap("", Message(table_errors.HIDDEN, facts))
