"""Foreign keys that change rows of followed tables without a trace in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.changes.cascaded_rows import CascadedRows
from connector.changes.cascades import Cascades, KeySource, LearnedKeys
from connector.errors import source_setup
from connector.errors.message import Message
from connector.source.checks.row_gap import RowGap
from connector.source.tables.foreign_keys import logs_cascades, read_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.changes.table_filter import TableFilter
    from connector.changes.table_names import TableName
    from connector.source.server.mysql_server import MysqlServer

_TABLES_SHOWN_MAX = 5


class _KeysNow(KeySource):
    def __init__(self, server: MysqlServer) -> None:
        self._server = server

    def learn(self, altered: list[TableName]) -> LearnedKeys:
        del altered
        query = self._server.query
        return LearnedKeys(read_keys(query), 0, 0, logged=logs_cascades(query))


def cascade_gaps(server: MysqlServer, tables: TableFilter, *, copies: bool) -> Iterator[RowGap]:
    """Yield the followed tables whose changes by foreign keys are not in the log.

    `copies` says whether the pipeline copies them. Raises SourceUnavailable or SourceRefused.
    """
    hidden = Cascades(tables, _KeysNow(server), CascadedRows()).hidden_children
    if hidden:
        yield RowGap("R-log-row-format", hidden_cascades(hidden, copies=copies))


def hidden_cascades(children: Sequence[TableName], *, copies: bool) -> Message:
    """Return what to say of tables whose rows change without a trace."""
    code = source_setup.CASCADES_COPIED if copies else source_setup.CASCADES_LOST
    return Message(code, {"tables": _shown(children)})


def _shown(tables: Sequence[TableName]) -> list[str]:
    names = [f"{database}.{table}" for database, table in tables[:_TABLES_SHOWN_MAX]]
    more = len(tables) - len(names)
    return [*names, *([f"{more} more"] if more else [])]
