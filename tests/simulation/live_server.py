"""A server that is written to while its log is read: how far it is, and what its tables hold.

Its log is a story's, and grows while it is looked at. Servers send a transaction before their
engine has committed it, so what a SELECT sees stays behind the log for a while; DDL does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid, MariadbGtidSet
from tests.simulation.log_writer import ORIGIN, ORIGIN_ID
from tests.simulation.server import ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from connector.replication.start_point import StartPoint
    from tests.simulation.log_writer import LogWriter
    from tests.simulation.select_session import ScriptedSession
    from tests.simulation.table_history import TableContent, TableHistory

# In how many of the moments in which it looks the log has grown.
_PACES = (0.02, 0.05, 0.15, 0.5, 1.0)
# In how many of them the engine commits some of what is in the log.
_COMMITS = (0.05, 0.3, 1.0)
_THROWN_OUT = 0.02

_LOG_POS = slice(13, 17)
_TYPE, _ROTATE = 4, 4
_ROTATE_NAME = slice(27, -4)


class LogEnd(NamedTuple):
    """A position in the log."""

    file: str
    position: int


class LiveServer(ScriptedServer):
    """Serves a log to replicas, and tables to sessions."""

    def __init__(
        self, server: ScriptedServer, writer: LogWriter, history: TableHistory, random: Random
    ) -> None:
        """Begin with an empty log; `server` has what `writer` wrote.

        Chance decides how fast others write, and how soon that is visible.
        """
        flavour = server.identity.flavour
        super().__init__(
            server.identity.server_uuid,
            flavour,
            server.files,
            server.executed,
            server.end,
            gtid_index=server.gtid_index,
        )
        self.history = history
        self.logged = 0  # groups in the log
        self.visible = 0  # groups that a SELECT sees
        # Tables that sessions have locked against writers.
        self.locks: dict[ScriptedSession, str] = {}
        self._random = random
        self._pace = random.choice(_PACES)
        self._commits = random.choice(_COMMITS)
        self._groups_before = writer.groups_before
        # Where the log ends, by the groups in it; behind a rotation that is the next file.
        self._ends: dict[int, list[LogEnd]] = {}
        for (file, position), groups in writer.groups_before.items():
            if position != 4:
                self._ends.setdefault(groups, []).append(LogEnd(file, position))
        # How many groups are in the log once it has the event that ends at a position.
        self._needed: dict[LogEnd, int] = {}
        for log in server.files:
            needed = max(n for (name, _), n in writer.groups_before.items() if name == log.name)
            for logged in reversed(log.events):
                log_end = LogEnd(log.name, logged.end)
                needed = writer.groups_before.get(log_end, needed)
                self._needed[log_end] = needed

    def dump(self, point: StartPoint) -> Iterator[bytes]:
        """Yield events, each of them once it is in the log; b"" while there is none."""
        file = ""
        for data in super().dump(point):
            if data[_TYPE] == _ROTATE:
                file = data[_ROTATE_NAME].decode()
            log_end = LogEnd(file, int.from_bytes(data[_LOG_POS], "little"))
            while self.logged < self._needed.get(log_end, 0):
                self.go_on()
                if self._random.random() < _THROWN_OUT:
                    # Who stands still with a lock, while another process waits for what follows.
                    for session in list(self.locks):
                        session.close()
                yield b""
            yield data

    def chosen(self, point: StartPoint) -> None:
        """Have what was read before, and show it where GTIDs tell that it is executed."""
        gtids = point.gtid_set
        if gtids is None:
            self._write_up_to(self._groups_before[point.file, point.position])
            return
        groups = self.groups_in(gtids)
        self._write_up_to(groups)
        if self.identity.flavour == "mysql":
            self.show(groups)

    def groups_in(self, gtids: GtidSet | MariadbGtidSet) -> int:
        """Return up to which group the log goes that has all of a set."""
        numbers = range(len(self.history.behind) - 1, 0, -1)
        if isinstance(gtids, GtidSet):
            return next((n for n in numbers if Gtid(ORIGIN, n) in gtids), 0)
        return next((n for n in numbers if MariadbGtid(0, ORIGIN_ID, n) in gtids), 0)

    def go_on(self) -> None:
        """Let time go by: others write, and what is in the log becomes visible."""
        if self._random.random() < self._pace:
            self._write_up_to(self.logged + self._random.choice((1, 1, 2)))
        if self._random.random() < self._commits:
            self.show(self._random.randint(self.visible, self.logged))

    def show(self, groups: int) -> None:
        """Let at least so many of the groups in the log be visible."""
        self.visible = max(self.visible, groups)

    def end_behind(self, groups: int) -> LogEnd:
        """Return where a log of so many groups ends: in the next file, once that has begun."""
        ends = self._ends[groups]
        if len(ends) > 1 and self._random.random() < 0.5:
            ends.pop(0)
        return ends[0]

    def table(self, name: str, groups: int | None = None) -> TableContent | None:
        """Return a table behind so many groups, by default the visible ones; None without it."""
        content = self.history.behind[self.visible if groups is None else groups].get(name)
        return content if content is not None and content.exists else None

    def _write_up_to(self, groups: int) -> None:
        locked = {table for session, table in self.locks.items() if not session.is_dead}
        last = min(groups, len(self.history.behind) - 1)
        while self.logged < last and not self.history.changed[self.logged + 1] & locked:
            self.logged += 1
        self.show(self.history.last_ddl[self.logged])
