"""Results of earlier runs for groups that the source sends again.

A restart begins before the oldest XA transaction that waits for its outcome; everything else that
comes again was delivered. A group whose rows reached the receiver before it ended in ROLLBACK is
read again, without its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.errors import TransientError, table_statements
from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.transaction import SourceTransaction


@final
class Reread:
    """The changes that were delivered before a restart and that the source partly sends again."""

    __slots__ = ("_file", "_gtid_set", "_in_last_file", "_position", "_prepared")

    def __init__(
        self,
        gtid_set: GtidSet | MariadbGtidSet | None,
        file: str,
        position: i64,
        prepared: set[str],
    ) -> None:
        """Everything in `gtid_set` was delivered; without a set, everything before the position.

        `prepared` are the ids of the groups that were waiting for their outcome.
        """
        self._gtid_set = gtid_set
        self._file = file
        self._position: i64 = position
        self._prepared = prepared
        self._in_last_file = False

    def covers(self, transaction: SourceTransaction) -> bool:
        """Return whether the next transaction of the stream was delivered."""
        gtid = transaction.gtid
        gtid_set = self._gtid_set
        if isinstance(gtid_set, GtidSet):
            return isinstance(gtid, Gtid) and gtid in gtid_set
        if isinstance(gtid_set, MariadbGtidSet):
            return isinstance(gtid, MariadbGtid) and gtid in gtid_set
        # A transaction ends in the file in which it begins: the last one that was delivered shows
        # that the stream has come to its file.
        if transaction.file == self._file:
            self._in_last_file = True
            return transaction.position < self._position
        return not self._in_last_file

    def is_prepared(self, transaction: SourceTransaction) -> bool:
        """Return whether the group was waiting for its outcome."""
        return transaction.id in self._prepared


@final
class EarlierRuns:
    """The state of one group after the other."""

    __slots__ = ("_reread", "_rolled_back", "delivered", "left_out")

    def __init__(self, reread: Reread | None, rolled_back: frozenset[str]) -> None:
        """Take the delivered changes, and the ids of the groups that were `rolled_back`."""
        self._reread = reread
        self._rolled_back = rolled_back
        # For the current group: whether it was delivered, and whether its rows are only counted.
        self.delivered = False
        self.left_out = False

    def begin(self, transaction: SourceTransaction) -> None:
        """Begin the next group of the stream."""
        self.delivered = self.left_out = False
        reread = self._reread
        if reread is not None and reread.covers(transaction):
            self.delivered = True
            self.left_out = not reread.is_prepared(transaction)
        if self._rolled_back and transaction.id in self._rolled_back:
            self.left_out = True

    def committed(self, transaction: SourceTransaction, event: Event) -> None:
        """End the group with COMMIT; raise TransientError if it ended in ROLLBACK before."""
        if self.left_out and not self.delivered:
            raise TransientError(
                table_statements.OTHER_OUTCOME,
                log_position=f"{event.file}:{event.position}",
                transaction=transaction.id,
            )
