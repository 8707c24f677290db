"""Log files become what a server sends to a replica that asks for a position in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.events.mariadb import MariadbGtidListEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from connector.binlog.header import FIRST_POSITION, EventType
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.replication.start_point import ServerIdentity, StartPoint
from tests.binlog.encoders import encoded
from tests.binlog.log_bytes import event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.simulation.log_writer import Flavour, LogFile

_ARTIFICIAL = 0x20
_MARIADB_LIST_FLAGS = 0


class ScriptedServer:
    """A server whose log is complete; it serves any number of replicas."""

    def __init__(
        self,
        name: str,
        flavour: Flavour,
        files: list[LogFile],
        executed: GtidSet | MariadbGtidSet | None,
        end: tuple[str, int],
        *,
        gtid_index: bool = True,
    ) -> None:
        """Serve `files`; `name` becomes the server's UUID.

        `executed` is everything that the log holds, None where positions are all that there is;
        `end` is the position after its last group. `gtid_index` says whether MariaDB finds a GTID
        in a file without reading the file.
        """
        version = "8.0.31" if flavour == "mysql" else "11.8.6-MariaDB"
        number = (8, 0, 31) if flavour == "mysql" else (11, 8, 6)
        self.identity = ServerIdentity(flavour, version, number, name, 1, gtid=executed is not None)
        self.files = files
        self.executed = executed
        self.end = end
        self.gtid_index = gtid_index

    @property
    def earliest(self) -> StartPoint:
        """The beginning of the log."""
        first = self.files[0]
        gtids = first.previous.copy() if first.previous is not None else None
        if not self.identity.gtid:
            gtids = None
        return StartPoint(self.identity.flavour, gtids, first.name, FIRST_POSITION)

    def chosen(self, point: StartPoint) -> None:
        """Take note of a replica that goes on behind `point`, which this server has."""

    def dump(self, point: StartPoint) -> Iterator[bytes]:
        """Yield everything behind `point`, and what servers make up for replicas."""
        gtids = point.gtid_set
        if isinstance(gtids, GtidSet):
            return self._behind_mysql_gtids(gtids)
        if isinstance(gtids, MariadbGtidSet):
            return self._behind_mariadb_gtids(gtids)
        return self._behind_position(point.file, point.position)

    def heartbeat(self) -> bytes:
        """Return what the server sends when there is nothing else."""
        last = self.files[-1]
        return event(EventType.HEARTBEAT_LOG_EVENT, last.name.encode(), log_pos=last.end)

    def _behind_position(self, name: str, position: int) -> Iterator[bytes]:
        names = [file.name for file in self.files]
        if name not in names:
            raise SourceRefused(
                dump_errors.NO_FILE,
                server="source scripted",
                file=name,
                first=names[0],
                last=names[-1],
            )
        for file in self.files[names.index(name) :]:
            first = position if file.name == name else FIRST_POSITION
            yield _fake_rotate(file.name, first)
            for logged in file.events:
                if logged.position >= first:
                    yield logged.data
                elif logged.position == FIRST_POSITION:
                    yield _without_position(logged.data)

    def _behind_mysql_gtids(self, gtids: GtidSet) -> Iterator[bytes]:
        for file in self._files_behind(gtids):
            yield _fake_rotate(file.name, FIRST_POSITION)
            skipped_to = 0
            for logged in file.events:
                if isinstance(logged.gtid, Gtid) and logged.gtid in gtids:
                    skipped_to = logged.end
                    continue
                if skipped_to:
                    yield event(
                        EventType.HEARTBEAT_LOG_EVENT, file.name.encode(), log_pos=skipped_to
                    )
                    skipped_to = 0
                yield logged.data

    def _behind_mariadb_gtids(self, gtids: MariadbGtidSet) -> Iterator[bytes]:
        for number, file in enumerate(self._files_behind(gtids)):
            yield _fake_rotate(file.name, FIRST_POSITION)
            skipped_to = 0
            events = file.events
            if number == 0 and self.gtid_index:
                # The index leads behind the list.
                yield _without_position(events[0].data)
                events = events[2:]
            for logged in events:
                if isinstance(logged.gtid, MariadbGtid) and logged.gtid in gtids:
                    skipped_to = logged.end
                    continue
                if skipped_to:
                    body = encoded(MariadbGtidListEvent(list(gtids), _MARIADB_LIST_FLAGS))
                    yield event(
                        EventType.GTID_LIST_EVENT, body, log_pos=skipped_to, flags=_ARTIFICIAL
                    )
                    skipped_to = 0
                yield logged.data

    def _files_behind(self, gtids: GtidSet | MariadbGtidSet) -> list[LogFile]:
        """Return the files from the last one on that begins with nothing outside of the set."""
        first = 0
        for number, file in enumerate(self.files):
            previous = file.previous
            if (
                isinstance(previous, GtidSet) and isinstance(gtids, GtidSet) and previous <= gtids
            ) or (
                isinstance(previous, MariadbGtidSet)
                and isinstance(gtids, MariadbGtidSet)
                and previous <= gtids
            ):
                first = number
        return self.files[first:]


def _fake_rotate(name: str, position: int) -> bytes:
    body = position.to_bytes(8, "little") + name.encode()
    return event(EventType.ROTATE_EVENT, body, flags=_ARTIFICIAL, timestamp=0)


def _without_position(data: bytes) -> bytes:
    """Return a format description as it is sent to a replica that begins in the middle."""
    body = data[19:-4]
    return event(EventType.FORMAT_DESCRIPTION_EVENT, body, timestamp=0)
