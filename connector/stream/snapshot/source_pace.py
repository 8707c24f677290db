"""The pace at which the tables of one server are read, by all threads of a process.

Before a thread reads, it waits for its turn. While some thread reads or waits, the server is asked
what the law of pace has to know.
"""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Final

import structlog

from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.beside_others import OthersWork
from connector.replication.read_pace import (
    CHUNK_SECONDS,
    ROWS_ALONE,
    CountedStatements,
    Figure,
    Hold,
    PaceState,
    ReadPace,
    ServerSample,
)
from connector.replication.server.replication_status import lag_of, replica_status_query
from connector.stream.snapshot import copy_errors
from connector.stream.source.select_session import SelectSession

# The server is asked so often, at most; for the statements of others; and whether it is a replica.
_LOOK_SECONDS: Final = 0.5
_WORK_SECONDS: Final = 2.0
_REPLICA_SECONDS: Final = 60.0
# A thread that waits looks again after at most so long.
_WAIT_SECONDS_MAX: Final = 1.0
_STATUS: Final = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running', 'Questions')"
# The same reason is logged again after so long.
_LOG_SECONDS: Final = 30.0


@dataclass(slots=True)
class Read:
    """A read that goes on, with one statement or several; the reader says how many rows it had."""

    # How many rows one statement may read.
    statement_rows: int
    # Lets others have their turn between two statements, if there are others; False: the read has
    # lasted long enough. The server is asked nothing in between, so a read may have a snapshot.
    rest: Callable[[], bool] = field(repr=False)
    rows: int = 0
    tables: int = 1  # that one statement reads
    # How long it has rested; and how long its statements took before the last rest.
    rested_seconds: float = 0.0
    paid_seconds: float = 0.0
    # How long the reader has rested by itself, for as long as the pace asks.
    own_rest_seconds: float = 0.0
    # How long it has read without a rest; None for a reader that does not rest by itself.
    unpaid_seconds: float | None = None

    @property
    def is_divided(self) -> bool:
        """Whether it has short statements, because others work at the server."""
        return self.statement_rows != ROWS_ALONE


