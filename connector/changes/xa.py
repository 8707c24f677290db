"""XA transactions between XA PREPARE and their outcome.

::

    GTID │ XA START │ rows … │ XA END │ XA PREPARE          a group of its own, maybe long before
    GTID │ XA COMMIT or XA ROLLBACK                         another one

The rows become changes of the group that commits them, because they take effect there. The progress
record names prepared groups, and a restart reads these groups again (`earlier_runs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.held_rows import HeldRows
    from connector.changes.table_filter import TableFilter
    from connector.changes.transaction import RowsReceiver, SourceTransaction

# Bytes of events of all prepared transactions that stay in memory.
MEMORY_BYTES_MAX: Final = 32 * 1024 * 1024


@final
class PreparedGroup:
    """A group that ended with XA PREPARE."""

    __slots__ = ("other_tables", "rows", "xid")

    def __init__(
        self, xid: str, rows: HeldRows | None, other_tables: list[tuple[str, str]]
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
