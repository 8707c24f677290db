"""Pieces of source transactions: changed rows, and statements."""

from typing import final

from mypy_extensions import i64, mypyc_attr

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.statement import StatementKind
from connector.stream.changes.column_defaults import AddedColumn
from connector.stream.changes.column_lists import ColumnListEdits


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class SourceTransaction:
    """A group of events that the source committed as one."""

    __slots__ = (
        "_id",
        "committed_us",
        "file",
        "gtid",
        "position",
        "server_id",
        "thread_id",
    )

    def __init__(
        self,
        file: str,
        position: i64,
        gtid: Gtid | MariadbGtid | None,
        committed_us: i64,
        server_id: i64,
        thread_id: int | None = None,
    ) -> None:
        """Begin at `position` of `file`, the 64-bit position of the first event.

        `committed_us` is when the original server committed, microseconds since the epoch.
        """
        self.file = file
        self.position: i64 = position
        self.gtid = gtid
        self.committed_us: i64 = committed_us
        self.server_id: i64 = server_id
        self.thread_id = thread_id
        self._id = ""

    @property
    def id(self) -> str:
        """The GTID, or `file:position` if the source has no GTIDs."""
        if not self._id:
            gtid = self.gtid
            self._id = str(gtid) if gtid is not None else f"{self.file}:{self.position}"
        return self._id


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class RowsChange:
    """Rows of one followed table, from one rows event."""

    __slots__ = ("event", "event_number", "rows", "transaction")

    def __init__(
        self, transaction: SourceTransaction, event_number: i64, event: Event, rows: RowsEvent
    ) -> None:
        """`event_number` counts the rows and QUERY events of the transaction, from 0."""
        self.transaction = transaction
        self.event_number: i64 = event_number
        self.event = event
        self.rows = rows


@final
class LoggedStatement:
    """A statement of a transaction, as the log has it."""

    __slots__ = ("event", "event_number", "query", "transaction")

    def __init__(
        self, transaction: SourceTransaction, event_number: i64, event: Event, query: str
    ) -> None:
        """Hold the text of `event`; `event_number` as in `RowsChange`."""
        self.transaction = transaction
        self.event_number: i64 = event_number
        self.event = event
        self.query = query


@final
class StatementChange:
    """DDL on a followed table."""

    __slots__ = (
        "added_columns",
        "database",
        "edits",
        "event",
        "event_number",
        "kind",
        "query",
        "resync",
        "table",
        "transaction",
    )

    def __init__(
        self,
        logged: LoggedStatement,
        kind: StatementKind,
        database: str,
        table: str,
        added_columns: list[AddedColumn],
        resync: str = "",
    ) -> None:
        """Change `table`, or all of `database` if it is "".

        `resync` says why the rows of `table` must be copied again; "" if they need not.
        """
        self.transaction = logged.transaction
        self.event_number: i64 = logged.event_number
        self.event = logged.event
        self.kind = kind
        self.database = database
        self.table = table
        self.added_columns = added_columns
        self.query = logged.query
        self.resync = resync
        # What happens to the column list; None if that is not certain.
        self.edits: ColumnListEdits | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class RowsReceiver:
    """Takes changed rows, in their order."""

    def rows(self, change: RowsChange) -> None:
        """Take changed rows."""
        raise NotImplementedError