class SourcePace:
    """Lets threads read by the law of pace; several threads use it."""

    def __init__(
        self,
        settings: SnapshotSettings,
        rows_per_second: int = 0,
        tell: Callable[[float, Message], None] | None = None,
        *,
        reads_here: bool = True,
    ) -> None:
        """Read as `settings` allow, and at most `rows_per_second`; 0 does not limit them.

        `tell` gets how much may be read at a time, and why it is not more; without, the log has it.
        Without `reads_here`, other processes read, whose statements are not counted.
        """
        self.settings = settings
        self._reads_here = reads_here
        # Whether performance_schema tells what others do: it does not count our account.
        self._is_measured = False
        self._tell = tell or _log
        self._adapts = settings.pace == "adaptive"
        self._query = settings.pause_query
        self._lock = threading.Lock()
        now = CLOCK.monotonic()
        self._law = ReadPace(
            settings.connections,
            now,
            threads_max=settings.threads_running_max,
            rows_per_second=rows_per_second,
            adapts=self._adapts,
        )
        self._looked_at = now - _LOOK_SECONDS
        # When to ask for the lag next; never if the account may not.
        self._lag_at: float | None = now
        # The same, of the statements of others.
        self._work_at: float | None = now
        self._logged: dict[Figure, float] = {}

    @classmethod
    def unlimited(cls, settings: SnapshotSettings) -> "SourcePace":
        """Return the pace of a server that need not be spared."""
        limits = {"pace": "full", "threads_running_max": 0, "pause_query": None}
        return cls(settings.model_copy(update=limits))

    @property
    def state(self) -> PaceState:
        """Return the pace now; any thread may ask."""
        pace, hold = self._law.pace, self._law.hold
        return PaceState(pace) if hold is None else PaceState(pace, hold.figure, _message(hold))

    @property
    def statement_rows(self) -> int:
        """How many rows one statement may read now; any thread may ask."""
        return self._law.statement_rows

    @contextmanager
    def read(
        self, session: SelectSession | None, closing: Event, kind: Hashable = None
    ) -> Iterator[Read]:
        """Wait, then let the block read; rows of one `kind` take about the same time.

        Without a session, it is the turn of the caller, as `turn` has said. Raises ConfigError for
        a query that does not return a number, and the errors of the session.
        """
        if session is None:
            with self._lock:
                self._law.begin(CLOCK.monotonic())
        else:
            self._wait(session, closing, begins=True)
        began = resumed = CLOCK.monotonic()

        def rest() -> bool:
            nonlocal resumed
            if not read.is_divided:
                return True
            with self._lock:
                ended = CLOCK.monotonic()
                read.paid_seconds += ended - resumed
                self._law.rest(ended - resumed, ended)
            may_go_on = self._rest(began + CHUNK_SECONDS, closing)
            resumed = CLOCK.monotonic()
            read.rested_seconds += resumed - ended
            return may_go_on

        read = Read(self._law.statement_rows, rest)
        try:
            yield read
        finally:
            with self._lock:
                now = CLOCK.monotonic()
                seconds = read.paid_seconds + now - resumed - read.own_rest_seconds
                paid = read.paid_seconds
                if read.unpaid_seconds is not None:
                    paid = max(0.0, seconds - read.unpaid_seconds)
                # Rows of short statements take longer for that alone.
                kind = kind, read.is_divided
                self._law.end(kind, read.rows, seconds, now, tables=read.tables, paid=paid)

    def _rest(self, until: float, closing: Event) -> bool:
        """Wait for the next turn of a read; return False if that is not before `until`."""
        while True:
            with self._lock:
                now = CLOCK.monotonic()
                seconds = self._law.wait_seconds(now)
                is_over = closing.is_set() or now + seconds >= until
                if is_over or not seconds:
                    self._law.begin(now)
                    return not is_over
            closing.wait(seconds)

    def wait(self, session: SelectSession, closing: Event) -> None:
        """Wait until something may be read, or `closing` is set; raises as `read`."""
        self._wait(session, closing, begins=False)

    def turn(self) -> tuple[float, float]:
        """Return in how many seconds a read may begin, and how many reads more than now may go on.

        For one thread that chooses between servers at which others `look`, and then calls `read`.
        """
        with self._lock:
            room = self._law.pace - self._law.running
            return self._law.wait_seconds(CLOCK.monotonic()), room

    def _wait(self, session: SelectSession, closing: Event, *, begins: bool) -> None:
        while True:
            self.look(session)
            with self._lock:
                now = CLOCK.monotonic()
                seconds = self._law.wait_seconds(now)
                may_read = not seconds or closing.is_set()
                if may_read and begins:
                    self._law.begin(now)
            if may_read:
                return
            closing.wait(min(seconds, _WAIT_SECONDS_MAX))

    def look(self, session: SelectSession) -> None:
        """Ask the server if it was not asked just now; raises as `read`."""
        if not self._adapts and self._query is None:
            return
        with self._lock:
            now = CLOCK.monotonic()
            if now - self._looked_at < _LOOK_SECONDS:
                return
            self._looked_at = now
        sample = self._sample(session, now)
        with self._lock:
            self._law.take(sample, CLOCK.monotonic())
        self._report()

    def _sample(self, session: SelectSession, now: float) -> ServerSample:
        pause = 0.0 if self._query is None else _first_value(session, self._query)
        if not self._adapts:
            return ServerSample(pause=pause)
        own_running, before = self._own_running, session.statements_sent
        found = {
            (row["Variable_name"] or "").lower(): int(row["Value"] or 0)
            for row in session.query(_STATUS)
        }
        own_running = max(own_running, self._own_running)
        work = self._work(session, now)
        self._is_measured |= work is not None
        counted = None
        if self._reads_here and not self._is_measured:
            # What other threads of this process have sent meanwhile is counted by half.
            own = (before + session.statements_sent) / 2
            counted = CountedStatements(found["questions"], own)
        return ServerSample(
            found["threads_running"],
            self._lag(session, now),
            pause,
            work,
            counted,
            own_running,
            session.identity.server_uuid,
        )

    @property
    def _own_running(self) -> float:
        """How many own statements may run; readers elsewhere rest by themselves."""
        running = self._law.running
        return running if self._reads_here else running * min(1.0, self._law.pace)

    def _lag(self, session: SelectSession, now: float) -> float | None:
        if self._lag_at is None or now < self._lag_at:
            return None
        try:
            channels = session.query(replica_status_query(session.identity))
        except errors.SourceRefused:
            # It needs a right of its own.
            self._lag_at = None
            return None
        if not channels:
            self._lag_at = now + _REPLICA_SECONDS
        return lag_of(channels)

    def _work(self, session: SelectSession, now: float) -> OthersWork | None:
        if self._work_at is None or now < self._work_at:
            return None
        try:
            work = work_of_others(session)
        except errors.SourceRefused:
            # It needs a right of its own.
            self._work_at = None
            return None
        self._work_at = now + _WORK_SECONDS
        return work

    def _report(self) -> None:
        reads, figure, why = self.state
        if figure is None or why is None:
            return
        now = CLOCK.monotonic()
        if now - self._logged.get(figure, now - _LOG_SECONDS) < _LOG_SECONDS:
            return
        self._logged[figure] = now
        self._tell(reads, why)


def _log(reads: float, why: Message) -> None:
    structlog.get_logger().info("reading is held back", reads=round(reads, 3), **errors.fields(why))


# What other users than that of the session have done. Threads of the server have no user.
_WORK: Final = """
    SELECT SUM(count_star) AS statements, SUM(sum_timer_wait) AS picoseconds
    FROM performance_schema.events_statements_summary_by_account_by_event_name
    WHERE event_name LIKE 'statement/sql/%' AND user <> SUBSTRING_INDEX(USER(), '@', 1)
"""


def work_of_others(session: SelectSession) -> OthersWork | None:
    """Return what statements of other users have done since the server began to count.

    None if it counts nothing, as without performance_schema, or if nobody else has worked. Raises
    SourceRefused without the right to read it.
    """
    (row,) = session.query(_WORK)
    if row["statements"] is None:
        return None
    return OthersWork(int(row["statements"]), int(row["picoseconds"] or 0) / 1e12)


def _message(hold: Hold) -> Message:
    if hold.figure is Figure.QUERY:
        return Message(copy_errors.PAUSE_WANTED, {"value": hold.value})
    code = _CODES[hold.figure]
    facts = {"found": hold.value, "limit": hold.limit}
    if hold.figure is Figure.OTHERS:
        facts["rate"] = hold.per_second
    return Message(code, facts)


_CODES: Final = {
    Figure.THREADS: copy_errors.THREADS_RUNNING,
    Figure.LAG: copy_errors.REPLICA_LAGS,
    Figure.LATENCY: copy_errors.SLOW_ROWS,
    Figure.OTHERS: copy_errors.BESIDE_OTHERS,
}


def _first_value(session: SelectSession, query: str) -> float:
    rows = session.query(query)
    value = next(iter(rows[0].values()), None) if rows else None
    try:
        return float(value or 0)
    except ValueError as error:
        raise errors.ConfigError(copy_errors.PAUSE_QUERY, server=session.name) from error
