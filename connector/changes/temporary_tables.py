"""Statements that may be about temporary tables, which can hide tables of the same name.

A temporary table is seen by its session alone, and hides a table of its name there. In row format,
its rows and most statements on it are not logged; these are:

- `RENAME TABLE` of MariaDB, in each format, without a sign of it. MySQL renames no temporary table.
- In statement and mixed format, ALTER TABLE, TRUNCATE and CREATE or DROP INDEX, with a flag. This
  flag says that the statement depends on its session, so an expression with CONNECTION_ID() in a
  column of another table sets it, too.

Only the server knows what such a statement did to the tables of these names. CREATE TEMPORARY and
DROP TEMPORARY name themselves, and the server logs one DROP TABLE for each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.changes.statement import StatementKind

if TYPE_CHECKING:
    from connector.changes.statement import Statement

# LOG_EVENT_THREAD_SPECIFIC_F in the header of the event.
THREAD_SPECIFIC: Final = 0x0004

_FLAGGED: Final = (StatementKind.ALTER_TABLE, StatementKind.TRUNCATE, StatementKind.INDEX)


def may_be_temporary(statement: Statement, flags: int, *, is_mariadb: bool) -> bool:
    """Return whether a statement, whose event has `flags`, may be about temporary tables."""
    if statement.kind is StatementKind.RENAME_TABLE:
        return is_mariadb
    return flags & THREAD_SPECIFIC != 0 and statement.kind in _FLAGGED
