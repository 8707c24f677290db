"""The servers at which rows are read: which of them has room for the next range.

Each has its own pace, and is asked by a thread of its own. Of several, one that cannot be read is
left out, and tried again later; the others go on. One that has not answered yet, or does not have
the watermark of a load yet, is not asked for its ranges; if it lags, it is left out after some
seconds.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from typing import Final

from connector.binlog.gtid import GtidSet
from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.stream.source.select_session import SelectSession
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.server_state import (
    in_words_of_url,
    is_proven_by_gtids,
    refuse_filters,
    refuse_own_transactions,
)
from stream_jobs.load.source_server import LOOK_SECONDS, SourceServer, Teller
from stream_jobs.tables.load_state import SourceMoment

# A server, or a table, that has a problem is tried again after so long.
RETRY_SECONDS: Final = 30.0
# So long is an answer waited for, before the others are taken without it.
_ANSWER_SECONDS: Final = 0.5
# While no server has room, they are looked at again after at most so long.
_WAIT_SECONDS_MAX: Final = 1.0

Newest = Callable[[], DeliveredPosition | None]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How the source is read."""

    sources: Sequence[SourceSettings]
    settings: SnapshotSettings
    range_rows: int


class SourceServers:
    """All servers at which the rows of a job are read; one thread asks for those with room."""

    def __init__(self, plan: LoadPlan, tell: Teller) -> None:
        """Read at the sources of `plan`; `tell` gets which of them are left out, and why."""
        self._tell = tell
        self._servers = [SourceServer(source, plan.settings, tell) for source in plan.sources]
        self._lock = threading.Lock()
        # By UUID, the address at which a server is read.
        self._read_at: dict[str, SourceServer] = {}

    @property
    def first(self) -> SourceServer:
        """The only one, unless there are several."""
        return self._servers[0]

    def close(self) -> None:
        """End the sessions."""
        for server in self._servers:
            server.close()

    def ready(self, moment: SourceMoment | DeliveredPosition, newest: Newest) -> list[SourceServer]:
        """Return the servers that have answered of late, and have everything before a moment.

        `newest` returns the newest moment of the topics. Raises ConnectorError if no server can be
        read.
        """
        if len(self._servers) == 1:
            wanted = None
        elif is_proven_by_gtids(moment):
            wanted = GtidSet.parse(moment.gtid or "")
        else:
            raise MirrorError(load_errors.SEVERAL_SERVERS)
        self._take_answers()
        awaited = []
        for server in self._usable():
            if server.question is None and server.is_look_due(wanted):
                question = server.ask(partial(self._look, server, wanted, newest))
                if not server.is_known_for(wanted):
                    awaited.append(question)
        futures.wait(awaited, _ANSWER_SECONDS)
        self._take_answers()
        return [server for server in self._usable() if server.is_known_for(wanted)]

    def _take_answers(self) -> None:
        """Leave out the servers at which a question has failed; raises if that is the only one."""
        for server in self._servers:
            if server.question is None or not server.question.done():
                continue
            error, server.question = server.question.exception(), None
            if isinstance(error, errors.ConnectorError) and self.leave_out(server, error.message):
                continue
            if error is not None:
                raise error

    def _look(self, server: SourceServer, wanted: GtidSet | None, newest: Newest) -> None:
        """Ask a server whether its rows may be read, and at which pace."""
        session = server.session
        if session is None:
            moment = newest()
            if moment is None:
                # Nobody can tell whether its rows may be read.
                return
            session = self.join(server, moment)
        server.look(session, wanted)

    def with_room(
        self, watermark: SourceMoment, newest: Newest, closing: threading.Event
    ) -> SourceServer | None:
        """Wait until a range of a load may be read at some server, and return it.

        None if `closing` is set. Raises as `ready`.
        """
        while not closing.is_set():
            turns = []
            for number, server in enumerate(self.ready(watermark, newest)):
                seconds, room = server.pace.turn()
                turns.append((seconds, -room, number, server))
            if not turns:
                self._await_answer(closing)
                continue
            seconds, _, _, server = min(turns)
            if not seconds:
                self.take_back(server)
                return server
            closing.wait(min(seconds, _WAIT_SECONDS_MAX))
        return None

    def _await_answer(self, closing: threading.Event) -> None:
        asked = [server.question for server in self._servers if server.question is not None]
        if asked:
            futures.wait(asked, LOOK_SECONDS, futures.FIRST_COMPLETED)
        else:
            closing.wait(LOOK_SECONDS)

    def is_read(self, server: SourceServer) -> bool:
        """Return whether a server is not left out now; any thread may ask."""
        with self._lock:
            return server.not_before <= CLOCK.monotonic()

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
        server.leave()
        if known is None or known.shown_code is not problem.shown_code:
            said = errors.fields(in_words_of_url(problem))
            self._tell("load_leaves_server", server=server.address, **said)
        return True

    def take_back(self, server: SourceServer) -> None:
        """Note that a server is read again."""
        with self._lock:
            if server.not_before > CLOCK.monotonic():
                # A range there has just failed.
                return
            known, server.problem = server.problem, None
        if known is not None:
            self._tell("load_returns_to_server", server=server.address)

    def join(self, server: SourceServer, moment: DeliveredPosition) -> SelectSession:
        """Return the session of a server, in a question; logs in if there is none.

        Raises MirrorError if its rows may be others, or if it is read at another address.
        """
        session = server.session or server.log_in()
        try:
            if len(self._servers) > 1 and session.identity.flavour != "mysql":
                raise MirrorError(load_errors.OTHER_SERVER, server=session.name)
            self._refuse_read(server, session)
            refuse_filters(session, moment)
            refuse_own_transactions(session, moment)
        except errors.ConnectorError:
            # The next look asks again.
            server.leave()
            raise
        return session

    def _refuse_read(self, server: SourceServer, session: SelectSession) -> None:
        """Raise MirrorError if the server of a session is read at another address: it has one pace.

        If that address cannot be read any more, this one can.
        """
        uuid = session.identity.server_uuid
        with self._lock:
            known = self._read_at.get(uuid, server)
            there = known.session
            if known is not server and there is not None and there.identity.server_uuid == uuid:
                facts = {"server": session.name, "other": known.address}
                raise MirrorError(load_errors.SAME_SERVER, **facts)
            self._read_at[uuid] = server

    def _usable(self) -> list[SourceServer]:
        """Return the servers that are not left out now; raises if there is none."""
        now = CLOCK.monotonic()
        with self._lock:
            usable = [server for server in self._servers if server.not_before <= now]
        if not usable:
            raise self._last_problem()
        return usable

    def _last_problem(self) -> MirrorError:
        """Return the problem of the first server, or of that which is the same one."""
        problems = [server.problem for server in self._servers if server.problem is not None]
        own = (problem for problem in problems if problem.code is not load_errors.SAME_SERVER)
        problem = next(own, problems[0])
        return MirrorError(problem.code, **problem.facts)
