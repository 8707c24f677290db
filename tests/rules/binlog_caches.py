"""The two caches of a session, and the groups of the log that they become.

The statement cache (SC) is written at the end of each statement, the transaction cache (TC) at the
end of the transaction (D-log-target). Annotations and the values of a statement's variables belong
to the entry after them, so they have no entries of their own. What a statement does to rows is
given to the model, because no rule can know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.foundation.server_version import ServerVersion
    from connector.rules.row_images import RowEventKind
    from connector.rules.statement_facts import StatementFacts, Table


@dataclass(frozen=True, slots=True)
class LoggedText:
    """The text of a statement."""

    text: str


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Row events of one table, without another entry between them."""

    table: str
    change: RowEventKind


@dataclass(frozen=True, slots=True)
class LoggedTable:
    """CREATE TABLE with the columns that a CREATE TABLE … SELECT gave the table."""

    table: str


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """LOAD DATA in the words of the server, with the file."""

    table: str


@dataclass(frozen=True, slots=True)
class LoggedHead:
    """What comes before a change: a table map, or the file of LOAD DATA. It fills a cache, too."""

    table: str


Entry = LoggedText | LoggedFile | LoggedHead | LoggedRows | LoggedTable


class Ending(Enum):
    """How a group ends."""

    XID = "XID"  # engines with transactions took part
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    PREPARE = "XA PREPARE"
    ONE_PHASE = "XA COMMIT … ONE PHASE"
    ALONE = "alone"  # a statement without BEGIN, which commits itself


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of a group, in their order."""

    entries: tuple[Entry, ...]
    ending: Ending


def joined(entries: list[Entry]) -> tuple[Entry, ...]:
    """Return the entries without heads; the same rows in succession are one entry."""
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, LoggedHead):
            continue
        if not (isinstance(entry, LoggedRows) and found and found[-1] == entry):
            found.append(entry)
    return tuple(found)


class Caches:
    """The caches of one session; `groups` is what has arrived in the log."""

    def __init__(self, server: ServerVersion) -> None:
        """Start with empty caches."""
        self._server = server
        self.groups: list[Group] = []
        self.transaction: list[Entry] = []
        self.statement: list[Entry] = []
        # Savepoints in their order, with the length of the TC at that time. None: the transaction
        # had logged nothing by then.
        self._savepoints: dict[str, int | None] = {}
        # Of these, the ones that were set after an engine with transactions had taken part.
        self._with_engine: set[str] = set()
        self._clear()

    def _clear(self) -> None:
        """R-clear-TC."""
        self.transaction.clear()
        self._savepoints.clear()
        self._with_engine.clear()
        self.registered = False  # something of the transaction went to a cache
        self.keeps = False  # the TC holds an N-write, so ROLLBACK cannot drop it
        self.wrote_n_table = False  # in either cache
        # The rows of a T-table that failed were taken out of the TC; those of an N-table stay.
        self.took_back = False
        self.engine_used = False  # an engine with transactions takes part
        self.engine_commits = False  # and has changed something

    def add(self, entry: Entry, *, to_transaction: bool) -> None:
        """Append an entry to one of the caches."""
        (self.transaction if to_transaction else self.statement).append(entry)
        self.registered = True

    def write_alone(self, entry: Entry) -> None:
        """R-log-commit-statement: write a statement that commits itself."""
        self.groups.append(Group((entry,), Ending.ALONE))

    def flush_statement(self) -> None:
        """R-flush-SC."""
        if self.statement:
            self.groups.append(Group(joined(self.statement), Ending.COMMIT))
            self.statement.clear()

    def commit(self) -> None:
        """R-log-commit; MariaDB writes both caches of a single statement as one group."""
        if self._server.is_mariadb and self.transaction:
            self.transaction[:0] = self.statement
            self.statement.clear()
        self.flush_statement()
        ending = Ending.XID if self.engine_commits else Ending.COMMIT
        self._end(ending)

    def rollback(self) -> None:
        """R-log-rollback."""
        self.flush_statement()
        if not self.keeps:
            self.transaction.clear()
        self._end(Ending.ROLLBACK)

    def prepare(self, ending: Ending) -> None:
        """Write the first half of an XA transaction, or the whole of one in one phase.

        MariaDB also writes one that has logged something only outside of the TC.
        """
        if self._server.is_mariadb and self.registered and not self.transaction:
            self.groups.append(Group((), ending))
        self._end(ending)

    def _end(self, ending: Ending) -> None:
        if self.transaction:
            self.groups.append(Group(joined(self.transaction), ending))
        self._clear()

    def set_savepoint(self, name: str) -> None:
        """SAVEPOINT is in the log if the transaction has logged something before it."""
        self._savepoints.pop(name, None)
        self._with_engine.discard(name)
        if self.engine_used:
            self._with_engine.add(name)
        if self.registered:
            self.transaction.append(LoggedText(f"SAVEPOINT `{name}`"))
            self._savepoints[name] = len(self.transaction)
        else:
            self._savepoints[name] = None

    def release_savepoint(self, name: str) -> None:
        """Forget the savepoint and those after it; the log does not say so."""
        names = list(self._savepoints)
        for each in names[names.index(name) :]:
            del self._savepoints[each]

    def rollback_to_savepoint(self, name: str) -> None:
        """R-log-rollback-to-savepoint."""
        length = self._savepoints[name]
        names = list(self._savepoints)
        for each in names[names.index(name) + 1 :]:
            del self._savepoints[each]
        kept = dict(self._savepoints), set(self._with_engine)
        if name not in self._with_engine:
            # The engine leaves the transaction with all that it has done.
            self.engine_used = self.engine_commits = False
        if length is None:
            # The log joined the transaction after the savepoint: for it, everything is undone.
            engine = self.engine_used, self.engine_commits
            self.keeps |= self._server.is_mariadb and self.wrote_n_table
            self.rollback()
            self._savepoints.update(kept[0])
            self._with_engine.update(kept[1])
            self.engine_used, self.engine_commits = engine
        elif self.keeps or (self._server.is_mariadb and self.wrote_n_table):
            self.transaction.append(LoggedText(f"ROLLBACK TO `{name}`"))
        else:
            del self.transaction[length:]


@dataclass(frozen=True, slots=True)
class RowsDone:
    """Rows that the engine changed, in the order of the execution."""

    table: Table
    change: RowEventKind


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
