"""Where the stream stands: progress that was read becomes a start point, commits become progress.

A GTID is complete only at its commit, so it joins the set then; an unfinished transaction is read
again in full after a restart. Positions are kept beside the set: they are what a source without
GTIDs resumes by, and what the order of changes continues from.

Rows behind XA PREPARE wait for XA COMMIT, so a restart reads these groups once more, from before
the place where the stream stands (`reads_from`); what else comes with them was delivered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from connector.binlog.framing.log_position import FIRST_POSITION
from connector.changes.added_columns import AddedColumn, DefaultKind
from connector.errors import SourceRefused, SourceUnavailable
from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.progress.between import BetweenOrder
from connector.progress.order import TransactionOrder
from connector.progress.prepared_xa import PreparedXa, held_records, set_before
from connector.progress.progress_record import Progress
from connector.progress.read_history import ReadHistory
from connector.progress.start_point import StartPoint, shown

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.earlier_runs import Reread
    from connector.changes.receiver import Committed
    from connector.changes.transaction import SourceTransaction
    from connector.progress.between import BetweenPlace
    from connector.progress.server_identity import ServerIdentity

_NEW_NAME = "give the pipeline a new name and set source.start"
_COPY_ANEW = f'{_NEW_NAME} = "snapshot"'


@dataclass(slots=True)
class Instance:
    """The process that writes progress records."""

    id: str
    host: str
    pid: int
    claimed: bool = False  # whether it has written one


@final
class StreamPosition:
    """The place behind the last committed transaction of one stream."""

    def __init__(
        self,
        identity: ServerIdentity,
        point: StartPoint,
        last: Progress | None = None,
        *,
        source: str = "",
        first_epoch: int = 1,
    ) -> None:
        """Start at `point`; `last` is the committed progress that it was made from.

        `source` is the HOST:PORT where the server was reached, `first_epoch` where the order begins
        without progress.
        """
        self._identity = identity
        self._source = source
        self._gtid_set = point.gtid_set.copy() if point.gtid_set is not None else None
        self._file = point.file
        self._position: i64 = point.position
        # Of the file where the stream stands, and of the one that is being read.
        self._file_created: i64 = point.file_created
        self._opened_created: i64 = point.file_created
        self._history = ReadHistory(point.gtid_set, identity.server_uuid, identity.server_id)
        self._seq = last.seq if last is not None else ""
        # Of the first request that was not taken up.
        self.commands_offset = last.commands_offset if last is not None else 0
        self.prepared_xa = PreparedXa(last.prepared if last is not None else [])
        # Whether the stream has come to the file where it stands, which holds a part of what was
        # read; so do those before it, where XA transactions are read again. MariaDB does not send
        # what was before the first file.
        self._reads_again = self.reread() is not None
        self._at_place = identity.flavour == "mariadb" and not self._reads_again
        same_server = last is None or last.server_uuid == identity.server_uuid
        self.order = (
            TransactionOrder(epoch=first_epoch)
            if last is None
            else TransactionOrder(
                epoch=last.epoch, file=last.file, position=last.position, same_server=same_server
            )
        )

        self._between = BetweenOrder(
            self.order,
            self._file,
            self._position,
            last.between if last is not None and same_server else 0,
        )

    @property
    def file(self) -> str:
        """The log file where the stream stands; "" where the server has not named it."""
        return self._file

    @property
    def position(self) -> i64:
        """The first byte behind the last transaction, in `file`."""
        return self._position

    @property
    def gtid_set(self) -> GtidSet | MariadbGtidSet | None:
        """What was delivered; None for a stream by position."""
        return self._gtid_set

    def between(self, count: int) -> BetweenPlace:
        """Return the place of `count` records that are written here, between two transactions.

        Raises UnsupportedChange where a sequence cannot count that far.
        """
        return self._between.take(self._file, self._position, count)

    def reread(self) -> Reread | None:
        """Return what is read again although it was delivered; None where nothing is."""
        return self.prepared_xa.reread(self._gtid_set, self._file, self._position)

    def opened(self, created: i64) -> None:
        """Take note that the stream has come to a file that was begun at `created`, in seconds."""
        self._opened_created = created

    def opened_behind(self, file: str, before: GtidSet | MariadbGtidSet) -> None:
        """Take note of what the server says was before a file that the stream has come to.

        Raises SourceUnavailable where what was read is not: the next run looks whether the logs
        were reset.
        """
        if not self._at_place:
            self._at_place = not self._reads_again or file == self._file
            return
        missing = self._history.missing(self._gtid_set, before)
        if missing:
            reason = (
                f"source {self._source}: {file} does not come behind transactions that were read: "
                f"{shown(missing)}: the logs may have been reset, which is looked at now"
            )
            raise SourceUnavailable(reason)

    def advance(self, committed: Committed) -> None:
        """Stand behind a transaction that is complete."""
        self._at_place = True
        gtid = committed.transaction.gtid
        gtid_set = self._gtid_set
        if committed.prepared is not None or committed.outcome:
            self.prepared_xa.advance(committed, gtid_set)
        if isinstance(gtid, Gtid):
            if isinstance(gtid_set, GtidSet):
                gtid_set.add(gtid)
        elif isinstance(gtid, MariadbGtid) and isinstance(gtid_set, MariadbGtidSet):
            gtid_set.add(gtid)
        self._file = committed.file
        self._position = committed.next_position
        self._file_created = self._opened_created

    def start_after(self, transaction: SourceTransaction) -> str:
        """Return the `source.start` after a transaction that comes next, and is not delivered.

        "" where only the log knows its end: a stream by position.
        """
        gtid = transaction.gtid
        gtid_set = self._gtid_set
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
        """Return the record that says so.

        `seq` is of the last transaction that was published; "" where there is none since the start.
        """
        self._seq = seq or self._seq
        return Progress(
            flavour=self._identity.flavour,
            gtid_set=None if self._gtid_set is None else str(self._gtid_set),
            file=self._file,
            position=self._position,
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
            between=self._between.count_at(self._file, self._position),
            prepared=self.prepared_xa.records,
            commands_offset=self.commands_offset,
            file_created=self._file_created,
            source=self._source,
        )


def start_point(last: Progress, identity: ServerIdentity, place: str) -> StartPoint:
    """Return where to resume behind `last`; `place` names the source in errors.

    By GTID, or by position where the stream has been by position: turning GTIDs on later does not
    tell which transactions have been read. Another server can be read by GTID alone: what it has of
    another's transactions keeps no position, no number in its XID and not always its order, so that
    nothing in its log is a sound mark to go on from. Raises SourceRefused when the source is one
    that `last` says nothing about.
    """
    if last.flavour != identity.flavour:
        reason = (
            f"{place}: the stream was read from {last.flavour}, this is {identity.flavour}: "
            f"{_COPY_ANEW}"
        )
        raise SourceRefused(reason)
    same_server = last.server_uuid == identity.server_uuid
    if last.gtid_set is None:
        if not same_server:
            reason = (
                f"{place}: the stream stands at {last.file}:{last.position} of server "
                f"{last.server_uuid}, but this is server {identity.server_uuid}, and positions "
                f"mean nothing on another server: go back to the first, or {_COPY_ANEW}; "
                "only with gtid_mode = ON from its start on can a stream change the server"
            )
            raise SourceRefused(reason)
        return StartPoint(identity.flavour, None, last.file, last.position, last.file_created)
    if identity.flavour == "mysql" and not identity.gtid:
        reason = (
            f"{place}: the stream has been read by GTID, but the server's gtid_mode is off: "
            f"SET GLOBAL gtid_mode back to ON, or {_NEW_NAME} = {_by_position(last, same_server)}"
        )
        raise SourceRefused(reason)
    gtids: GtidSet | MariadbGtidSet
    if identity.flavour == "mariadb":
        gtids = MariadbGtidSet.parse(last.gtid_set)
    else:
        gtids = GtidSet.parse(last.gtid_set)
    if not same_server:
        # Where the files of another server stand is not known before it has sent something.
        return StartPoint(identity.flavour, gtids, "", FIRST_POSITION)
    return StartPoint(identity.flavour, gtids, last.file, last.position, last.file_created)


def _by_position(last: Progress, same_server: bool) -> str:
    """Return the start of a stream that goes on by position, which no other server knows."""
    return f'"position:{last.file}:{last.position}"' if same_server else '"snapshot"'


def reads_from(point: StartPoint, last: Progress) -> StartPoint | None:
    """Return the place before `point` from where XA transactions are read again; None without any.

    `point` is where the stream stands by `last`.
    """
    held = held_records(last.prepared)
    if not held:
        return None
    if point.gtid_set is not None:
        gtids = set_before(point.gtid_set, held)
        return StartPoint(point.flavour, gtids, "", FIRST_POSITION)
    return StartPoint(point.flavour, None, held[0]["file"], held[0]["position"])


def awaited_columns(last: Progress) -> dict[str, list[AddedColumn]]:
    """Return the columns whose table has had no rows since ALTER TABLE."""
    return {
        name: [AddedColumn(column, DefaultKind(kind), text) for column, kind, text in columns]
        for name, columns in last.added_columns.items()
    }
