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

from collections.abc import Callable, Iterator
from typing import Final

from connector.binlog.event import Event
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.transaction import AnonymousGtidEvent, GtidEvent, XaPrepareEvent
from connector.binlog.statement import Statement, StatementKind, statement_of
from connector.binlog.transactions.transaction import Transaction, changed_rows_in, transactions_of
from stream_jobs.errors import MirrorError
from verification.digests import Digest
from verification.foreign import foreign_errors
from verification.foreign.logged_rows import LoggedImages, LoggedRows
from verification.foreign.row_states import UNKNOWN, Change, KeyStates, Value

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


class LogStates:
    """Collects the states of some keys of one table."""

    def __init__(
        self,
        names: tuple[str, str],
        rows: LoggedRows,
        wanted: frozenset[Digest],
        *,
        ignores_case: bool,
    ) -> None:
        """Read the table `names`, a database and a table; `ignores_case` as for `statement_on`."""
        self._names = names
        self._ignores_case = ignores_case
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

    def read(
        self,
        events: Iterator[Event],
        end_us: int,
        altered: Callable[[Statement], None] | None = None,
        file: str = "",
    ) -> None:
        """Add what `events` tell; `end_us` is a time at which all of them were committed.

        With `file`, events after the transactions of this file are not read. `altered` is called
        for a statement after which the table has other columns; without it, this raises
        MirrorError. Raises the errors of a server, and EventError.
        """
        times: dict[tuple[str, int], int] = {}
        for transaction in transactions_of(with_times(events, times)):
            if file and transaction.file != file:
                break
            committed = times.pop((transaction.file, transaction.position), 0)
            change = change_of(transaction, committed, end_us)
            self._is_xa = False
            while (event := transaction.next_event()) is not None:
                rows = changed_rows_in(event)
                if rows is None:
                    self._other_event(event, change, altered)
                elif (rows.table_map.schema, rows.table_map.table) == self._names:
                    self._rows.read(event, rows, change, self._take)
            if self._is_xa:
                self._rows.flush(self._take)
        self._rows.finish(self._take)

    def complete(self) -> None:
        """Add what TRUNCATE and XA COMMIT say of keys that no row names."""
        if self._of_all:
            for digest in self.wanted - self.of_keys.keys():
                self._begin(digest)

    def _other_event(
        self, event: Event, change: Change, altered: Callable[[Statement], None] | None
    ) -> None:
        body = event.body
        # Older files tell only since when rows differ: a guess would be wrong there.
        is_whole = altered is None
        if isinstance(body, MariadbGtidEvent) and body.prepared_xa:
            # MariaDB logs no XA START.
            self._xa(["XA", "START", str(body.xid).upper()], change, is_whole=is_whole)
        elif isinstance(body, XaPrepareEvent) and body.one_phase:
            self._xa(["XA", "COMMIT", str(body.xid).upper()], change, is_whole=is_whole)
        elif isinstance(body, QueryEvent):
            statement = statement_on(self._names, body, ignores_case=self._ignores_case)
            if statement is None:
                return
            if statement.kind is StatementKind.XA:
                self._xa(body.query.upper().split(), change, is_whole=is_whole)
            else:
                self._statement(statement, change, altered)

    def _statement(
        self, statement: Statement, change: Change, altered: Callable[[Statement], None] | None
    ) -> None:
        self._rows.flush(self._take)
        if statement.kind in ROLLBACKS:
            self._roll_back(change)
        elif statement.kind is StatementKind.TRUNCATE:
            self._add_to_all(None, change)
        elif altered is None:
            facts = {"table": ".".join(self._names), "statement": statement.kind.value}
            raise MirrorError(foreign_errors.TABLE_CHANGED, **facts) from self._rows.failure
        else:
            self._rows.restart()
            altered(statement)

    def _roll_back(self, change: Change) -> None:
        """Forget what rows of a transaction are: those before a savepoint are asked for, too."""
        if self._change is change:
            for digest in self._keys.keys() & self.of_keys.keys():
                self.of_keys[digest].add(UNKNOWN, UNKNOWN, change)

    def _xa(self, words: list[str], change: Change, *, is_whole: bool) -> None:
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


def statement_on(
    names: tuple[str, str], body: QueryEvent, *, ignores_case: bool
) -> Statement | None:
    """Return a statement if it tells of rows or columns of a table, of a rollback, or of XA.

    `ignores_case` says that the server takes names that differ in case for the same.
    """
    statement = statement_of(body)
    kind = statement.kind
    if kind is StatementKind.XA or kind in ROLLBACKS:
        return statement
    if kind not in _CHANGES_COLUMNS and kind is not StatementKind.TRUNCATE:
        return None
    statement.resolve(body.schema, lower_case=ignores_case)
    database, table = names
    if ignores_case:
        database, table = database.lower(), table.lower()
    named = (database, "" if kind is StatementKind.DROP_DATABASE else table)
    return statement if named in statement.tables else None


def change_of(transaction: Transaction, committed_us: int, end_us: int) -> Change:
    """Return what the log says of a transaction.

    `committed_us` is when it was committed, 0 if the log does not tell; `end_us` is not earlier.
    """
    logged = int(transaction.timestamp.timestamp() * _US)
    gtid = transaction.gtid
    place = f"{transaction.file}:{transaction.position}" if gtid is None else str(gtid)
    return Change(committed_us or end_us, place, committed_us or logged, gtid)


def with_times(events: Iterator[Event], times: dict[tuple[str, int], int]) -> Iterator[Event]:
    """Yield events, and note when transactions were committed, by the place where they begin."""
    for event in events:
        body = event.body
        if isinstance(body, GtidEvent | GtidTaggedEvent | AnonymousGtidEvent):
            times[(event.file, event.position)] = body.immediate_commit_timestamp or 0
        yield event
