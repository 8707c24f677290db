"""The servers at which rows are read: which of them has room for the next range.

Each has its own pace. Of several, one that cannot be read is left out, and tried again later; the
others go on. One that does not have the watermark of a load yet is not asked for its ranges; it is
left out after some seconds.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final

from connector.binlog.gtid import GtidSet
from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.server.addresses import address_of
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.watermark import log_end
from connector.stream.source.select_session import SelectSession
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.range_task import open_session
from stream_jobs.load.server_state import (
    LAG_SECONDS,
    executed_gtids,
    in_words_of_url,
    is_proven_by_gtids,
    refuse_filters,
    refuse_late,
    refuse_own_transactions,
)
from stream_jobs.tables.load_state import SourceMoment

Teller = Callable[..., None]

# A server, or a table, that has a problem is tried again after so long.
RETRY_SECONDS: Final = 30.0
# A server that lags is asked so often what it has.
_LOOK_SECONDS: Final = 0.5
# While no server has room, they are looked at again after at most so long.
_WAIT_SECONDS_MAX: Final = 1.0


class SourceServer:
    """One server: its pace, and the session of the thread that hands out ranges."""

    def __init__(self, source: SourceSettings, settings: SnapshotSettings, tell: Teller) -> None:
        """Read at `source`, as `settings` allow; `tell` gets why it is not faster."""
        self.source = source
        self.address = address_of(source)
        self.pace = SourcePace(
            settings, tell=partial(_tell_held_back, tell, self.address), reads_here=False
        )
        # Why it is left out, and until when.
        self.problem: Message | None = None
        self.not_before = 0.0
        # Whether another thread has left it out, and the session is to be closed.
        self.is_left = False
        self._settings = settings
        self._session: SelectSession | None = None
        self._executed = GtidSet()
        self._looked_at = -inf
        self._late_since: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a session."""
        return self._session is not None and not self._session.is_closed

    def session(self) -> SelectSession:
        """Return the session; logs in if there is none.

        Raises the errors of the login, and SourceRefused without a right that ranges need.
        """
        if self._session is None or self._session.is_closed:
            session = open_session(self.source, self._settings)
            try:
                log_end(session)
            except BaseException:
                session.close()
                raise
            self._session = session
            # A server that comes back may have less.
            self._executed = GtidSet()
            self._looked_at, self._late_since = -inf, None
        return self._session

    def close(self) -> None:
        """End the session; only the thread that hands out ranges may do this."""
        if self._session is not None:
            self._session.close()

    def has(self, gtid_set: str) -> bool:
        """Return whether the server has executed a set, as far as is known.

        Raises MirrorError if it has lagged for some seconds, and the errors of the session.
        """
        wanted, now = GtidSet.parse(gtid_set), CLOCK.monotonic()
        if not wanted <= self._executed and now - self._looked_at >= _LOOK_SECONDS:
            self._executed = GtidSet.parse(executed_gtids(self.session()))
            self._looked_at = now
        if wanted <= self._executed:
            self._late_since = None
            return True
        if self._late_since is None:
            self._late_since = now
        if now - self._late_since > LAG_SECONDS:
            raise MirrorError(load_errors.LAGS, server=self.session().name)
        return False


def _tell_held_back(tell: Teller, address: str, reads: float, why: Message) -> None:
    tell("load_held_back", server=address, reads=round(reads, 3), **errors.fields(why))


