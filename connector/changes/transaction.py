"""What the assembler hands on: pieces of source transactions, in order.

A transaction is one or more `RowsChange` and `StatementChange`, closed by `Committed`. Pieces are
handed on as they arrive, so a transaction of any size passes in bounded memory; whoever takes them
must drop them again unless `Committed` follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.binlog.rows_event import RowsEvent
    from connector.changes.added_columns import AddedColumn
    from connector.changes.statement import StatementKind
    from connector.gtid import Gtid, MariadbGtid


@dataclass(slots=True)
class Transaction:
    """A group of events that the source committed as one."""

    file: str
    position: int  # of the first event, our own 64-bit count
    gtid: Gtid | MariadbGtid | None
    committed_us: int  # when the original server committed, microseconds since the epoch
    server_id: int
    thread_id: int | None = None

    @property
    def id(self) -> str:
        """The GTID, or `file:position` where the source has none."""
        return str(self.gtid) if self.gtid is not None else f"{self.file}:{self.position}"


@dataclass(slots=True)
class RowsChange:
    """Rows of one followed table, as one rows event holds them."""

    transaction: Transaction
    event_number: int  # counts the rows and QUERY events of the transaction, from 0
    event: Event
    rows: RowsEvent


@dataclass(slots=True)
class StatementChange:
    """DDL on a followed table."""

    transaction: Transaction
    event_number: int
    event: Event
    kind: StatementKind
    database: str
    table: str
    added_columns: list[AddedColumn]
    query: str


@dataclass(slots=True)
class Committed:
    """The transaction is complete; `next_position` is the first byte behind it."""

    transaction: Transaction
    file: str
    next_position: int


Change = RowsChange | StatementChange | Committed
