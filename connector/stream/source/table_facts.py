"""Tables as the rules of the log need them: engine, columns and unique keys, and foreign keys.

Since MySQL 9.6, foreign keys make a statement read and write further tables: the server itself
checks keys and cascades, and locks their tables as it locks those of triggers. Before, and with
`innodb_native_foreign_keys`, InnoDB does so below the rules of the log.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-columns-table.html
https://dev.mysql.com/doc/refman/9.6/en/create-table-foreign-keys.html
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from connector.binlog.sql_text import sql_text
from connector.foundation.errors import ConfigError
from connector.foundation.server_version import ServerVersion
from connector.rules import rules_errors
from connector.rules.functions import unsafe_functions
from connector.rules.server import ENGINES, engine_of
from connector.rules.statement_facts import Table, TableColumn, UniqueKey
from connector.rules.statement_text import TableName, tokens_of, word
from connector.stream.changes.foreign_keys import CASCADE, SET_NULL
from connector.stream.source.foreign_keys import logs_cascades
from connector.stream.source.select_session import SelectSession

_LOG_TABLES: Final = frozenset({("mysql", "general_log"), ("mysql", "slow_log")})
_ACL_TABLES: Final = frozenset(
    {"user", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "role_edges"}
)


class TableFacts:
    """Asks one server."""

    def __init__(self, session: SelectSession, server: ServerVersion) -> None:
        self._session = session
        self._server = server

    def table(self, database: str, table: str) -> Table:
        """Return the table. Raises ConfigError if it is not there, or its engine is not known."""
        where = f"table_schema = {sql_text(database)} AND table_name = {sql_text(table)}"
        rows = self._session.query(
            f"SELECT engine AS engine FROM information_schema.tables WHERE {where}"  # noqa: S608 - quoted
        )
        shown = f"{database}.{table}" if database else table
        if not rows:
            raise ConfigError(rules_errors.NO_TABLE, server=self._session.name, table=shown)
        named = rows[0]["engine"] or "VIEW"
        engine = engine_of(named, self._server)
        log_table = (database, table) in _LOG_TABLES or database == "performance_schema"
        if engine is None and not log_table:
            raise ConfigError(rules_errors.ENGINE_UNKNOWN, table=shown, engine=named)
        columns, (keys, first) = self._columns(where), self._keys(where)
        counter = next((column.name for column in columns if column.auto_increment), None)
        return Table(
            shown,
            engine or ENGINES["CSV"],
            columns,
            keys,
            log_table=log_table,
            acl_table=database == "mysql" and table in _ACL_TABLES,
            auto_increment_not_first=counter is not None and counter not in first,
        )

    def _columns(self, where: str) -> tuple[TableColumn, ...]:
        rows = self._session.query(
            "SELECT column_name AS name, extra AS extra, column_default AS given "  # noqa: S608 - quoted
            f"FROM information_schema.columns WHERE {where} ORDER BY ordinal_position"
        )
        return tuple(
            TableColumn(
                row["name"] or "",
                auto_increment="auto_increment" in (row["extra"] or "").lower(),
                unsafe_default=self._is_unsafe(row["given"] or "", row["extra"] or ""),
                # MariaDB shows each DEFAULT as SQL.
                null_by_default=row["given"] == "NULL",
            )
            for row in rows
        )

    def _is_unsafe(self, given: str, extra: str) -> bool:
        """Return whether a DEFAULT is an expression with an unsafe function."""
        # MySQL shows the values of other columns without quotes, MariaDB shows each as SQL.
        if not self._server.is_mariadb and "DEFAULT_GENERATED" not in extra:
            return False
        tokens = tokens_of(given)
        unsafe = unsafe_functions(self._server)
        return any(word(tokens, at) in unsafe for at in range(len(tokens)))

    def _keys(self, where: str) -> tuple[tuple[UniqueKey, ...], frozenset[str]]:
        """Return the unique keys, and the columns with which an index begins."""
        rows = self._session.query(
            "SELECT index_name AS name, column_name AS part, non_unique AS more "  # noqa: S608 - quoted
            f"FROM information_schema.statistics WHERE {where} ORDER BY index_name, seq_in_index"
        )
        keys: dict[str, tuple[str, ...]] = {}
        unique = set()
        for row in rows:
            name = row["name"] or ""
            keys[name] = (*keys.get(name, ()), row["part"] or "")
            if row["more"] == "0":
                unique.add(name)
        return (
            tuple(UniqueKey(name, columns) for name, columns in keys.items() if name in unique),
            frozenset(columns[0] for columns in keys.values()),
        )


_CHANGES_CHILDREN: Final = frozenset({CASCADE, SET_NULL})


class _Key(NamedTuple):
    """A foreign key between two tables, and what it does to the child."""

    child: TableName
    parent: TableName
    on_delete: str
    on_update: str


class ForeignKeyTables:
    """Asks one server."""

    def __init__(self, session: SelectSession) -> None:
        self._session = session
        self._in_server: bool | None = None

    def of(self, table: TableName, events: Iterable[str]) -> Iterator[tuple[TableName, bool]]:
        """Yield tables, and whether they are written: for INSERT, UPDATE or DELETE of a table.

        The server looks at the events alone, not at the columns or rows.
        """
        if self._in_server is None:
            self._in_server = logs_cascades(self._session.query)
        waiting = [(table, event) for event in events] if self._in_server else []
        done = set()
        while waiting:
            name, event = waiting.pop()
            if (name, event) in done:
                continue
            done.add((name, event))
            for key in self._keys(name):
                if key.child == name:
                    if event != "DELETE":
                        yield key.parent, False
                elif event != "INSERT":
                    rule = key.on_delete if event == "DELETE" else key.on_update
                    yield key.child, rule in _CHANGES_CHILDREN
                    if rule in _CHANGES_CHILDREN:
                        deletes = event == "DELETE" and rule == CASCADE
                        waiting.append((key.child, "DELETE" if deletes else "UPDATE"))

    def _keys(self, table: TableName) -> list[_Key]:
        """Return the keys to and from the table; those to itself need no other lock."""
        database, name = map(sql_text, table)
        rows = self._session.query(
            "SELECT constraint_schema AS db, table_name AS child, "  # noqa: S608 - quoted
            "unique_constraint_schema AS parent_db, referenced_table_name AS parent, "
            "delete_rule AS on_delete, update_rule AS on_update "
            "FROM information_schema.referential_constraints "
            f"WHERE (constraint_schema = {database} AND table_name = {name}) "
            f"OR (unique_constraint_schema = {database} AND referenced_table_name = {name})"
        )
        keys = [
            _Key(
                (row["db"] or "", row["child"] or ""),
                (row["parent_db"] or "", row["parent"] or ""),
                row["on_delete"] or "",
                row["on_update"] or "",
            )
            for row in rows
        ]
        return [key for key in keys if key.child != key.parent]
