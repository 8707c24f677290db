"""What a stream meets and somebody wants to hear of: for the log, and for copies of tables.

Nothing here is a record of the stream: who hears of it writes a line, or copies a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.transaction import SourceTransaction, StatementChange


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamListener:
    """Hears of everything when it happens, in the thread of the stream; this one does nothing."""

    def table_left_out(self, database: str, table: str) -> None:
        """Hear of a table that is not followed, because an online schema change has made it."""

    def event_skipped(self, event: Event) -> None:
        """Hear of an event of an unknown type, which its server flagged as ignorable."""

    def statement_seen(self, change: StatementChange) -> None:
        """Hear of DDL on a followed table."""

    def rows_dropped(self, database: str, table: str) -> None:
        """Hear of rows that are not published: nobody can name the columns of a dropped table."""

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        """Hear of a table that is to be copied again, after the transaction that is under way."""

    def table_ended(self, database: str, table: str) -> None:
        """Hear that a name has no table any more; "" is each table of the database."""

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: i64, size: i64, seconds: float
    ) -> None:
        """Hear of a transaction up to `end`, which is `file:position`.

        It has `records` with `size` bytes, received and encoded within `seconds`.
        """

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        """Hear that changes of table `name`, or of one key of it, are kept back from now on."""
