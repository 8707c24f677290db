"""Foreign keys that change rows of followed tables without a trace in the log, as a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.changes.cascaded_rows import CascadedRows
from connector.changes.cascades import Cascades, KeySource, LearnedKeys
from connector.changes.table_filter import TableFilter
from connector.errors import source_setup
from connector.errors.message import Message
from connector.source.checks.finding import Finding, Severity
from connector.source.tables.foreign_keys import logs_cascades, read_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.changes.statement import TableName
    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_TABLES_SHOWN_MAX = 5


class _KeysNow(KeySource):
    def __init__(self, server: MysqlServer) -> None:
        self._server = server

    def learn(self, altered: list[TableName]) -> LearnedKeys:
        del altered
        query = self._server.query
        return LearnedKeys(read_keys(query), 0, 0, logged=logs_cascades(query))


def check_cascades(server: MysqlServer, settings: SourceSettings, *, copies: bool) -> Finding:
    """Return whether the log has all changes of followed tables that foreign keys make.

    `copies` says whether the pipeline copies them. Raises SourceUnavailable or SourceRefused.
    """
    tables = TableFilter(settings.tables, settings.exclude_tables)
    hidden = Cascades(tables, _KeysNow(server), CascadedRows()).hidden_children
    problem = hidden_cascades(hidden, copies=copies)
    value = f"cascade to {', '.join(_shown(hidden))}" if hidden else "none that cascade unlogged"
    return Finding(
        "foreign keys", value, "none that cascade unlogged", not hidden, problem, Severity.WARNING
    )


def hidden_cascades(children: Sequence[TableName], *, copies: bool) -> Message:
    """Return what to say of tables whose rows change without a trace."""
    code = source_setup.CASCADES_COPIED if copies else source_setup.CASCADES_LOST
    return Message(code, {"tables": _shown(children)})


def _shown(tables: Sequence[TableName]) -> list[str]:
    names = [f"{database}.{table}" for database, table in tables[:_TABLES_SHOWN_MAX]]
    more = len(tables) - len(names)
    return [*names, *([f"{more} more"] if more else [])]
