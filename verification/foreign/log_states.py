"""The states of wanted keys, collected from the events of a log.

Rows of an XA transaction are in the log when it is prepared, and nobody sees them before its
XA COMMIT. So such a row keeps its value, and is unknown from the XA COMMIT or XA ROLLBACK on. If
the log was not read from the XA START on, that holds for every row.

Rows that were rolled back may be in the log, too, before a ROLLBACK
(`connector/stream/changes/receiver.py`). Such a row is unknown from then on.

*Times.* MySQL 8.0.1 and later logs when a transaction was committed. Older servers and MariaDB log
when a statement began, which may be long before its commit. There, a change counts as committed
when the end of the log was first seen after it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from connector.binlog.event import Event, EventBody
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, XaPrepareEvent
from connector.binlog.header import file_number
from connector.binlog.statement import Statement, StatementKind, statement_of
from connector.binlog.transactions.transaction import Transaction
from connector.stream.snapshot.watermark import LogPosition
from stream_jobs.errors import MirrorError
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.logged_rows import LoggedImages, LoggedRows
from verification.foreign.row_states import UNKNOWN, Change, DefinitionMoment, KeyStates, Value

_US: Final = 1_000_000
# CREATE TABLE IF NOT EXISTS is logged also if there is a table; others begin without rows.
_CHANGES_COLUMNS: Final = frozenset(
    {
        StatementKind.ALTER_TABLE,
        StatementKind.RENAME_TABLE,
        StatementKind.DROP_TABLE,
        StatementKind.DROP_DATABASE,
    }
)
ROLLBACKS: Final = frozenset({StatementKind.ROLLBACK, StatementKind.ROLLBACK_TO})
# What an event tells of rows that it does not name: a statement, or the words of an XA statement.
Note = Statement | Sequence[str]
Altered = Callable[[Statement], None]


class LogStates:
    """Collects the states of some keys of one table."""

    def __init__(
        self,
        names: tuple[str, str],
        rows: LoggedRows,
        wanted: frozenset[Digest],
        *,
        ignores_case: bool,
        described: DefinitionMoment | None = None,
    ) -> None:
        """Read the table `names`, a database and a table; `ignores_case` as for `statement_on`.

        `described` is when its columns were read; None: before all that is in the log.
        """
        self.names = names
        self._ignores_case = ignores_case
        self._described = described or DefinitionMoment(0)
        # The time since which the log has the rows with these columns, if it is a later one.
        self.reach_us = 0
        self._rows = rows
        self.wanted = wanted
        self.of_keys: dict[Digest, KeyStates] = {}
        # What has happened to every row, named or not: its state from then on.
        self._of_all: list[tuple[Change, Value]] = []
        # Of each XA transaction that has not ended, by its XID: the keys of its rows.
        self._prepared: dict[str, dict[Digest, None]] = {}
        self._xid = ""
        self._is_xa = False
        # The keys of the last transaction with rows, and its change.
        self._keys: dict[Digest, None] = {}
        self._change: Change | None = None

    def begin(self, transaction: Transaction) -> None:
        """Begin with the next transaction."""
        del transaction
        self._is_xa = False

    def take_rows(self, event: Event, rows: RowsEvent, change: Change) -> None:
        """Add the rows of an event of the table. Raises EventError."""
        self._rows.read(event, rows, change, self._take)

    def take_note(self, note: Note, change: Change, altered: Altered | None) -> None:
        """Add what a transaction tells of rows that it does not name.

        `altered` is called for a statement after which the table has other columns. Without it,
        the states begin after an old statement, and for another one this raises MirrorError.
        """
        # Older files tell only since when rows differ: a guess would be wrong there.
        is_whole = altered is None
        if not isinstance(note, Statement):
            self._xa(note, change, is_whole=is_whole)
        elif note.kind is StatementKind.DML:
            if is_whole:
                self._rows.flush(self._take)
                self._add_to_all(UNKNOWN, change)
        elif note.kind in ROLLBACKS or self._is_named(note):
            self._statement(note, change, altered)

    def end(self) -> None:
        """End with a transaction."""
        if self._is_xa:
            self._rows.flush(self._take)

    def finish(self) -> None:
        """End with what was read. Raises why rows could not be read."""
        self._rows.finish(self._take)

    def complete(self) -> None:
        """Add what TRUNCATE and XA COMMIT say of keys that no row names."""
        if self._of_all:
            for digest in self.wanted - self.of_keys.keys():
                self._begin(digest)

    def _is_named(self, statement: Statement) -> bool:
        return is_named(self.names, statement, ignores_case=self._ignores_case)

    def _statement(self, statement: Statement, change: Change, altered: Altered | None) -> None:
        self._rows.flush(self._take)
        if statement.kind in ROLLBACKS:
            self._roll_back(change)
        elif statement.kind is StatementKind.TRUNCATE:
            self._add_to_all(None, change)
        elif altered is not None:
            self._rows.restart()
            altered(statement)
        elif self._described.is_after(change):
            self._begin_again(change)
        else:
            facts = {"table": ".".join(self.names), "statement": statement.kind.value}
            raise MirrorError(foreign_errors.TABLE_CHANGED, **facts) from self._rows.failure

    def _begin_again(self, change: Change) -> None:
        """Forget what the log has told before a statement: rows had other columns then."""
        self._rows.restart()
        self.of_keys.clear()
        self._of_all.clear()
        # Their end tells nothing of rows that are forgotten.
        self._prepared.clear()
        self.reach_us = min(change.committed_us, self._described.time_us)

    def _roll_back(self, change: Change) -> None:
        """Forget what rows of a transaction are: those before a savepoint are asked for, too."""
        if self._change is change:
            for digest in self._keys.keys() & self.of_keys.keys():
                self.of_keys[digest].add(UNKNOWN, UNKNOWN, change)

    def _xa(self, words: Sequence[str], change: Change, *, is_whole: bool) -> None:
        """Read `XA VERB XID`; with `is_whole`, a transaction without a start may have any rows."""
        self._rows.flush(self._take)
        self._is_xa = True
        verb, xid = words[1], "".join(words[2:3])
        if verb not in ("COMMIT", "ROLLBACK"):
            self._xid = xid
            self._prepared.setdefault(xid, {})
        elif (keys := self._prepared.pop(xid, None)) is not None:
            # After an ALTER TABLE, older files begin without keys.
            for digest in keys.keys() & self.of_keys.keys():
                self.of_keys[digest].add(UNKNOWN, UNKNOWN, change)
        elif is_whole:
            self._add_to_all(UNKNOWN, change)

    def _add_to_all(self, after: Value, change: Change) -> None:
        for states in self.of_keys.values():
            states.add(UNKNOWN, after, change)
        self._of_all.append((change, after))

    def _take(self, images: LoggedImages) -> None:
        self._rows.add_all(images, self._add)

    def _add(self, key: Digest, before: Value, after: Value, change: Change) -> None:
        if key not in self.wanted:
            return
        states = self.of_keys.get(key) or self._begin(key)
        if self._change is not change:
            self._keys, self._change = {}, change
        self._keys[key] = None
        if self._is_xa:
            states.add(before, before, change)
            self._prepared[self._xid][key] = None
        else:
            states.add(before, after, change)

    def _begin(self, key: Digest) -> KeyStates:
        states = self.of_keys[key] = KeyStates()
        for change, after in self._of_all:
            states.add(UNKNOWN, after, change)
        return states


def note_of(body: EventBody, *, ignores_case: bool) -> Note | None:
    """Return what an event tells of rows that it does not name; None for nothing.

    `ignores_case` says that the server takes names that differ in case for the same.
    """
    if isinstance(body, MariadbGtidEvent):
        # MariaDB logs no XA START.
        return ["XA", "START", str(body.xid).upper()] if body.prepared_xa else None
    if isinstance(body, XaPrepareEvent):
        return ["XA", "COMMIT", str(body.xid).upper()] if body.one_phase else None
    if not isinstance(body, QueryEvent):
        return None
    statement = statement_of(body)
    kind = statement.kind
    if kind is StatementKind.XA:
        return body.query.upper().split()
    if kind in _CHANGES_COLUMNS or kind is StatementKind.TRUNCATE:
        statement.resolve(body.schema, lower_case=ignores_case)
        return statement
    # Without a table, it has changed rows that nobody knows: a session logs statements.
    is_hidden = kind is StatementKind.DML and not statement.tables
    return statement if kind in ROLLBACKS or is_hidden else None


def is_named(names: tuple[str, str], statement: Statement, *, ignores_case: bool) -> bool:
    """Return whether a statement of `note_of` changes a table, a database and a table."""
    database, table = names
    if ignores_case:
        database, table = database.lower(), table.lower()
    kind = statement.kind
    named = (database, "" if kind is StatementKind.DROP_DATABASE else table)
    return named in statement.tables


def change_of(transaction: Transaction, committed_us: int, end_us: int) -> Change:
    """Return what the log says of a transaction.

    `committed_us` is when it was committed, 0 if the log does not tell; `end_us` is not earlier.
    """
    logged = int(transaction.timestamp.timestamp() * _US)
    gtid = transaction.gtid
    place = f"{transaction.file}:{transaction.position}" if gtid is None else str(gtid)
    position = LogPosition(file_number(transaction.file), transaction.position)
    return Change(committed_us or end_us, place, committed_us or logged, gtid, position)


def with_times(events: Iterator[Event], times: dict[tuple[str, int], int]) -> Iterator[Event]:
    """Yield events, and note when transactions were committed, by the place where they begin."""
    for event in events:
        body = event.body
        if isinstance(body, GtidEvent | GtidTaggedEvent | AnonymousGtidEvent):
            times[(event.file, event.position)] = body.immediate_commit_timestamp or 0
        yield event
