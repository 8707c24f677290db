"""The position of the stream, which advances with each commit.

A transaction joins the GTID set at its commit; an unfinished one is read again in full after a
restart. A source without GTIDs resumes by file and offset. Rows after XA PREPARE wait for XA
COMMIT, so a restart reads these groups again, from before the position (`reads_from`). A server
whose logs are reset continues without a message: but each file says which transactions were before
it, and these must include everything that was read (`GtidHistory`).
"""

from dataclasses import dataclass
from typing import Final, final
from uuid import UUID

from mypy_extensions import i64

from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.foundation.errors import SourceUnavailable
from connector.replication.start_point import ServerIdentity, StartPoint, shortened_gtids
from connector.stream.changes.column_defaults import AddedColumn
from connector.stream.changes.receiver import TransactionEnd
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.changes.xa_transactions import RedeliveredGroups
from connector.stream.progress import progress_errors
from connector.stream.progress.progress_record import PreparedXa, Progress
from connector.stream.progress.sequences import GapCounter, GapSequence, TransactionOrder


@final
class GtidHistory:
    """Compares what was read with what the server's files say; one object for each stream."""

    def __init__(
        self, start: GtidSet | MariadbGtidSet | None, server_uuid: str, server_id: int
    ) -> None:
        """Begin after `start`, on the server with this UUID (MySQL) or id (MariaDB)."""
        self._start = None if start is None else start.copy()
        self._server_uuid = server_uuid
        self._server_id = server_id

    def missing(
        self, read: GtidSet | MariadbGtidSet | None, before: GtidSet | MariadbGtidSet
    ) -> GtidSet | MariadbGtidSet | None:
        """Return the part of `read` that must be in `before`, the list of a later file, but is not.

        It covers what came in this stream, and the server's own transactions. Transactions of other
        servers that were read elsewhere may come later in this log, or are not in it at all.
        """
        start = self._start
        if isinstance(start, GtidSet) and isinstance(read, GtidSet) and isinstance(before, GtidSet):
            missing = read - before
            if missing and missing.has_server(UUID(self._server_uuid)):
                return missing
            return missing - start
        if (
            isinstance(start, MariadbGtidSet)
            and isinstance(read, MariadbGtidSet)
            and isinstance(before, MariadbGtidSet)
        ):
            streamed = read - start
            return MariadbGtidSet.of(
                gtid
                for gtid in read - before
                if gtid.server_id == self._server_id or gtid in streamed
            )
        return None


_US: Final = 1_000_000


@dataclass(slots=True)
class Instance:
    """The process that writes progress records."""

    id: str
    host: str
    pid: int
    claimed: bool = False  # whether it has written a record


