"""Engines whose tables have changes that are not in the log as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.codec.sql_text import quoted_name
from connector.errors import source_rows
from connector.errors.message import Message
from connector.logging_rules.engines import engine_of
from connector.source.checks.row_gap import RowGap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from connector.errors.code import ErrorCode
    from connector.logging_rules.server_version import ServerVersion
    from connector.source.tables.base_tables import BaseTable

_OF_ENGINE: Final = {
    "BLACKHOLE": source_rows.BLACKHOLE,
    "MRG_MYISAM": source_rows.MERGED,
    "FEDERATED": source_rows.REMOTE,
    "CONNECT": source_rows.REMOTE,
    "SPIDER": source_rows.REMOTE,
}
# A table of these can have another engine, with the same rows from then on.
_CONVERTIBLE: Final = (source_rows.NO_ROWS, source_rows.BLACKHOLE, source_rows.EMPTIED)
_RULES: Final = {
    source_rows.NO_ROWS.code: "R-log-statement-format (2)",
    source_rows.EMPTIED.code: "MEMORY tables",
}
# Since then, the server logs TRUNCATE for a MEMORY table that a restart has emptied.
_MARIADB_TRUNCATES_SINCE: Final = (10, 11, 0)


def engine_gap(engine: str, server: ServerVersion) -> ErrorCode | None:
    """Return what to say of tables with this engine; None if all their changes are rows."""
    special = _OF_ENGINE.get(engine.upper())
    if special is not None:
        return special
    if engine.upper() == "MEMORY" and not _truncates(server):
        return source_rows.EMPTIED
    known = engine_of(engine, server)
    if known is None:
        return source_rows.UNKNOWN_ENGINE
    return None if known.row_capable else source_rows.NO_ROWS


def engine_gaps(followed: Sequence[BaseTable], server: ServerVersion) -> Iterator[RowGap]:
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
        rule = _RULES.get(code.code, "R-log-row-format")
        yield RowGap(rule, Message(code, facts), places)


def _truncates(server: ServerVersion) -> bool:
    if server.is_mariadb:
        return server.number >= _MARIADB_TRUNCATES_SINCE
    return server.mysql_since(8, 0, 22)
