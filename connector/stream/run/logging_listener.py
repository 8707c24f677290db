"""A listener of the stream that writes log lines, and requests to copy tables again."""

import structlog

from connector.binlog.event import Event
from connector.binlog.header import event_name
from connector.foundation.errors import line
from connector.stream.changes import changes_errors
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.transaction import SourceTransaction, StatementChange
from connector.stream.snapshot.copy_backlog import CopyQueue


class LoggingListener(StreamListener):
    """Writes a log line for each fact, and requests copies."""

    def __init__(self, queue: CopyQueue) -> None:
        self._log = structlog.get_logger()
        self._queue = queue

    def table_left_out(self, database: str, table: str) -> None:
        self._log.info(
            "not published: a table of an online schema change, by its name; name it without a "
            "wildcard in source.tables to publish it",
            table=f"{database}.{table}",
        )

    def sequence_left_out(self, database: str, table: str) -> None:
        self._log.info("not published: a sequence, which is no table", table=f"{database}.{table}")

    def event_skipped(self, event: Event) -> None:
        self._log.warning(
            **line(changes_errors.IGNORED_EVENT),
            type=event_name(event.header.type_code),
            position=f"{event.file}:{event.position}",
        )

    def statement_seen(self, change: StatementChange) -> None:
        self._log.info(
            "DDL",
            kind=change.kind.value,
            table=".".join(filter(None, (change.database, change.table))),
            position=f"{change.event.file}:{change.event.position}",
            gtid=_gtid(change.transaction),
            copied_anew=change.resync or None,
        )

    def rows_dropped(self, database: str, table: str) -> None:
        self._log.warning(
            "not published: rows that the log does not describe, of a table that has been "
            "dropped since; the statement takes all rows of the table back",
            table=f"{database}.{table}",
        )

    def event_updated(self, database: str, table: str) -> None:
        self._log.warning(
            "not published: updates of an outbox; each event is a row of its own",
            table=f"{database}.{table}",
        )

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        self._queue.add(database, table, reason)

    def table_ended(self, database: str, table: str) -> None:
        self._queue.forget(database, table)

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: int, size: int, seconds: float
    ) -> None:
        self._log.info(
            "large transaction",
            records=records,
            bytes=size,
            seconds=round(seconds, 1),
            position=f"{transaction.file}:{transaction.position}",
            end=end,
            gtid=_gtid(transaction),
        )

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        self._log.warning(
            "changes that cannot be published are kept in quarantine",
            table=name,
            fenced="a key" if of_key else "the table",
            since=since,
            reason=reason,
        )


def _gtid(transaction: SourceTransaction) -> str | None:
    return None if transaction.gtid is None else str(transaction.gtid)
