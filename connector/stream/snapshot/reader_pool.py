"""Threads that read tables, each over its own connection."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from queue import SimpleQueue

from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.start_point import ServerIdentity
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.snapshot.jobs import Job, PassChunk, PassReady, Result
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.table_reader import Pause, TableReader
from connector.stream.source.select_session import SelectSession

_JOIN_SECONDS = 5.0
# A table that others have locked waits, and its copy is tried again later. While a session waits
# for a lock, others that come later may wait, too.
_LOCKS = "SET SESSION lock_wait_timeout = 5, innodb_lock_wait_timeout = 5"
# On MariaDB a chunk is read in a transaction, whose metadata lock must not outlast a connector that
# hangs in the middle of it; seconds.
_IDLE = "SET SESSION idle_transaction_timeout = 30"


class ReaderPool:
    """Does jobs in `snapshot.connections` threads; `results` has their answers."""

    def __init__(
        self,
        source: SourceSettings,
        settings: SnapshotSettings,
        identity: ServerIdentity,
        debezium: DebeziumProfile | None = None,
    ) -> None:
        """Read from the server of `source`, which must be `identity`; see `TableReader`."""
        self._debezium = debezium
        self.results: SimpleQueue[Result] = SimpleQueue()
        self.pace = SourcePace(settings)
        self._source = source
        self._settings = settings
        self._identity = identity
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
        """Do `job`, after the jobs that were submitted before."""
        self._jobs.put(job)

    def go_on(self) -> None:
        """Let a reader continue that reads a table at once.

        It waits for this call after `PassReady` and each `PassChunk`.
        """
        self._go_on.release()

    def cancel(self, copy: int) -> None:
        """Stop the reading of a table that is read at once."""
        self._cancelled.add(copy)

    def close(self) -> None:
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
        reader = TableReader(self._open_session, self.pace, self._closing, self._debezium)
        while (job := self._jobs.get()) is not None:
            self._answer(reader, job)
        reader.close()

    def _answer(self, reader: TableReader, job: Job) -> None:
        with closing(reader.answers(job)) as answers:
            for answer in answers:
                if isinstance(answer, Pause):
                    self._closing.wait(answer.seconds)
                    continue
                self.results.put(answer)
                if isinstance(answer, (PassReady, PassChunk)):
                    self._go_on.acquire()
                    if self._closing.is_set() or job.copy in self._cancelled:
                        return

    @contextmanager
    def _open_session(self) -> Iterator[SelectSession]:
        session = SelectSession.on(
            self._identity, self._source, self._settings.statement_seconds_max
        )
        with self._lock:
            self._sessions.add(session)
            ended = self._closing.is_set()
        if ended:
            session.close()
        try:
            session.query(_LOCKS)
            if session.identity.flavour == "mariadb":
                session.query(_IDLE)
            yield session
        finally:
            with self._lock:
                self._sessions.discard(session)
            with suppress(OSError):
                session.close()
