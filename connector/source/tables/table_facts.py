"""Tables as the rules of the log need them: engine, columns and unique keys.

https://dev.mysql.com/doc/refman/8.4/en/information-schema-columns-table.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.codec.sql_text import sql_text
from connector.errors import ConfigError, logging_rules
from connector.logging_rules.engines import ENGINES, engine_of
from connector.logging_rules.sql_tokens import tokens_of, word
from connector.logging_rules.table import Table, TableColumn, UniqueKey
from connector.logging_rules.unsafe_functions import unsafe_functions

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion
    from connector.source.server.select_session import SelectSession

_LOG_TABLES: Final = frozenset({("mysql", "general_log"), ("mysql", "slow_log")})
_ACL_TABLES: Final = frozenset(
    {"user", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "role_edges"}
)


class TableFacts:
    """Asks one server."""

    def __init__(self, session: SelectSession, server: ServerVersion) -> None:
        """Ask over `session`."""
        self._session = session
        self._server = server

    def table(self, database: str, table: str) -> Table:
        """Return the table. Raises ConfigError if it is not there, or its engine is not known."""
        where = f"table_schema = {sql_text(database)} AND table_name = {sql_text(table)}"
        found = self._session.query(
            f"SELECT engine AS engine FROM information_schema.tables WHERE {where}"  # noqa: S608 - quoted
        )
        shown = f"{database}.{table}" if database else table
        if not found:
            raise ConfigError(logging_rules.NO_TABLE, server=self._session.name, table=shown)
        named = found[0]["engine"] or "VIEW"
        engine = engine_of(named, self._server)
        log_table = (database, table) in _LOG_TABLES or database == "performance_schema"
        if engine is None and not log_table:
            raise ConfigError(logging_rules.ENGINE_UNKNOWN, table=shown, engine=named)
        columns, (keys, first) = self._columns(where), self._keys(where)
        counter = next((each.name for each in columns if each.auto_increment), None)
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
