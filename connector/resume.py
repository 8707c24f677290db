"""Where the stream stands: progress that was read becomes a start point, commits become progress.

A GTID is complete only at its commit, so it joins the set then; an unfinished transaction is read
again in full after a restart. Positions are kept beside the set: they are what a source without
GTIDs resumes by, and what the order of changes continues from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.mariadb_events import MariadbGtidListEvent
from connector.changes.added_columns import AddedColumn, DefaultKind
from connector.envelope.order import TransactionOrder
from connector.envelope.progress import Progress
from connector.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.source.start import StartPoint

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.changes.transaction import Committed
    from connector.source.mysql_server import ServerIdentity


@dataclass(frozen=True, slots=True)
class Instance:
    """The process that writes progress records."""

    id: str
    host: str
    pid: int


class Standing:
    """The place behind the last committed transaction of one stream."""

    def __init__(
        self, identity: ServerIdentity, point: StartPoint, last: Progress | None = None
    ) -> None:
        """Start at `point`; `last` is the committed progress that it was made from."""
        self._identity = identity
        self._gtid_set = point.gtid_set.copy() if point.gtid_set is not None else None
        # Starting by position on MariaDB, the state comes with the first GTID_LIST event.
        self._awaits_gtid_list = identity.flavour == "mariadb" and not self._gtid_set
        self._file = point.file
        self._position = point.position
        self._seq = last.seq if last is not None else ""
        same_server = last is None or last.server_uuid == identity.server_uuid
        self.order = (
            TransactionOrder()
            if last is None
            else TransactionOrder(
                epoch=last.epoch, file=last.file, position=last.position, same_server=same_server
            )
        )

    def observe(self, event: Event) -> None:
        """Take MariaDB's GTID state where the stream was started by position."""
        if self._awaits_gtid_list and isinstance(event.body, MariadbGtidListEvent):
            state = self._gtid_set = MariadbGtidSet()
            for gtid in event.body.gtids:
                state.add(gtid)
            self._awaits_gtid_list = False

    def advance(self, committed: Committed, seq: str) -> None:
        """Stand behind a transaction that is complete; `seq` is "" when nothing was published."""
        gtid = committed.transaction.gtid
        if isinstance(gtid, Gtid) and isinstance(self._gtid_set, GtidSet):
            self._gtid_set.add(gtid)
        elif isinstance(gtid, MariadbGtid):
            if not isinstance(self._gtid_set, MariadbGtidSet):
                self._gtid_set = MariadbGtidSet()
            self._gtid_set.add(gtid)
            self._awaits_gtid_list = False
        self._file = committed.file
        self._position = committed.next_position
        self._seq = seq or self._seq

    def progress(
        self, instance: Instance, added_columns: dict[str, list[AddedColumn]], now_ms: int
    ) -> Progress:
        """Return the record that says so."""
        return Progress(
            flavour=self._identity.flavour,
            gtid_set="" if self._gtid_set is None else str(self._gtid_set),
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


def start_point(last: Progress, identity: ServerIdentity) -> StartPoint:
    """Return where to resume behind `last`: by GTID where the source has it, else by position."""
    gtid_set: GtidSet | MariadbGtidSet | None = None
    if identity.flavour == "mariadb":
        gtid_set = MariadbGtidSet.parse(last.gtid_set) if last.gtid_set else None
    elif identity.gtid:
        gtid_set = GtidSet.parse(last.gtid_set)
    return StartPoint(identity.flavour, gtid_set, last.file, last.position)


def added_columns(last: Progress) -> dict[str, list[AddedColumn]]:
    """Return the columns whose table has had no rows since ALTER TABLE."""
    return {
        name: [AddedColumn(column, DefaultKind(kind), text) for column, kind, text in columns]
        for name, columns in last.added_columns.items()
    }
