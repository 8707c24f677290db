"""What copies tables in a simulated run: readers that no thread drives, and requests to copy."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from connector.foundation.errors import SourceUnavailable
from connector.replication import dump_errors
from connector.stream.changes.cascades import ForeignKeySnapshot, ForeignKeySource
from connector.stream.changes.foreign_keys import ForeignKey, ForeignKeys
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.snapshot.copy_recovery import CopyPeers
from connector.stream.snapshot.jobs import GroupRead, PassChunk, PassReady
from connector.stream.snapshot.reader_pool import ReaderPool
from connector.stream.snapshot.source_pace import Read, SourcePace
from connector.stream.snapshot.table_reader import Pause, TableReader
from connector.stream.snapshot.table_state import snapshot_topic
from connector.stream.source.select_session import SelectSession
from tests.simulation.copied_story import LOSING, MOVING
from tests.simulation.faults import Call, Fault
from tests.simulation.live_server import LiveServer
from tests.simulation.run import PREFIX, SETTINGS, Beside
from tests.simulation.select_session import ScriptedSession
from tests.simulation.story import DATABASE, OTHER_TABLE

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterator, Sequence

    from connector.binlog.sql_text import TableName
    from connector.foundation.settings.sections import Settings, SnapshotSettings, SourceSettings
    from connector.replication.start_point import ServerIdentity
    from connector.stream.envelope.debezium.profile import DebeziumProfile
    from connector.stream.snapshot.jobs import Job, Result
    from tests.simulation.world import Process, World

CONNECTIONS = 2


# What a row of a parent that is deleted, or gets another text, does to rows of other tables.
_KEYS = ForeignKeys(
    ForeignKey(
        (DATABASE, child),
        (DATABASE, OTHER_TABLE),
        [("text", "text")],
        "CASCADE" if child in LOSING else "",
        "" if child in LOSING else "CASCADE",
        identifies=False,
    )
    for child in (*LOSING, MOVING)
)


# Of a chunk: fewer bytes than anybody may configure, so that chunks of a pass are cut. With more,
# several tables make a group.
CUT_BYTES = 400
GROUP_BYTES = 4000


def copying_settings(
    tables: Sequence[str],
    *,
    chunk_rows: int,
    start: str = "snapshot",
    cascade_seconds: float = 0.0,
    chunk_bytes: int = CUT_BYTES,
    to: str = "topics",
) -> Settings:
    """Return the settings of a pipeline that copies, chunk by chunk of so many rows and bytes.

    The rows go `to` the topics, or the Spark job loads them into the mirror.
    """
    source = SETTINGS.source.model_copy(
        update={"tables": [f"{DATABASE}.{table}" for table in tables], "start": start}
    )
    snapshot = SETTINGS.snapshot.model_copy(
        update={
            "connections": CONNECTIONS,
            "chunk_rows": chunk_rows,
            "chunk_bytes_max": chunk_bytes,
            "to": to,
            # One thread plays all readers: none of them may wait for another one.
            "pace": "full",
        }
    )
    schema = SETTINGS.schema.model_copy(update={"cascade_seconds": cascade_seconds})
    return SETTINGS.model_copy(update={"source": source, "snapshot": snapshot, "schema": schema})


class Request(NamedTuple):
    """A request to copy tables that a user makes at a step of the run, or later."""

    step: int
    tables: tuple[str, ...]
    where: str = ""
    keys: tuple[int, ...] = ()  # ids of rows to take back, if they are gone


class Copied(Beside):
    """Runs copies in one world; each process after the first one has `later` settings."""

    def __init__(
        self,
        settings: Settings,
        later: Settings | None = None,
        requests: Sequence[Request] = (),
        *,
        cascades: bool = False,
    ) -> None:
        super().__init__(settings)
        self._cascades = cascades
        self._cascaded = False  # rows that are to be copied
        self._later = later
        self._requests = requests
        # What the transactions that were committed say, as far as they were looked at.
        self._looked_at = 0
        self._phases: dict[bytes, str] = {}
        self._requests_taken = 0
        # How many tables had rows of each group that was read.
        self.group_sizes: list[int] = []

    def settings_of(self, process: Process) -> Settings:
        """Return what a process is started with."""
        return self._later if self._later is not None and process.number else self.settings

    def copying(self, process: Process) -> CopyPeers:
        """Return readers of the server that is the source."""
        world = process.world

        def select(settings: SourceSettings) -> ScriptedSession:
            del settings
            return ScriptedSession(process, live(world))

        def read(
            source: SourceSettings,
            settings: SnapshotSettings,
            identity: ServerIdentity,
            debezium: DebeziumProfile | None,
        ) -> SteppedReaders:
            del source, debezium
            return SteppedReaders(process, settings, identity, self.group_sizes)

        return CopyPeers(select, read)

    def foreign_keys(self, process: Process) -> ForeignKeySource:
        """Return what knows the foreign keys of the source."""
        return _Keys(process) if self._cascades else super().foreign_keys(process)

    def requests(self, process: Process, offset: int) -> SimpleQueue[tuple[int, dict[str, Any]]]:
        """Return the requests from `offset` on, each once it is made."""
        return _Requests(process, self._requests, offset)

    def finished(self, world: World) -> bool:
        """Return whether all requests were taken up, and no copy is under way."""
        self._look(world)
        if self._later is not None and len(world.processes) == 1:
            return False
        return (
            self._requests_taken == len(self._requests)
            and not self._cascaded
            and not any(phase in ("waiting", "copying") for phase in self._phases.values())
        )

    def _look(self, world: World) -> None:
        committed = world.broker.committed
        for transaction in committed[self._looked_at :]:
            for (topic, _), record in transaction.records:
                if topic == snapshot_topic(PREFIX):
                    assert record.key is not None
                    value = record.value
                    self._phases[record.key] = json.loads(value)["phase"] if value else ""
                elif topic == progress_topic(PREFIX) and record.value is not None:
                    progress = Progress.decode(record.value, "progress")
                    self._requests_taken = progress.commands_offset
                    self._cascaded = bool(progress.cascaded_rows)
        self._looked_at = len(committed)


class _Keys(ForeignKeySource):
    """A question to the server, which may be lost."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def learn(self, altered: list[TableName]) -> ForeignKeySnapshot:
        del altered
        if self._process.step(Call.SELECT) in (Fault.REFUSED, Fault.LOST):
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server="source scripted")
        return ForeignKeySnapshot(_KEYS, 0, 0, logged=False)


