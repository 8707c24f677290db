"""Where the stream stands: progress that was read becomes a start point, commits become progress.

A GTID is complete only at its commit, so it joins the set then; an unfinished transaction is read
again in full after a restart. Positions are kept beside the set: they are what a source without
GTIDs resumes by, and what the order of changes continues from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from connector.changes.added_columns import AddedColumn, DefaultKind
from connector.envelope.order import TransactionOrder
from connector.envelope.progress import Progress
from connector.errors import SourceRefused
from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.source.start import StartPoint

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.changes.transaction import Committed
    from connector.source.mysql_server import ServerIdentity

_NEW_NAME = "give the pipeline a new name and set source.start"


@dataclass(frozen=True, slots=True)
class Instance:
    """The process that writes progress records."""

    id: str
    host: str
    pid: int


@final
class Standing:
    """The place behind the last committed transaction of one stream."""

    def __init__(
        self, identity: ServerIdentity, point: StartPoint, last: Progress | None = None
    ) -> None:
        """Start at `point`; `last` is the committed progress that it was made from."""
        self._identity = identity
        self._gtid_set = point.gtid_set.copy() if point.gtid_set is not None else None
        self._file = point.file
        self._position: i64 = point.position
        self._seq = last.seq if last is not None else ""
        same_server = last is None or last.server_uuid == identity.server_uuid
        self.order = (
            TransactionOrder()
            if last is None
            else TransactionOrder(
                epoch=last.epoch, file=last.file, position=last.position, same_server=same_server
            )
        )

    def advance(self, committed: Committed) -> None:
        """Stand behind a transaction that is complete."""
        gtid = committed.transaction.gtid
        gtid_set = self._gtid_set
        if isinstance(gtid, Gtid):
            if isinstance(gtid_set, GtidSet):
                gtid_set.add(gtid)
        elif isinstance(gtid, MariadbGtid) and isinstance(gtid_set, MariadbGtidSet):
            gtid_set.add(gtid)
        self._file = committed.file
        self._position = committed.next_position

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
        )


def start_point(last: Progress, identity: ServerIdentity, place: str) -> StartPoint:
    """Return where to resume behind `last`; `place` names the source in errors.

    By GTID, or by position where the stream has been by position: turning GTIDs on later does not
    tell which transactions have been read. Raises SourceRefused when the source is one that `last`
    says nothing about.
    """
    if last.flavour != identity.flavour:
        reason = (
            f"{place}: the stream was read from {last.flavour}, this is {identity.flavour}: "
            f"{_NEW_NAME}"
        )
        raise SourceRefused(reason)
    if last.gtid_set is None:
        if last.server_uuid != identity.server_uuid:
            reason = (
                f"{place}: the stream stands at {last.file}:{last.position} of server "
                f"{last.server_uuid}, but this is server {identity.server_uuid}, and positions "
                f"mean nothing on another server: go back to the first, or {_NEW_NAME}"
            )
            raise SourceRefused(reason)
        return StartPoint(identity.flavour, None, last.file, last.position)
    if identity.flavour == "mariadb":
        mariadb_gtids = MariadbGtidSet.parse(last.gtid_set)
        return StartPoint("mariadb", mariadb_gtids, last.file, last.position)
    if not identity.gtid:
        reason = (
            f"{place}: the stream has been read by GTID, but the server's gtid_mode is off: "
            f"SET GLOBAL gtid_mode back to ON, or {_NEW_NAME}"
        )
        raise SourceRefused(reason)
    return StartPoint("mysql", GtidSet.parse(last.gtid_set), last.file, last.position)


def added_columns(last: Progress) -> dict[str, list[AddedColumn]]:
    """Return the columns whose table has had no rows since ALTER TABLE."""
    return {
        name: [AddedColumn(column, DefaultKind(kind), text) for column, kind, text in columns]
        for name, columns in last.added_columns.items()
    }
