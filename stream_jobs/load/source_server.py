"""One server at which rows are read: its pace, and what is known of it.

A thread of its own asks it, so a server that accepts questions, and never answers them, delays
nobody else.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from math import inf
from typing import Final

from connector.binlog.gtid import GtidSet
from connector.foundation import errors
from connector.foundation.errors.message import Message, Words
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.server.addresses import address_of
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.watermark import log_end
from connector.stream.source.select_session import SelectSession
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.range_task import open_session
from stream_jobs.load.server_state import LAG_SECONDS, executed_gtids

Teller = Callable[..., None]

# A server is asked so often what it has, and how busy it is.
LOOK_SECONDS: Final = 0.5
# What it has said counts for so long, while it is asked again.
_ANSWER_SECONDS_MAX: Final = 2.0


class SourceServer:
    """One server: its pace, and the session of the thread that asks it.

    One thread begins questions, one at a time, and takes their answers. Any thread may close.
    """

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
        # The question whose answer nobody has taken.
        self.question: Future[None] | None = None
        self._settings = settings
        self._session: SelectSession | None = None
        self._is_over = False
        self._executed = GtidSet()
        # When it was asked what it has executed, and when it has last answered.
        self._looked_at = self._answered_at = -inf
        # What it did not have when it was asked for it, and since when.
        self._lacked: GtidSet | None = None
        self._late_since = 0.0

    def ask(self, question: Callable[[], None]) -> Future[None]:
        """Let a thread of the server run a question; return its answer.

        If no thread can be started, this is raised, and there is no question.
        """
        assert self.question is None
        answer = Future[None]()

        def run() -> None:
            try:
                question()
            except BaseException as error:  # noqa: BLE001 - who takes the answer raises it
                answer.set_exception(error)
            else:
                answer.set_result(None)

        threading.Thread(target=run, name=f"first-load {self.address}", daemon=True).start()
        self.question = answer
        return answer

    @property
    def session(self) -> SelectSession | None:
        """The session, for a question; None if there is none."""
        session = self._session
        return None if session is None or session.is_closed else session

    def log_in(self) -> SelectSession:
        """Return a new session, in a question.

        Raises the errors of the login, and SourceRefused without a right that ranges need.
        """
        session = open_session(self.source, self._settings)
        try:
            log_end(session)
        except BaseException:
            session.close()
            raise
        # A server that comes back may have less.
        self._executed = GtidSet()
        self._looked_at = self._answered_at = -inf
        self._lacked = None
        self._session = session
        if self._is_over:
            session.close()
        return session

    def leave(self) -> None:
        """End the session; a question that is under way raises SourceUnavailable."""
        if self._session is not None:
            self._session.close()

    def close(self) -> None:
        """End the session, and that of a login that is under way."""
        self._is_over = True
        self.leave()

    def is_known_for(self, wanted: GtidSet | None) -> bool:
        """Return whether it has answered of late, and has a set; None if GTIDs cannot tell."""
        is_late = CLOCK.monotonic() - self._answered_at > _ANSWER_SECONDS_MAX
        return self.session is not None and not is_late and self._has(wanted)

    def is_look_due(self, wanted: GtidSet | None) -> bool:
        """Return whether to look again before its rows are read."""
        is_late = CLOCK.monotonic() - self._answered_at >= LOOK_SECONDS
        return is_late or self.session is None or not self._has(wanted)

    def _has(self, wanted: GtidSet | None) -> bool:
        return wanted is None or wanted <= self._executed

    def look(self, session: SelectSession, wanted: GtidSet | None) -> None:
        """Ask what it has executed, if that is not enough yet, and how busy it is, in a question.

        Raises MirrorError if it has lacked the same for some seconds, the errors of the session,
        and ConfigError for a query of the user that does not return a number.
        """
        now = CLOCK.monotonic()
        if not self._has(wanted) and now - self._looked_at >= LOOK_SECONDS:
            self._executed = GtidSet.parse(executed_gtids(session))
            self._looked_at = now
        if self._has(wanted):
            self._lacked = None
        elif self._has(self._lacked):
            # It lacked nothing, or has come on since.
            self._lacked, self._late_since = wanted, now
        elif now - self._late_since > LAG_SECONDS:
            raise MirrorError(load_errors.LAGS, server=session.name)
        self.pace.look(session)
        self._answered_at = CLOCK.monotonic()


def _tell_held_back(tell: Teller, address: str, reads: float, why: Message) -> None:
    said = errors.fields(why.in_words(Words.URL))
    tell("load_held_back", server=address, reads=round(reads, 3), **said)
