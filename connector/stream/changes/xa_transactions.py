"""XA transactions between XA PREPARE and their outcome, and groups that are read again for them.

::

    GTID │ XA START │ rows … │ XA END │ XA PREPARE          a group of its own, maybe long before
    GTID │ XA COMMIT or XA ROLLBACK                         another one

The rows become changes of the group that commits them, because they take effect there.

*Redelivery.* The progress record names prepared groups. A restart begins before the oldest of
them, and everything else that comes again was delivered (`RedeliveredGroups`). A group whose rows
reached the receiver before it ended in ROLLBACK is read again as well, without its rows.
"""

from typing import Final, final

from mypy_extensions import i64

from connector.binlog.event import Event
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import TransientError
from connector.stream.changes import changes_errors
from connector.stream.changes.row_buffer import RowBuffer
from connector.stream.changes.transaction import RowsReceiver, SourceTransaction

# Bytes of events of all prepared transactions that stay in memory.
MEMORY_BYTES_MAX: Final = 32 * 1024 * 1024


@final
class PreparedGroup:
    """A group that ended with XA PREPARE."""

    __slots__ = ("other_tables", "rows", "xid")

    def __init__(
        self, xid: str, rows: RowBuffer | None, other_tables: list[tuple[str, str]]
    ) -> None:
        """Hold `rows` of followed tables, None if there were none.

        `xid` has the form of XA statements, `X'6f6e65',X'',1`. `other_tables` are (database, table)
        that had rows and are not followed.
        """
        self.xid = xid
        self.rows = rows
        self.other_tables = other_tables


@final
class PreparedGroups:
    """The groups that wait for their outcome, by the ids of XA statements."""

    __slots__ = ("_groups", "_memory_bytes", "_memory_bytes_max")

    def __init__(
        self, groups: list[PreparedGroup], memory_bytes_max: i64 = MEMORY_BYTES_MAX
    ) -> None:
        """Begin with `groups`; of all their rows, `memory_bytes_max` bytes stay in memory."""
        self._groups = {group.xid: group for group in groups}
        self._memory_bytes: i64 = 0
        self._memory_bytes_max: i64 = memory_bytes_max

    def add(self, group: PreparedGroup) -> None:
        """Add a group. Raises TransientError if the disk is full."""
        rows = group.rows
        if rows is not None:
            if self._memory_bytes + rows.memory_bytes > self._memory_bytes_max:
                rows.leave_memory()
            self._memory_bytes += rows.memory_bytes
        self._groups[group.xid] = group

    def take(self, xid: str) -> PreparedGroup | None:
        """Remove and return a group; None if no group has that id."""
        group = self._groups.pop(xid, None)
        if group is not None and group.rows is not None:
            self._memory_bytes -= group.rows.memory_bytes
        return group

    def complete(
        self,
        xid: str,
        transaction: SourceTransaction,
        tables: TableFilter,
        receiver: RowsReceiver,
        *,
        commits: bool,
    ) -> bool:
        """Give the rows of a group to the receiver as those of `transaction`, or drop them.

        They are dropped unless it `commits`. Returns False if a commit may have had unknown rows of
        `tables`.
        """
        group = self.take(xid)
        if not commits:
            if group is not None and group.rows is not None:
                group.rows.drop()
            return True
        if group is None or any(tables.follows(*name) for name in group.other_tables):
            return False
        if group.rows is not None:
            group.rows.hand_on(transaction, receiver)
        return True

    def close(self) -> None:
        """Close the files that hold waiting rows."""
        for group in self._groups.values():
            if group.rows is not None:
                group.rows.drop()


@final
class RedeliveredGroups:
    """The changes that were delivered before a restart and that the source partly sends again."""

    __slots__ = ("_domains", "_file", "_gtid_set", "_in_last_file", "_position", "_prepared")

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
        # Of MariaDB: the domains of which earlier transactions may still come.
        self._domains: set[int] = set()
        if isinstance(gtid_set, MariadbGtidSet):
            self._domains = {MariadbGtid.parse(gtid).domain_id for gtid in prepared}

    def covers(self, transaction: SourceTransaction) -> bool:
        """Return whether the next transaction of the stream was delivered.

        Call it once for each transaction.
        """
        gtid = transaction.gtid
        gtid_set = self._gtid_set
        if isinstance(gtid_set, GtidSet):
            return isinstance(gtid, Gtid) and gtid in gtid_set
        if isinstance(gtid_set, MariadbGtidSet):
            return isinstance(gtid, MariadbGtid) and self._covers_gtid(gtid, gtid_set)
        # A transaction ends in the file in which it begins: the last one that was delivered shows
        # that the stream has come to its file.
        if transaction.file == self._file:
            self._in_last_file = True
            return transaction.position < self._position
        return not self._in_last_file

    def _covers_gtid(self, gtid: MariadbGtid, gtid_set: MariadbGtidSet) -> bool:
        domain = gtid.domain_id
        last = gtid_set.last_of(domain)
        if last is None or domain not in self._domains:
            return False
        # Without gtid_strict_mode, the numbers of two servers say nothing about their order: a
        # higher one may come before the last group, and a lower one after it.
        if gtid.server_id == last.server_id and gtid.sequence >= last.sequence:
            # A higher one of the same server: this log never had the last group.
            self._domains.discard(domain)
            return gtid == last
        return True

    def is_prepared(self, transaction: SourceTransaction) -> bool:
        """Return whether the group was waiting for its outcome."""
        return transaction.id in self._prepared


@final
class EarlierGroups:
    """The groups of earlier runs that the next run meets again."""

    __slots__ = ("prepared", "reread", "rolled_back")

    def __init__(
        self,
        prepared: list[PreparedGroup] | None = None,
        reread: RedeliveredGroups | None = None,
        rolled_back: frozenset[str] = frozenset(),
    ) -> None:
        """`prepared` are XA transactions that wait, and that `reread` does not read again.

        Rows of the transactions whose ids are in `rolled_back` are left out.
        """
        self.prepared: list[PreparedGroup] = [] if prepared is None else prepared
        self.reread = reread
        self.rolled_back = rolled_back


@final
class RedeliveryFilter:
    """The state of one group after the other."""

    __slots__ = ("_reread", "_rolled_back", "delivered", "left_out")

    def __init__(self, earlier: EarlierGroups) -> None:
        """Take the delivered changes, and the ids of the groups that were rolled back."""
        self._reread = earlier.reread
        self._rolled_back = earlier.rolled_back
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

    def check_commit(self, transaction: SourceTransaction, event: Event) -> None:
        """End the group with COMMIT; raise TransientError if it ended in ROLLBACK before."""
        if self.left_out and not self.delivered:
            raise TransientError(
                changes_errors.OTHER_OUTCOME,
                log_position=f"{event.file}:{event.position}",
                transaction=transaction.id,
            )
