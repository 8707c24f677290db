"""The pace at which the tables of one server are read, by all threads of a process.

Before a thread reads, it waits for its turn. While some thread reads or waits, the server is asked
what the law of pace has to know.
"""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Final

import structlog

from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.beside_others import OthersWork
from connector.replication.read_pace import Figure, Hold, PaceState, ReadPace, ServerSample
from connector.replication.server.replication_status import lag_of, replica_status_query
from connector.stream.snapshot import copy_errors
from connector.stream.source.select_session import SelectSession

# The server is asked so often, at most; for the statements of others; and whether it is a replica.
_LOOK_SECONDS: Final = 0.5
_WORK_SECONDS: Final = 2.0
_REPLICA_SECONDS: Final = 60.0
# A thread that waits looks again after at most so long.
_WAIT_SECONDS_MAX: Final = 1.0
# The same reason is logged again after so long.
_LOG_SECONDS: Final = 30.0


@dataclass(slots=True)
class Read:
    """A read that goes on; the reader says how many rows it had."""

    rows: int = 0
    tables: int = 1  # that one statement reads


class SourcePace:
    """Lets threads read by the law of pace; several threads use it."""

    def __init__(
        self,
        settings: SnapshotSettings,
        rows_per_second: int = 0,
        tell: Callable[[float, Message], None] | None = None,
    ) -> None:
        """Read as `settings` allow, and at most `rows_per_second`; 0 does not limit them.

        `tell` gets how much may be read at a time, and why it is not more; without, the log has it.
        """
        self.settings = settings
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

    @contextmanager
    def read(self, session: SelectSession, closing: Event, kind: Hashable = None) -> Iterator[Read]:
        """Wait, then let the block read; rows of one `kind` take about the same time.

        Raises ConfigError for a query that does not return a number, and the errors of the session.
        """
        self._wait(session, closing, begins=True)
        began = CLOCK.monotonic()
        read = Read()
        try:
            yield read
        finally:
            with self._lock:
                now = CLOCK.monotonic()
                self._law.end(kind, read.rows, now - began, now, tables=read.tables)

    def wait(self, session: SelectSession, closing: Event) -> None:
        """Wait until something may be read, or `closing` is set; raises as `read`."""
        self._wait(session, closing, begins=False)

    def _wait(self, session: SelectSession, closing: Event, *, begins: bool) -> None:
        while True:
            self._look(session)
            with self._lock:
                now = CLOCK.monotonic()
                seconds = self._law.wait_seconds(now)
                may_read = not seconds or closing.is_set()
                if may_read and begins:
                    self._law.begin(now)
            if may_read:
                return
            closing.wait(min(seconds, _WAIT_SECONDS_MAX))

    def _look(self, session: SelectSession) -> None:
        """Ask the server if it was not asked just now."""
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
        running, lag, work = None, None, None
        if self._adapts:
            (row,) = session.query("SHOW GLOBAL STATUS LIKE 'Threads_running'")
            running = int(row["Value"] or 0)
            lag = self._lag(session, now)
            work = self._work(session, now)
        pause = 0.0 if self._query is None else _first_value(session, self._query)
        return ServerSample(running, lag, pause, work)

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
    return Message(code, {"found": hold.value, "limit": hold.limit})


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