def live(world: World) -> LiveServer:
    """Return the server that is the source."""
    assert isinstance(world.server, LiveServer)
    return world.server


class _Requests(SimpleQueue[tuple[int, dict[str, Any]]]):
    def __init__(self, process: Process, requests: Sequence[Request], offset: int) -> None:
        super().__init__()
        self._world = process.world
        self._waiting = list(enumerate(requests))[offset:]

    def empty(self) -> bool:
        """Return whether none has come."""
        return not self._waiting or self._world.steps < self._waiting[0][1].step

    def get_nowait(self) -> tuple[int, dict[str, Any]]:
        """Return the next one; raises Empty."""
        if self.empty():
            raise Empty
        offset, request = self._waiting.pop(0)
        tables = [[DATABASE, table] for table in request.tables]
        keys = [f'{{"id":{row_id}}}' for row_id in request.keys]
        listed = {"keys": keys} if keys else {}
        return offset, {
            "command": "snapshot",
            "tables": tables,
            "where": request.where,
            **listed,
        }


class _Closing(Event):
    """Ends waits at once; the world's time goes by."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def wait(self, timeout: float | None = None) -> bool:
        """Let time go by."""
        self._process.step(Call.SLEEP)
        self._process.world.pass_time(timeout or 0.0)
        return self.is_set()


class _DividedPace(SourcePace):
    """Reads by many statements with rests between them, or by one, as chance decides."""

    def __init__(self, settings: SnapshotSettings, process: Process) -> None:
        super().__init__(settings)
        self._process = process
        # Its own: what else happens in a run does not depend on it.
        self._random = Random(str(process.world.now))

    @contextmanager
    def read(
        self, session: SelectSession | None, closing: Event, kind: Hashable = None
    ) -> Iterator[Read]:
        """Let the block read."""
        with super().read(session, closing, kind) as turn:
            turn.statement_rows = self._random.choice((1, 2, 3, 1000))
            turn.rest = partial(self._go_on, closing)
            yield turn

    def _go_on(self, closing: Event) -> bool:
        closing.wait(self._random.choice((0.0, 0.01, 1.0)))
        return self._random.random() < 0.8


class _Worker:
    """What a thread of `ReaderPool` is."""

    def __init__(self, reader: TableReader) -> None:
        self.reader = reader
        self.job: Job | None = None
        self.answers: Generator[Result | Pause] | None = None
        self.waits = False  # for `go_on`
        self.not_before = 0.0

    def end_job(self) -> None:
        """Let go of the job at hand."""
        if self.answers is not None:
            self.answers.close()
        self.job = self.answers = None
        self.waits = False


class SteppedReaders(ReaderPool):
    """Does jobs while somebody looks for results, in an order and at a pace that chance decides."""

    def __init__(
        self,
        process: Process,
        settings: SnapshotSettings,
        identity: ServerIdentity,
        group_sizes: list[int],
    ) -> None:
        self._group_sizes = group_sizes
        self.results = _Results(self)
        self.pace = _DividedPace(settings, process)
        self._process = process
        self._random = process.world.random
        self._uuid = identity.server_uuid
        self._closing = _Closing(process)
        self._waiting: list[Job] = []
        self._answers: list[Result] = []
        self._permits = 0
        self._cancelled = set()
        self._workers = [
            _Worker(TableReader(self._open_session, self.pace, self._closing))
            for _ in range(settings.connections)
        ]

    def submit(self, job: Job) -> None:
        """Do `job`, behind those that were submitted before."""
        self._waiting.append(job)

    def go_on(self) -> None:
        """Let a reader that reads a table at once do the next step."""
        self._permits += 1

    def close(self) -> None:
        """End the connections."""
        self._closing.set()
        for worker in self._workers:
            worker.end_job()
            worker.reader.close()

    def work(self) -> None:
        """Do a little of what is to be done, and hand over an answer of before."""
        if self._answers and self._random.random() < 0.5:
            self.results.put(self._answers.pop(0))
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 4))):
            worker = self._random.choice(self._workers)
            if worker.job is None:
                if not self._waiting:
                    continue
                worker.job = self._waiting.pop(0)
                worker.answers = worker.reader.answers(worker.job)
            self._go_on_with(worker)

    def _go_on_with(self, worker: _Worker) -> None:
        assert worker.job is not None
        assert worker.answers is not None
        if worker.not_before > self._process.world.now:
            return
        if worker.waits:
            if not self._permits:
                return
            self._permits -= 1
            worker.waits = False
            if worker.job.copy in self._cancelled:
                worker.end_job()
                return
        answer = next(worker.answers, None)
        if answer is None:
            worker.end_job()
        elif isinstance(answer, Pause):
            worker.not_before = self._process.world.now + answer.seconds
        else:
            if isinstance(answer, GroupRead):
                self._group_sizes.append(sum(1 for read in answer.chunks if read.chunk.count))
            self._answers.append(answer)
            worker.waits = isinstance(answer, (PassReady, PassChunk))

    @contextmanager
    def _open_session(self) -> Iterator[ScriptedSession]:
        server = live(self._process.world)
        if server.identity.server_uuid != self._uuid:
            raise SourceUnavailable(dump_errors.SERVER_CLOSED, server="source scripted")
        session = ScriptedSession(self._process, server)
        try:
            yield session
        finally:
            session.close()


class _Results(SimpleQueue["Result"]):
    def __init__(self, readers: SteppedReaders) -> None:
        super().__init__()
        self._readers = readers

    def get_nowait(self) -> Result:
        """Let the readers work, and return the next result; raises Empty."""
        self._readers.work()
        return super().get_nowait()


class NoReaders(ReaderPool):
    """Readers that have no answer."""

    def __init__(
        self,
        source: SourceSettings,
        settings: SnapshotSettings,
        identity: ServerIdentity,
        debezium: DebeziumProfile | None = None,
    ) -> None:
        del source, identity, debezium
        self.results = SimpleQueue()
        self.pace = SourcePace(settings)

    def submit(self, job: Job) -> None:
        """Read nothing."""

    def cancel(self, copy: int) -> None:
        """There is nothing to give up."""

    def close(self) -> None:
        """There is nothing to let go of."""


class Uncopied(Beside):
    """The stream alone: what is to be copied waits."""

    def copying(self, process: Process) -> CopyPeers:
        """Return what reads nothing."""
        del process
        return CopyPeers(SelectSession, NoReaders)
