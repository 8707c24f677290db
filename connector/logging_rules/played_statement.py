"""A statement of a session, with what it does to rows: the part that no rule can know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.logging_rules.row_images import Change
    from connector.logging_rules.statement_facts import StatementFacts
    from connector.logging_rules.table import Table


@dataclass(frozen=True, slots=True)
class RowsDone:
    """Rows that the engine changed, in the order of the execution."""

    table: Table
    change: Change


@dataclass(frozen=True, slots=True)
class PlayedStatement:
    """A statement, what it changes, and whether it fails in its middle.

    `done` is what was changed before the failure. `text` is what the log has if the statement is
    logged as text: the servers write DROP TABLE and calls of functions in their own words. `name`
    is that of the savepoint, the XA transaction or the created or dropped table. `body` are the
    statements that a CALL runs, and a handler of the procedure makes it go on after one that is
    `handled`.
    """

    text: str
    facts: StatementFacts
    done: tuple[RowsDone, ...] = ()
    fails: bool = False
    name: str = ""
    body: tuple[PlayedStatement, ...] = ()
    handled: bool = False
