"""What a round of `--forever` wants of the log: the keys that it names, and where the next begins.

Rows of an XA transaction are in the log when it is prepared, and change at its XA COMMIT, which
names no keys. Such a commit, a statement that changes the table, and one that was logged in place
of its rows, demand a comparison of all rows.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.statement import Statement, StatementKind
from connector.binlog.transactions.transaction import Transaction
from verification.digests import Digest, keys_by_digest
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.log_states import ROLLBACKS, Altered, Note, is_named
from verification.foreign.logged_rows import LoggedImages, LoggedRows
from verification.foreign.row_states import Change
from verification.foreign.source_rows import SourceRows
from verification.source_moment import SourceMoment
from verification.source_table import RowKey

# Of more changed keys, all rows are compared.
KEYS_MAX: Final = 100_000


class LoggedKeys:
    """The keys of one table that the log names, from one reading to the next."""

    def __init__(self, source: SourceRows, mapping: ColumnMapping) -> None:
        """Collect the keys of `source` by the forms of `mapping`."""
        self.names = source.schema.database, source.schema.table
        self._ignores_case = source.server.ignores_case
        self._mapping = mapping
        self._rows = LoggedRows(source.selected.schema, mapping)
        self.keys: dict[Digest, RowKey] = {}
        # Whether the keys do not tell which rows have changed.
        self.needs_all_rows = False
        # Of each XA transaction that has not ended: whether it has rows of the table.
        self._prepared: dict[str, bool] = {}
        self._xid: str | None = None

    def begin(self, transaction: Transaction) -> None:
        """Begin with the next transaction."""
        del transaction
        self._xid = None

    def take_rows(self, event: Event, rows: RowsEvent, change: Change) -> None:
        """Add the keys of an event of the table. Raises EventError."""
        if self.needs_all_rows:
            return
        if self._xid is not None:
            self._prepared[self._xid] = True
        self._rows.read(event, rows, change, self._take)

    def take_note(self, note: Note, change: Change, altered: Altered | None) -> None:
        """Note what changes rows that the log does not name."""
        del change, altered
        if not isinstance(note, Statement):
            self._xa(note)
        elif note.kind not in ROLLBACKS:
            self.needs_all_rows |= note.kind is StatementKind.DML or is_named(
                self.names, note, ignores_case=self._ignores_case
            )

    def end(self) -> None:
        """End with a transaction."""

    def finish(self) -> None:
        """End with what was read. Raises why rows could not be read."""
        if not self.needs_all_rows:
            self._rows.finish(self._take)

    def _xa(self, words: Sequence[str]) -> None:
        verb, xid = words[1], "".join(words[2:3])
        if verb in ("COMMIT", "ROLLBACK"):
            # What is not known was prepared before the first reading.
            self.needs_all_rows |= self._prepared.pop(xid, True)
        else:
            self._xid = xid
            self._prepared.setdefault(xid, False)

    def _take(self, images: LoggedImages) -> None:
        mapping = self._mapping
        digests = mapping.keys(images.data)
        # An image may lack the key if it did not change: the one before has it.
        places = np.flatnonzero(~images.lack_key)
        self.keys |= zip(*keys_by_digest(images.data, mapping.key, digests, places), strict=True)
        if len(self.keys) > KEYS_MAX:
            self.needs_all_rows = True
            self.keys.clear()


class SettledEnd:
    """Finds where the log ends for a moment: all before it is seen by each later SELECT.

    Behind it are transactions that were being committed at the moment, and later ones.
    """

    names: Final = None

    def __init__(self, at: SourceMoment, flavour: str) -> None:
        """Look for the moment `at`, which has GTIDs."""
        self._is_mariadb = flavour == "mariadb"
        # All transactions of the moment, or of MariaDB the last one of each domain.
        self._own = (MariadbGtidSet if self._is_mariadb else GtidSet).parse(at.transactions)
        self._last = set(self._own) if self._is_mariadb else set()
        self._is_after_own = False
        self.position = ""  # FILE:POSITION; "": where the reading begins, or ends
        self.has_ended = False

    def begin(self, transaction: Transaction) -> None:
        """Look at the next transaction."""
        place = f"{transaction.file}:{transaction.position}"
        gtid = transaction.gtid
        if isinstance(gtid, MariadbGtid):
            # The log has them in the order in which they were committed.
            if self._is_after_own:
                self.position = place
            self._is_after_own = gtid in self._last
        elif not self.has_ended and not (isinstance(gtid, Gtid) and self._has(gtid)):
            self.position, self.has_ended = place, True

    def _has(self, gtid: Gtid) -> bool:
        return isinstance(self._own, GtidSet) and gtid in self._own

    def take_rows(self, event: Event, rows: RowsEvent, change: Change) -> None:
        """Take no rows."""

    def take_note(self, note: Note, change: Change, altered: Altered | None) -> None:
        """Take no statement."""

    def end(self) -> None:
        """End with a transaction."""

    def finish(self) -> None:
        """End with what was read."""

    def end_of(self, begin: str, end: str) -> str:
        """Return the position, after a reading from `begin` to `end`."""
        if self._is_mariadb:
            return end if self._is_after_own else self.position or begin
        return self.position or end
