"""Threads that read tables, each on a connection of its own.

What breaks for now is tried again here, on a new connection: the stream does not stop because a
copy has to wait.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

import structlog

from connector.errors import SourceRefused, SourceUnavailable, TransientError
from connector.snapshot.jobs import (
    ChunkJob,
    ChunkRead,
    Failed,
    Job,
    PassBusy,
    PassChunk,
    PassJob,
    PassReady,
    PlanJob,
    Result,
    TableChanged,
)
from connector.snapshot.keyset import select_chunk
from connector.snapshot.one_pass import read_at_once
from connector.snapshot.plan import plan, table_exists
from connector.snapshot.throttle import Throttle
from connector.snapshot.watermark import log_end, read_behind
from connector.source.identity import another_answered
from connector.source.select_session import SelectSession
from connector.source.selected_table import SelectedTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.config import SnapshotSettings, SourceSettings
    from connector.envelope.selected_chunk import Chunk
    from connector.envelope.selected_rows import SelectedRowWriter
    from connector.source.identity import ServerIdentity

_MS = 1000
_NS_PER_US = 1000
_PAUSE_SECONDS = 0.5
_PAUSE_SECONDS_MAX = 30.0
_JOIN_SECONDS = 5.0

# A SELECT that took longer than it may: ER_QUERY_TIMEOUT, ER_STATEMENT_TIMEOUT (MariaDB).
_TIMEOUTS = frozenset({3024, 1969})
# The table is gone, or another one: ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE,
# ER_TABLE_DEF_CHANGED.
_CHANGED = frozenset({1049, 1054, 1146, 1412})
# ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR.
_DENIED = frozenset({1142, 1143, 1044})


class Readers:
    """Does jobs in `snapshot.connections` threads; `results` has what they answer."""

    def __init__(
        self, source: SourceSettings, settings: SnapshotSettings, identity: ServerIdentity
    ) -> None:
        """Read from the server of `source`, which is `identity`."""
        self.results: SimpleQueue[Result] = SimpleQueue()
        self._source = source
        self._settings = settings
        self._identity = identity
        self._throttle = Throttle(settings)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closing = threading.Event()
        # Released for the one reader that reads a table at once.
        self._go_on = threading.Semaphore(0)
        self._cancelled: set[int] = set()
        self._lock = threading.Lock()
        self._sessions: set[SelectSession] = set()
        self._threads = [
            threading.Thread(target=self._work, name=f"copy-{n}", daemon=True)
            for n in range(settings.connections)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """Do `job`, behind those that were submitted before."""
        self._jobs.put(job)

    def go_on(self) -> None:
        """Let a reader that reads a table at once do the next step.

        Behind `PassReady` and each `PassChunk` it waits for that.
        """
        self._go_on.release()

    def cancel(self, copy: int) -> None:
        """Do not go on with a table that is read at once."""
        self._cancelled.add(copy)

    def close(self) -> None:
        """End the connections and the threads."""
        self._closing.set()
        for _ in self._threads:
            self._jobs.put(None)
        self._go_on.release(len(self._threads))
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)

    def _work(self) -> None:
        session: SelectSession | None = None
        while (job := self._jobs.get()) is not None:
            pause = _PAUSE_SECONDS
            while not self._closing.is_set():
                try:
                    session = session or self._open_session()
                    self._do(session, job)
                    break
                except TransientError as error:
                    self._close_session(session)
                    session = None
                    if not self._closing.is_set() and not self._goes_on(job, error, pause):
                        break
                    pause = min(pause * 2, _PAUSE_SECONDS_MAX)
                except Exception as error:  # noqa: BLE001 - raised again by whoever takes results
                    self.results.put(Failed(job, error))
                    break
        self._close_session(session)

    def _goes_on(self, job: Job, error: TransientError, pause: float) -> bool:
        """Return, after a pause, whether a job is to be tried again."""
        if isinstance(job, PassJob):
            # The stream must not stand still meanwhile.
            self.results.put(PassBusy(job, str(error)))
            return False
        structlog.get_logger().warning(
            "reading of a table was interrupted", error=str(error), retry_in_seconds=pause
        )
        self._closing.wait(pause)
        return True

    def _do(self, session: SelectSession, job: Job) -> None:
        self._throttle.wait(session, self._closing)
        try:
            if isinstance(job, PlanJob):
                self.results.put(plan(session, job, self._settings))
            elif isinstance(job, PassJob):
                self._read_at_once(session, job)
            else:
                self.results.put(self._read_chunk(session, job))
        except SourceRefused as error:
            name = job.table if isinstance(job, PlanJob) else job.table.schema.table
            database = job.database if isinstance(job, PlanJob) else job.table.schema.database
            if error.number in _CHANGED or (not error.number and not _exists(session, job)):
                gone = not _exists(session, job)
                self.results.put(TableChanged(job, log_end(session), gone, str(error)))
                return
            if error.number in _DENIED:
                wanted = "SELECT, LOCK TABLES" if isinstance(job, PassJob) else "SELECT"
                reason = (
                    f"{session.place}: table {database}.{name} cannot be copied: the account may "
                    f"not read it: GRANT {wanted} ON `{database}`.* TO the account of source.user"
                )
                raise SourceRefused(reason) from error
            raise

    def _read_at_once(self, session: SelectSession, job: PassJob) -> None:
        changed = self._changed(session, job)
        if changed is not None:
            self.results.put(changed)
            return
        for result in read_at_once(session, self._locking_session, job, self._closing):
            self.results.put(result)
            if isinstance(result, (PassReady, PassChunk)):
                self._go_on.acquire()
                if self._closing.is_set() or job.copy in self._cancelled:
                    return

    def _read_chunk(self, session: SelectSession, job: ChunkJob) -> Result:
        limit = job.limit
        writer = job.table.writer()
        while True:
            read_us = time.time_ns() // _NS_PER_US
            try:
                (chunk, is_whole), end = read_behind(
                    session,
                    job.delivered,
                    partial(self._select, session, job, writer, limit),
                    self._closing,
                    transactional=job.transactional,
                )
            except (SourceUnavailable, SourceRefused) as error:
                if error.number not in _TIMEOUTS:
                    raise
                session.query("ROLLBACK")
                if limit == 1:
                    seconds = self._settings.statement_seconds_max
                    raise _too_slow(job.table.name, job.where, seconds) from error
                limit = max(1, limit // 2)
                continue
            break
        changed = self._changed(session, job)
        if changed is not None:
            return changed
        return ChunkRead(job, chunk, limit, is_whole and chunk.count < limit, end, read_us)

    def _select(
        self,
        session: SelectSession,
        job: ChunkJob,
        writer: SelectedRowWriter,
        limit: int,
        lock: str,
    ) -> tuple[Chunk, bool]:
        """Return the rows, and whether those are all of the statement."""
        seconds = self._settings.statement_seconds_max
        mariadb = session.identity.flavour == "mariadb"
        before = f"SET STATEMENT max_statement_time = {seconds:.3f} FOR " if mariadb else ""
        hint = "" if mariadb else f"/*+ MAX_EXECUTION_TIME({max(1, int(seconds * _MS))}) */ "
        sql = select_chunk(job.table, job.range, job.after, job.where, limit, hint)
        pieces = session.read_chunks(f"{before}{sql}{lock}", writer, job.bytes_max)
        chunk, is_whole = next(pieces)
        for _ in pieces:
            # What is beyond the bytes that a chunk may have is read again with the next one.
            continue
        return chunk, is_whole

    def _changed(self, session: SelectSession, job: ChunkJob | PassJob) -> TableChanged | None:
        """Return that the table is not as it was planned; None where it is."""
        planned = job.table
        try:
            table = SelectedTable.describe(session, planned.schema.database, planned.schema.table)
        except SourceRefused as error:
            return TableChanged(job, log_end(session), not _exists(session, job), str(error))
        if table == planned:
            return None
        return TableChanged(job, log_end(session), False, "it has other columns, or another key")

    def _open_session(self) -> SelectSession:
        session = SelectSession(self._source, self._settings.statement_seconds_max)
        if session.identity.server_uuid != self._identity.server_uuid:
            # A proxy or a moved address led this login elsewhere than the stream's.
            session.close()
            raise another_answered(session.place)
        with self._lock:
            self._sessions.add(session)
            closing = self._closing.is_set()
        if closing:
            session.close()
        return session

    @contextmanager
    def _locking_session(self) -> Iterator[SelectSession]:
        session = self._open_session()
        try:
            yield session
        finally:
            self._close_session(session)

    def _close_session(self, session: SelectSession | None) -> None:
        if session is None:
            return
        with self._lock:
            self._sessions.discard(session)
        with suppress(OSError):
            session.close()


def _exists(session: SelectSession, job: Job) -> bool:
    """Return whether the account can see the table."""
    if isinstance(job, PlanJob):
        database, table = job.database, job.table
    else:
        database, table = job.table.schema.database, job.table.schema.table
    return table_exists(session, database, table)


def _too_slow(table: str, where: str, seconds: float) -> SourceUnavailable | SourceRefused:
    """Return the error for a SELECT of one row that took too long.

    A condition without an index does not become faster; a server that is busy does.
    """
    reason = (
        f"copy of table {table}: the server needs more than {seconds:g} seconds for one row: raise "
        "snapshot.statement_seconds_max"
    )
    if where:
        return SourceRefused(f"{reason}, or choose a condition that an index answers")
    return SourceUnavailable(reason)