@final
class StreamPosition:
    """The position after the last committed transaction of one stream."""

    def __init__(
        self,
        identity: ServerIdentity,
        point: StartPoint,
        last: Progress | None = None,
        *,
        source: str = "",
        first_epoch: int = 1,
    ) -> None:
        """Start at `point`; `last` is the committed progress from which it was made.

        `source` is the server's HOST:PORT, `first_epoch` the epoch of a stream without progress.
        """
        self._identity = identity
        self._source = source
        # The delivered transactions; None for a stream by position.
        self.gtid_set = point.gtid_set.copy() if point.gtid_set is not None else None
        # The log file of the position, "" if the server has not named it; and the first byte after
        # the last transaction in it.
        self.file = point.file
        self.position: i64 = point.position
        # Start times: of the current file of the position, and of the one that is being read.
        self._file_created: i64 = point.file_created
        self._opened_created: i64 = point.file_created
        # When the source committed the last transaction; before the first one, as in `point`.
        self._time_us: i64 = point.time_us if last is None else last.source_time_us
        # Of the next transaction, what another program has delivered.
        self._begun_events: i64 = point.begun_events
        self._begun_rows: i64 = point.begun_rows
        self.has_begun = bool(point.begun_events or point.begun_rows)
        self._history = GtidHistory(point.gtid_set, identity.server_uuid, identity.server_id)
        self._seq = last.seq if last is not None else ""
        # Offset of the first command that was not taken up.
        self.commands_offset = last.commands_offset if last is not None else 0
        # The same of the first signal; None before the topic of signals is known.
        self.signals_offset = last.signals_offset if last is not None else None
        # The token of the last signal file that was done.
        self.signals_file = last.signals_file if last is not None else ""
        # Whether anything but a transaction changes the next progress record: a command or a
        # signal that was taken up.
        self.is_changed = False
        self.prepared_xa = PreparedXa(last.prepared if last is not None else [])
        # Whether the stream has come to the file of its position, in which it begins unless XA
        # transactions are read again; and whether the file that is being read follows that one.
        self._begins_earlier = self.reread() is not None
        self._is_at_file = False
        self._is_later_file = False
        # The file that the end of the one before it names, and whether that is the current one.
        self._next_file = ""
        self._is_next_file = False
        same_server = last is not None and last.server_uuid == identity.server_uuid
        self.order = _order_after(last, first_epoch, same_server=same_server)
        between = last.between if last is not None and same_server else 0
        self._between = GapCounter(self.order, self.file, self.position, between)

    @property
    def time_us(self) -> i64:
        """When the source was at the position, microseconds since the epoch, by its own log.

        It is the time of the last transaction. Without one, it is the source's clock when the
        stream began, or the time at which the source began the file. 0 if there is none.
        """
        if self._time_us:
            return self._time_us
        return (self._file_created or self._opened_created) * _US

    def begun_rows(self, event_number: i64) -> i64:
        """Return how many rows of an event of the next transaction were delivered; -1 means all."""
        if event_number < self._begun_events:
            return -1
        return self._begun_rows if event_number == self._begun_events else 0

    def between(self, count: int) -> GapSequence:
        """Return the sequences of `count` records that are written here, between two transactions.

        Raises UnsupportedChange if a sequence cannot count that far.
        """
        return self._between.take(self.file, self.position, count)

    def reread(self) -> RedeliveredGroups | None:
        """Return the part that is read again although it was delivered; None if none."""
        return self.prepared_xa.reread(self.gtid_set, self.file, self.position)

    def end_file(self, next_file: str) -> None:
        """Note that a file ends, and which one the server has begun after it."""
        self._next_file = next_file

    def begin_file(self, file: str, created: i64) -> None:
        """Note that the stream has come to a file that was begun at `created`, in seconds."""
        self._opened_created = created
        self._is_later_file = self._is_at_file
        self._is_next_file = file == self._next_file
        self._next_file = ""
        if not self._begins_earlier or file == self.file:
            self._is_at_file = True

    def check_history(self, file: str, before: GtidSet | MariadbGtidSet) -> None:
        """Note which transactions the server says were before the file that the stream has come to.

        Raises SourceUnavailable if transactions that were read are not among them: the next run
        checks whether the logs were reset. The file of the position holds some of them itself. Its
        list is sent, unless MariaDB begins after it because of an index of GTIDs.
        """
        if not self._is_later_file:
            return
        missing = self._history.missing(self.gtid_set, before)
        if isinstance(missing, MariadbGtidSet) and self._is_next_file:
            missing = _without_deleted(missing, before)
        if missing:
            raise SourceUnavailable(
                progress_errors.FILE_AFTER,
                address=self._source,
                file=file,
                gtids=shortened_gtids(missing),
            )

    def advance(self, committed: TransactionEnd) -> None:
        """Move past a transaction that is complete."""
        self._is_at_file = True
        gtid = committed.transaction.gtid
        gtid_set = self.gtid_set
        self._time_us = committed.transaction.committed_us
        if committed.prepared is not None or committed.outcome:
            self.prepared_xa.advance(committed, gtid_set)
        if isinstance(gtid, Gtid):
            if isinstance(gtid_set, GtidSet):
                gtid_set.add(gtid)
        elif isinstance(gtid, MariadbGtid) and isinstance(gtid_set, MariadbGtidSet):
            gtid_set.add(gtid)
        self.file = committed.file
        self.position = committed.next_position
        self._file_created = self._opened_created
        self._begun_events = self._begun_rows = 0
        self.has_begun = False

    def start_after(self, transaction: SourceTransaction) -> str:
        """Return the `source.start` that skips the next transaction, which is not delivered.

        "" for a stream by position, because only the log knows where the transaction ends.
        """
        gtid = transaction.gtid
        gtid_set = self.gtid_set
        if isinstance(gtid, Gtid) and isinstance(gtid_set, GtidSet):
            after = gtid_set.copy()
            after.add(gtid)
            return f"gtid:{after}"
        if isinstance(gtid, MariadbGtid) and isinstance(gtid_set, MariadbGtidSet):
            reached = gtid_set.copy()
            reached.add(gtid)
            return f"gtid:{reached}"
        return ""

    def progress(
        self,
        instance: Instance,
        seq: str,
        added_columns: dict[str, list[AddedColumn]],
        now_ms: int,
    ) -> Progress:
        """Return the progress record of this position.

        `seq` is that of the last published transaction; "" if there is none since the start.
        """
        self._seq = seq or self._seq
        self.is_changed = False
        return Progress(
            flavour=self._identity.flavour,
            gtid_set=None if self.gtid_set is None else str(self.gtid_set),
            file=self.file,
            position=self.position,
            epoch=self.order.epoch,
            seq=self._seq,
            server_uuid=self._identity.server_uuid,
            instance=instance.id,
            host=instance.host,
            pid=instance.pid,
            committed_at_ms=now_ms,
            added_columns={
                name: [[column.name, column.default.value, column.text] for column in columns]
                for name, columns in added_columns.items()
            },
            between=self._between.count_at(self.file, self.position),
            prepared=self.prepared_xa.records,
            commands_offset=self.commands_offset,
            signals_offset=self.signals_offset,
            signals_file=self.signals_file,
            file_created=self._file_created,
            source=self._source,
            begun_events=int(self._begun_events),
            begun_rows=int(self._begun_rows),
            source_time_us=int(self._time_us),
        )


def _order_after(last: Progress | None, first_epoch: int, *, same_server: bool) -> TransactionOrder:
    if last is None:
        return TransactionOrder(epoch=first_epoch)
    return TransactionOrder(
        epoch=last.epoch, file=last.file, position=last.position, same_server=same_server
    )


def _without_deleted(missing: MariadbGtidSet, before: GtidSet | MariadbGtidSet) -> MariadbGtidSet:
    """Return the GTIDs whose domains `before` has.

    FLUSH BINARY LOGS DELETE_DOMAIN_ID begins a file without a domain that no file has any more.
    Each file until then was read, so the domain was read to its end. Logs that are reset do not
    name the file that comes next. The position keeps the domain, because other servers may have it.
    """
    domains = {gtid.domain_id for gtid in before if isinstance(gtid, MariadbGtid)}
    return MariadbGtidSet.of(gtid for gtid in missing if gtid.domain_id in domains)
