"""Facts about a stream for the log and for copies of tables.

None of these facts becomes a record: a listener writes a line to the log, or copies a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from connector.changes.table_filter import TableListener

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.changes.transaction import SourceTransaction, StatementChange


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamListener(TableListener):
    """Gets each fact at once, in the thread of the stream; this base class does nothing."""

    def event_skipped(self, event: Event) -> None:
        """An event of an unknown type was ignored, because its server flagged it as ignorable."""

    def statement_seen(self, change: StatementChange) -> None:
        """DDL on a followed table has run."""

    def rows_dropped(self, database: str, table: str) -> None:
        """Rows are not published, because the columns of their dropped table are unknown."""

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        """A table must be copied again, after the current transaction."""

    def table_ended(self, database: str, table: str) -> None:
        """A name holds no table any more; "" means every table of the database."""

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: i64, size: i64, seconds: float
    ) -> None:
        """A large transaction has been read up to `end`, which is `file:position`.

        It has `records` with `size` bytes, received and encoded within `seconds`.
        """

    def event_updated(self, database: str, table: str) -> None:
        """Updates of an outbox table have no events; told once for a column list."""

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        """From now on, changes of table `name`, or of one key of it, are held back."""
