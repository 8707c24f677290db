"""The cascading foreign keys of a server, and the followed tables that they change without events.

MySQL and MariaDB show the columns of a key to an account that may read its table. MariaDB shows
the actions of the key only with other rights than SELECT, so they are read from SHOW CREATE TABLE.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-referential-constraints-table.html
https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-key_column_usage-table
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from connector.binlog.header import file_number
from connector.binlog.sql_text import TableName, quoted_identifier, quoted_name
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import status_query
from connector.replication.server.server_error_numbers import LOCK_WAIT_TIMEOUT
from connector.replication.start_point import ServerIdentity
from connector.stream.changes import cascades
from connector.stream.changes.foreign_keys import CASCADE, ForeignKey, ForeignKeys
from connector.stream.source import setup_errors
from connector.stream.source.findings import RowLoggingGap
from connector.stream.source.followed_tables import SYSTEM_LIST
from connector.stream.source.select_session import SelectSession

Query = Callable[[str], Sequence[dict[str, Any]]]


_COLUMNS = f"""
    SELECT table_schema AS db, table_name AS name, constraint_name AS key_name,
           column_name AS child, referenced_table_schema AS parent_db,
           referenced_table_name AS parent_name, referenced_column_name AS parent
    FROM information_schema.key_column_usage
    WHERE table_schema NOT IN ({SYSTEM_LIST})
      AND (referenced_table_name IS NOT NULL OR constraint_name = 'PRIMARY')
    ORDER BY db, name, key_name, ordinal_position
"""  # noqa: S608 - constants
# Joined here: a join of the two views takes seconds on a server with thousands of keys.
_ACTIONS = f"""
    SELECT constraint_schema AS db, table_name AS name, constraint_name AS key_name,
           delete_rule AS on_delete, update_rule AS on_update
    FROM information_schema.referential_constraints
    WHERE constraint_schema NOT IN ({SYSTEM_LIST})
