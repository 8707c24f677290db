"""A listener that keeps what a stream tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.stream.changes.receiver import StreamListener

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.stream.changes.transaction import SourceTransaction, StatementChange


class Heard(StreamListener):
    """What was told, by its kind; tables as `database.table`."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self.skipped: list[Event] = []
        self.statements: list[StatementChange] = []
        self.dropped: list[str] = []
        self.resyncs: list[tuple[str, str, str]] = []
        self.ended: list[tuple[str, str]] = []
        self.large: list[tuple[SourceTransaction, str, int, int]] = []
        self.fences: list[tuple[str, bool]] = []

    def table_left_out(self, database: str, table: str) -> None:
        self.left_out.append(f"{database}.{table}")

    def event_skipped(self, event: Event) -> None:
        self.skipped.append(event)

    def statement_seen(self, change: StatementChange) -> None:
        self.statements.append(change)

    def rows_dropped(self, database: str, table: str) -> None:
        self.dropped.append(f"{database}.{table}")

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        self.resyncs.append((database, table, reason))

    def table_ended(self, database: str, table: str) -> None:
        self.ended.append((database, table))

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: int, size: int, seconds: float
    ) -> None:
        del seconds
        self.large.append((transaction, end, records, size))

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        del since, reason
        self.fences.append((name, of_key))