class SourceServers:
    """All servers at which the rows of a job are read; one thread asks for those with room."""

    def __init__(
        self, sources: Sequence[SourceSettings], settings: SnapshotSettings, tell: Teller
    ) -> None:
        """Read at `sources`; `tell` gets which of them are left out, and why."""
        self._tell = tell
        self._servers = [SourceServer(source, settings, tell) for source in sources]
        self._lock = threading.Lock()

    @property
    def first(self) -> SourceServer:
        """The only one, unless there are several."""
        return self._servers[0]

    def close(self) -> None:
        """End the sessions."""
        for server in self._servers:
            server.close()

    def session_at(self, moment: DeliveredPosition) -> SelectSession:
        """Return a session on a server that has everything before a moment.

        Raises ConnectorError if there is none.
        """
        self._refuse_several(moment)
        if len(self._servers) == 1:
            self._join(self.first, moment)
            return self.first.session()
        # It comes from a topic, and goes into SQL.
        gtid_set = str(GtidSet.parse(moment.gtid or ""))
        # Those that have to be waited for come last.
        for waits in (False, True):
            for server in self._usable():
                try:
                    if not server.is_open:
                        self._join(server, moment)
                    if waits:
                        refuse_late(server.session(), gtid_set)
                    if waits or server.has(gtid_set):
                        self._take_back(server)
                        return server.session()
                except errors.ConnectorError as error:
                    self.leave_out(server, error.message)
        raise self._last_problem()

    def with_room(
        self,
        watermark: SourceMoment,
        moment: Callable[[], DeliveredPosition | None],
        closing: threading.Event,
    ) -> SourceServer | None:
        """Wait until a range of a load may be read at some server, and return it.

        None if `closing` is set. `moment` returns the newest one of the topics. Raises
        ConnectorError if no server can be read.
        """
        self._refuse_several(watermark)
        while not closing.is_set():
            turns = []
            for number, server in enumerate(self._usable()):
                newest = None if server.is_open else moment()
                try:
                    if not server.is_open:
                        if newest is None:
                            # Nobody can tell whether its rows may be read.
                            continue
                        self._join(server, newest)
                    if len(self._servers) == 1 or server.has(watermark.gtid or ""):
                        seconds, room = server.pace.turn(server.session())
                        turns.append((seconds, -room, number, server))
                except errors.ConnectorError as error:
                    if not self.leave_out(server, error.message):
                        raise
            if turns:
                seconds, _, _, server = min(turns)
                if not seconds:
                    self._take_back(server)
                    return server
                closing.wait(min(seconds, _WAIT_SECONDS_MAX))
            else:
                closing.wait(_LOOK_SECONDS)
        return None

    def leave_out(self, server: SourceServer, problem: Message) -> bool:
        """Read at other servers for a while; return False if there is no other one.

        Any thread may do this.
        """
        if len(self._servers) == 1:
            return False
        now = CLOCK.monotonic()
        with self._lock:
            if server.not_before > now:
                # Another range has said why.
                return True
            known, server.problem = server.problem, problem
            server.not_before = now + RETRY_SECONDS
            server.is_left = True
        if known is None or known.shown_code is not problem.shown_code:
            said = errors.fields(in_words_of_url(problem))
            self._tell("load_leaves_server", server=server.address, **said)
        return True

    def _refuse_several(self, moment: SourceMoment | DeliveredPosition) -> None:
        """Raise MirrorError if there are several, and no GTIDs tell whether they have a moment."""
        if len(self._servers) > 1 and not is_proven_by_gtids(moment):
            raise MirrorError(load_errors.SEVERAL_SERVERS)

    def _take_back(self, server: SourceServer) -> None:
        with self._lock:
            if server.not_before > CLOCK.monotonic():
                # A range there has just failed.
                return
            known, server.problem = server.problem, None
        if known is not None:
            self._tell("load_returns_to_server", server=server.address)

    def _join(self, server: SourceServer, moment: DeliveredPosition) -> None:
        """Log in, and raise MirrorError if the rows of a server may be others."""
        session = server.session()
        try:
            if len(self._servers) > 1 and session.identity.flavour != "mysql":
                raise MirrorError(load_errors.OTHER_SERVER, server=session.name)
            refuse_filters(session, moment)
            refuse_own_transactions(session, moment)
        except errors.ConnectorError:
            # The next look asks again.
            server.close()
            raise

    def _usable(self) -> list[SourceServer]:
        """Return the servers that are not left out now; raises if there is none."""
        now = CLOCK.monotonic()
        with self._lock:
            left = [server for server in self._servers if server.is_left]
            for server in left:
                server.is_left = False
        for server in left:
            server.close()
        with self._lock:
            usable = [server for server in self._servers if server.not_before <= now]
        if not usable:
            raise self._last_problem()
        return usable

    def _last_problem(self) -> MirrorError:
        """Return the problem of the first server, which has one."""
        problem = self.first.problem
        assert problem is not None
        return MirrorError(problem.code, **problem.facts)