"""  # noqa: S608 - constants
_LOGGED = "SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'"
_RULES = re.compile(r"\)(?: ON DELETE (?P<delete>[A-Z ]+?))?(?: ON UPDATE (?P<update>[A-Z ]+?))?,?")
_LOCK_SECONDS = 5


class ServerForeignKeys(cascades.ForeignKeySource):
    """Asks one server."""

    def __init__(self, settings: SourceSettings, identity: ServerIdentity) -> None:
        """Ask the server of `settings`, which must be `identity`."""
        self._settings = settings
        self._identity = identity

    def learn(self, altered: list[TableName]) -> cascades.ForeignKeySnapshot:
        """Return the keys of now, with the effect of statements on the tables `altered`.

        Raises SourceUnavailable, SourceRefused, and ConfigError for files that cannot be read.
        """
        with SelectSession.on(self._identity, self._settings) as session:
            _wait_for_statements(session, altered)
            keys = read_keys(session.query)
            logged = logs_cascades(session.query)
            # A statement is in the log before its effect can be seen.
            (end,) = session.query(status_query(session.identity)) or ({},)
            number = file_number(end.get("File") or "")
            return cascades.ForeignKeySnapshot(
                keys, number, int(end.get("Position") or 0), logged=logged
            )


def _wait_for_statements(session: SelectSession, tables: list[TableName]) -> None:
    """Wait until statements that are in the log have their effect; they lock their tables.

    A table that others have locked for long is not waited for.
    """
    session.query(f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
    for database, table in tables:
        try:
            # Where this is refused, nothing has locked the table.
            with suppress(SourceRefused):
                session.query(f"SELECT 1 FROM {quoted_name(database, table)} LIMIT 0")  # noqa: S608 - quoted
        except SourceUnavailable as error:
            if error.number != LOCK_WAIT_TIMEOUT:
                raise


def logs_cascades(query: Query) -> bool:
    """Return whether the server writes to its log what foreign keys cascade: MySQL 9.6 does.

    Raises the errors of `query`.
    """
    return any(str(row["Value"]).upper() == "OFF" for row in query(_LOGGED))


def read_keys(query: Query) -> ForeignKeys:
    """Return the keys that the account sees. Raises the errors of `query`."""
    actions = {
        _name(row): (str(row["on_delete"]), str(row["on_update"])) for row in query(_ACTIONS)
    }
    primary: dict[TableName, set[str]] = {}
    keys: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in query(_COLUMNS):
        database, table, _ = name = _name(row)
        if row["parent_name"] is None:
            primary.setdefault((database, table), set()).add(str(row["child"]).lower())
        else:
            keys.setdefault(name, []).append(row)
    shown: dict[TableName, list[str]] = {}
    for database, table, key_name in keys.keys() - actions.keys():
        if (database, table) not in shown:
            shown[database, table] = _create_table_lines(query, database, table)
        actions[database, table, key_name] = _rules(shown[database, table], key_name)
    return ForeignKeys(
        _foreign_key(rows, *actions[name], primary.get(name[:2])) for name, rows in keys.items()
    )


def _name(row: dict[str, Any]) -> tuple[str, str, str]:
    return str(row["db"]), str(row["name"]), str(row["key_name"])


def _foreign_key(
    rows: list[dict[str, Any]], on_delete: str, on_update: str, primary: set[str] | None
) -> ForeignKey:
    """Return the key with these columns, of a table with the columns `primary` in its own key."""
    first = rows[0]
    pairs = [(str(row["child"]), str(row["parent"])) for row in rows]
    return ForeignKey(
        (str(first["db"]), str(first["name"])),
        (str(first["parent_db"]), str(first["parent_name"])),
        pairs,
        on_delete,
        on_update,
        # Without a primary key, a unique index may be the key of the records.
        identifies=primary is None or any(child.lower() in primary for child, _ in pairs),
    )


def _create_table_lines(query: Query, database: str, table: str) -> list[str]:
    """Return the lines of SHOW CREATE TABLE; none if the server does not show it.

    The table may be gone since, hidden or damaged; no other table has to wait for that.
    """
    try:
        (row,) = query(f"SHOW CREATE TABLE {quoted_name(database, table)}")
    except SourceRefused:
        return []
    return str(row["Create Table"]).splitlines()


def _rules(lines: list[str], key_name: str) -> tuple[str, str]:
    """Return what a key does ON DELETE and ON UPDATE; the most that it can do if that is unclear.

    MariaDB doubles a backtick in the name of a key since 11.8.9.
    """
    names = f"`{key_name}`", quoted_identifier(key_name)
    beginnings = tuple(f"  CONSTRAINT {name} FOREIGN KEY (" for name in names)
    shown = [
        _RULES.fullmatch(line, line.rfind(")")) for line in lines if line.startswith(beginnings)
    ]
    rules = shown[0] if len(shown) == 1 else None
    if rules is None:
        return CASCADE, CASCADE
    return rules["delete"] or "", rules["update"] or ""


_TABLES_SHOWN_MAX = 5


def cascade_gaps(
    server: MysqlServer, tables: TableFilter, *, copies: bool
) -> Iterator[RowLoggingGap]:
    """Yield the followed tables whose changes by foreign keys are not in the log.

    `copies` says whether the pipeline copies them. Raises SourceUnavailable or SourceRefused.
    """
    keys, logged = read_keys(server.query), logs_cascades(server.query)
    hidden = cascades.hidden_children(
        cascades.ForeignKeySnapshot(keys, 0, 0, logged=logged), tables
    )
    if hidden:
        yield RowLoggingGap("R-log-row-format", hidden_cascades(hidden, copies=copies))


def hidden_cascades(children: Sequence[TableName], *, copies: bool) -> Message:
    """Return what to say of tables whose rows change without a trace."""
    code = setup_errors.CASCADES_COPIED if copies else setup_errors.CASCADES_LOST
    return Message(code, {"tables": _table_names(children)})


def _table_names(tables: Sequence[TableName]) -> list[str]:
    names = [f"{database}.{table}" for database, table in tables[:_TABLES_SHOWN_MAX]]
    more = len(tables) - len(names)
    return [*names, *([f"{more} more"] if more else [])]
