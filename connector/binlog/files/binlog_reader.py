"""The reader of a log: `open_binlog` opens files, and `BinlogReader` iterates over what they hold.

A log becomes events, transactions or changed rows. Each reader goes over its log once: a second
iteration continues where the first one stopped. This is true for events and for transactions. The
iteration over transactions reads one event ahead, so use a reader for events or for transactions,
not for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Self

from connector.binlog.event import Event
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.files.byte_source import FileOptions, LogSource
from connector.binlog.files.file_sequence import FileSequence
from connector.binlog.header import FIRST_POSITION, BinlogVersion
from connector.binlog.transactions import transaction, transaction_selection
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors

if TYPE_CHECKING:
    from connector.binlog.arrow.batches import ArrowBatch


class BinlogReader:
    """Reads one log from its start or a chosen position; it is a context manager.

    Iteration raises EventError for an event that cannot be read, LogTruncated if the log ends
    inside of one, LogRefused at the start of encryption; from a server also SourceUnavailable and
    SourceRefused.
    """

    def __init__(
        self,
        log: transaction_selection.ReadableLog,
        selection: transaction_selection.TransactionSelection | None = None,
    ) -> None:
        """Read `log`; see `open_binlog` and `open_server`."""
        self._log = log
        self._events = log.events() if selection is None else selection.select(log)
        self._transactions = transaction.transactions_of(self._events)

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

    def transactions(self) -> Iterator[transaction.Transaction]:
        """Iterate over the transactions, in their order.

        No event stays in memory. If you ask for the next transaction, the unread events of the
        current one are skipped.
        """
        return self._transactions

    def row_changes(
        self, *, schemas: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[transaction.RowChange]:
        """Iterate over the changed rows of all transactions.

        `schemas` has the names of a table's columns, by `database.table`, for logs without
        binlog_row_metadata=FULL.
        """
        return transaction.row_changes_of(self.transactions(), schemas)

    def to_arrow(
        self,
        tables: Sequence[str] | None = None,
        *,
        batch_rows: int = 65_536,
        dates_as_text: bool = False,
    ) -> Iterator[ArrowBatch]:
        """Iterate over the changed rows as Arrow record batches, each of one table.

        `tables` are patterns such as `shop.*`; without them, all tables are read. When
        `batch_rows` row images of all tables together are held, or 64 MiB of them, the largest
        batch is returned.
        `connector.binlog.arrow.batches` lists the columns. Raises ConfigError without pyarrow.
        """
        try:
            from connector.binlog.arrow.batches import arrow_batches  # noqa: PLC0415 # an optional extra
        except ImportError as error:
            raise ConfigError(settings_errors.NO_PYARROW) from error
        return arrow_batches(
            self.transactions(), tables, batch_rows=batch_rows, dates_as_text=dates_as_text
        )

    def close(self) -> None:
        """Close the log, and end an iteration that waits in another thread. Idempotent.

        If the other thread reads a pipe, wait until bytes come or the pipe ends.
        """
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_binlog(
    source: LogSource,
    *,
    name: str | None = None,
    start_position: int = FIRST_POSITION,
    start_gtid: transaction_selection.AnyGtid | str | None = None,
    skip_gtids: transaction_selection.AnyGtidSet | str | None = None,
    start_time: datetime | None = None,
    stop_time: datetime | None = None,
    verify_checksum: bool = True,
    follow: bool = False,
    idle_timeout_seconds: float | None = None,
) -> BinlogReader:
    """Open one log: a path, bytes, or a binary file object, which the caller closes.

    The first bytes show whether it is compressed by gzip or Zstandard. `name` replaces the file's
    name in events and messages.

    *Selection.* `start_position` is the start of an event, in bytes from the start of the file; the
    events that describe the log still come first. The other options select whole transactions:
    from the one with `start_gtid` on, those that are not in `skip_gtids` (a MariaDB position means
    everything up to it), and those whose first event is not before `start_time`, up to the first
    one that is not before `stop_time`.

    *The end.* A log that is still open ends cleanly after its last event. With `follow`, reading
    continues while the file grows, and in the files after it, until `close` is called or no event
    has come for `idle_timeout_seconds`.

    Raises OSError for a path that cannot be opened, ConfigError for bad arguments, LogRefused for
    a file that is not a supported log, LogTruncated for a log without a whole event, and EventError
    for a first event that cannot be read.
    """
    return open_binlogs(
        [source],
        name=name,
        start_position=start_position,
        start_gtid=start_gtid,
        skip_gtids=skip_gtids,
        start_time=start_time,
        stop_time=stop_time,
        verify_checksum=verify_checksum,
        follow=follow,
        idle_timeout_seconds=idle_timeout_seconds,
    )


def open_binlogs(
    sources: Sequence[LogSource],
    *,
    name: str | None = None,
    start_position: int = FIRST_POSITION,
    start_gtid: transaction_selection.AnyGtid | str | None = None,
    skip_gtids: transaction_selection.AnyGtidSet | str | None = None,
    start_time: datetime | None = None,
    stop_time: datetime | None = None,
    verify_checksum: bool = True,
    follow: bool = False,
    idle_timeout_seconds: float | None = None,
) -> BinlogReader:
    """Open several logs, which are read in the given order, with the options of `open_binlog`.

    `name` and `start_position` refer to the first log; `follow` refers to the last one.
    """
    selection = transaction_selection.TransactionSelection(
        start_gtid=start_gtid, skip_gtids=skip_gtids, start_time=start_time, stop_time=stop_time
    )
    options = FileOptions(name, start_position, verify_checksum, follow, idle_timeout_seconds)
    return BinlogReader(FileSequence(sources, options), selection)
