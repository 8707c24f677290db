"""A log, of files or of a server, becomes events, transactions or changed rows.

Each reader goes over its log once: a second iteration continues where the first one stopped. This
is true for events and for transactions. The iteration over transactions reads one event ahead, so
use a reader for events or for transactions, not for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from connector.errors import ConfigError, arguments
from connector.reader.transactions.transaction import Transaction, row_changes_of, transactions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from connector.binlog.event import Event
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.binlog.framing.version import BinlogVersion
    from connector.reader.arrow.batches import ArrowBatch
    from connector.reader.readable_log import ReadableLog
    from connector.reader.selection import TransactionSelection
    from connector.reader.transactions.row_change import RowChange


class BinlogReader:
    """Reads one log from its start or a chosen position; it is a context manager.

    Iteration raises EventError for an event that cannot be read, LogTruncated if the log ends
    inside of one, LogRefused at the start of encryption; from a server also SourceUnavailable and
    SourceRefused.
    """

    def __init__(self, log: ReadableLog, selection: TransactionSelection | None = None) -> None:
        """Read `log`; see `open_binlog` and `open_server`."""
        self._log = log
        self._events = log.events() if selection is None else selection.select(log)
        self._transactions = transactions_of(self._events)

    @property
    def name(self) -> str:
        """The name of the current file, or of the server's log."""
        return self._log.name

    @property
    def version(self) -> BinlogVersion:
        """The format version of the current file."""
        return self._log.version

    @property
    def format(self) -> FormatDescriptionEvent:
        """The format description of the current file: the server's version, the checksums.

        Formats before v4 do not describe themselves; then it holds the facts that are certain.
        """
        return self._log.format

    @property
    def position(self) -> int:
        """Where the next event starts, in bytes from the start of the current file."""
        return self._log.position

    def __iter__(self) -> Iterator[Event]:
        """Iterate over the events that have not been read yet, as they are in the log.

        An event is returned only if its body can be read; most bodies are decoded when you use
        them. A compressed transaction is one event; its body's `events()` gives the inner events.
        """
        return self._events

    def transactions(self) -> Iterator[Transaction]:
        """Iterate over the transactions, in their order.

        No event stays in memory. If you ask for the next transaction, the unread events of the
        current one are skipped.
        """
        return self._transactions

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[RowChange]:
        """Iterate over the changed rows of all transactions.

        `schemas` has the names of a table's columns, by `database.table`, for logs without
        binlog_row_metadata=FULL.
        """
        return row_changes_of(self.transactions(), schemas)

    def to_arrow(
        self,
        tables: Sequence[str] | None = None,
        *,
        batch_rows: int = 65_536,
        dates_as_text: bool = False,
    ) -> Iterator[ArrowBatch]:
        """Iterate over the changed rows as Arrow record batches, each of one table.

        `tables` are patterns such as `shop.*`; without them, all tables are read. When
        `batch_rows` row images of all tables together are held, the largest batch is returned.
        `connector.reader.arrow.batches` lists the columns. Raises ConfigError without pyarrow.
        """
        try:
            from connector.reader.arrow.batches import arrow_batches  # noqa: PLC0415 # an optional extra
        except ImportError as error:
            raise ConfigError(arguments.NO_PYARROW) from error
        return arrow_batches(
            self.transactions(), tables, batch_rows=batch_rows, dates_as_text=dates_as_text
        )

    def close(self) -> None:
        """Close the log, and end an iteration that waits in another thread. Idempotent."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
