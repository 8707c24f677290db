"""XA transactions between XA PREPARE and their outcome, and what a restart reads again of them.

::

    GTID │ XA START │ rows … │ XA END │ XA PREPARE          a group of its own, maybe long before
    GTID │ XA COMMIT or XA ROLLBACK                         another one

The rows become changes of the group that commits them: that is where they took effect. What is
prepared is named in the progress record, and a restart reads these groups again; of whatever comes
with them, everything was delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.held_rows import HeldRows
    from connector.changes.transaction import Transaction


# Bytes of events that are kept in memory, of all prepared transactions.
MEMORY_BYTES_MAX: Final = 32 * 1024 * 1024


@final
class PreparedGroup:
    """What XA PREPARE left open."""

    __slots__ = ("other_tables", "rows", "xid")

    def __init__(
        self, xid: str, rows: HeldRows | None, other_tables: list[tuple[str, str]]
    ) -> None:
        """Hold `rows` of followed tables, None where there were none.

        `xid` is as XA statements have it, `X'6f6e65',X'',1`. `other_tables` are those, by database
        and name, that had rows and were not followed.
        """
        self.xid = xid
        self.rows = rows
        self.other_tables = other_tables


@final
class PreparedGroups:
    """Those that wait for their outcome, by what XA statements call them."""

    __slots__ = ("_groups", "_memory_bytes", "_memory_bytes_max")

    def __init__(
        self, groups: list[PreparedGroup], memory_bytes_max: i64 = MEMORY_BYTES_MAX
    ) -> None:
        """Begin with `groups`; of the rows of all, `memory_bytes_max` bytes stay in memory."""
        self._groups = {group.xid: group for group in groups}
        self._memory_bytes: i64 = 0
        self._memory_bytes_max: i64 = memory_bytes_max

    def add(self, group: PreparedGroup) -> None:
        """Keep a group. Raises TransientError where there is no room for its rows."""
        rows = group.rows
        if rows is not None:
            if self._memory_bytes + rows.memory_bytes > self._memory_bytes_max:
                rows.leave_memory()
            self._memory_bytes += rows.memory_bytes
        self._groups[group.xid] = group

    def take(self, xid: str) -> PreparedGroup | None:
        """Return a group, which waits no longer; None where there is none of that name."""
        group = self._groups.pop(xid, None)
        if group is not None and group.rows is not None:
            self._memory_bytes -= group.rows.memory_bytes
        return group

    def close(self) -> None:
        """Let go of the files in which rows wait."""
        for group in self._groups.values():
            if group.rows is not None:
                group.rows.drop()


@final
class Reread:
    """What was delivered before a restart, where the source sends some of it again."""

    __slots__ = ("_file", "_gtid_set", "_in_last_file", "_position", "_prepared")

    def __init__(
        self,
        gtid_set: GtidSet | MariadbGtidSet | None,
        file: str,
        position: i64,
        prepared: set[str],
    ) -> None:
        """Everything in `gtid_set`, or without one before `position` of `file`, was delivered.

        `prepared` are the ids of the groups that were waiting for their outcome.
        """
        self._gtid_set = gtid_set
        self._file = file
        self._position: i64 = position
        self._prepared = prepared
        self._in_last_file = False

    def covers(self, transaction: Transaction) -> bool:
        """Return whether the transaction, the next one of the stream, was delivered."""
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

    def is_prepared(self, transaction: Transaction) -> bool:
        """Return whether the group was waiting for its outcome."""
        return transaction.id in self._prepared
