"""A story, a plan and a seed become a finished run of the real pipeline."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from connector.foundation.errors import ConnectorError, SourceRefused, SourceUnavailable
from connector.foundation.operating_system import Clock
from connector.foundation.settings.sections import Settings
from connector.replication import dump_errors
from connector.replication.dump import ReplicationStream
from connector.replication.server.server_error_numbers import ACCESS_DENIED, server_error
from connector.stream.changes.cascades import ForeignKeySource
from connector.stream.envelope.schemas.server_schemas import DefinitionSource
from connector.stream.progress.progress_record import (
    Progress,
    progress_topic,
    reads_from,
    start_point,
)
from connector.stream.progress.stream_position import Instance
from connector.stream.run.peers import Peers, RunContext
from connector.stream.run.pipeline import Pipeline
from connector.stream.run.supervisor import supervise
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.snapshot.copy_recovery import COPY_PEERS
from connector.stream.source.server_selection import CheckedSource
from connector.stream.source.setup_errors import NONE
from tests.simulation.connection import ScriptedSocket
from tests.simulation.faults import Call, Fault, Undisturbed
from tests.simulation.kafka_clients import clients_of
from tests.simulation.kafka_requests import LateMessages
from tests.simulation.story import DATABASE, TABLES
from tests.simulation.world import Endless, Process, World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from connector.foundation.settings.sections import KafkaSettings, SourceSettings
    from connector.stream.metrics.pipeline_metrics import PipelineMetrics
    from connector.stream.snapshot.copy_recovery import CopyPeers
    from tests.simulation.broker import Broker
    from tests.simulation.faults import Plan
    from tests.simulation.server import ScriptedServer

PREFIX = "sim"
NAME = "pipe"
_PORT = 3306
# Of every record, so that runs are alike to the byte.
_TIME_NS = 1_800_000_000_000_000_000
# Once nothing goes wrong any more; a group that is rolled back behind its rows takes one more.
_PIPELINES_MAX = 20

SETTINGS = Settings.model_validate(
    {
        "name": NAME,
        "source": {
            "server_id": 4000,
            "tables": [f"{DATABASE}.{table}" for table in TABLES],
            "start": "earliest",
        },
        "kafka": {
            "bootstrap_servers": ["simulation:9092"],
            "topic_prefix": PREFIX,
            "partitions": 2,
            "transaction_timeout_seconds": 60,
        },
        "delivery": {"batch_bytes_max": 4096, "in_flight_bytes_max": 65536},
    }
)


class Beside:
    """What works beside the stream, in one world: nothing."""

    def __init__(self, settings: Settings) -> None:
        """Run every process with `settings`."""
        self.settings = settings

    def settings_of(self, process: Process) -> Settings:
        """Return what a process is started with."""
        del process
        return self.settings

    def copying(self, process: Process) -> CopyPeers:
        """Return how a process reads tables."""
        del process
        return COPY_PEERS

    def foreign_keys(self, process: Process) -> ForeignKeySource:
        """Return what knows the foreign keys of the source: it has none."""
        del process
        return ForeignKeySource()

    def watch(self, process: Process, figures: PipelineMetrics) -> None:
        """See the figures of a run that is about to stream; nobody does."""
        del process, figures

    def requests(self, process: Process, offset: int) -> SimpleQueue[tuple[int, dict[str, Any]]]:
        """Return where requests to a process come from, which begin at `offset`."""
        del process, offset
        return SimpleQueue()

    def finished(self, world: World) -> bool:
        """Return whether nothing is left to be done."""
        del world
        return True


def prepare(
    servers: Sequence[ScriptedServer],
    plan: Plan,
    *,
    seed: int = 0,
    cut_at: int | None = None,
    by_event: bool = False,
    settings: Settings = SETTINGS,
    beside: Beside | None = None,
) -> World:
    """Return a world that `finish` runs, in which processes end once all is delivered.

    The first connection breaks behind `cut_at` bytes; with `by_event`, events come one by one.
    What works `beside` the stream has settings of its own.
    """
    beside = beside or Beside(settings)
    simulation = _Simulation(servers, plan, seed, beside, cut_at=cut_at, by_event=by_event)
    world = simulation.world
    world.finished = lambda: _at_end(world) and beside.finished(world)
    return world


def finish(world: World) -> None:
    """Run processes until progress stands at the end of the log.

    Raises what a process ended with.
    """
    # The waits between retries have a jitter.
    state = random.getstate()
    random.seed(world.random.random())
    try:
        world.until_finished()
    finally:
        random.setstate(state)
        world.broker.settle()


def simulate(
    servers: Sequence[ScriptedServer],
    plan: Plan,
    *,
    seed: int = 0,
    cut_at: int | None = None,
    by_event: bool = False,
    settings: Settings = SETTINGS,
    beside: Beside | None = None,
) -> World:
    """Prepare a world and finish it; see both."""
    world = prepare(
        servers,
        plan,
        seed=seed,
        cut_at=cut_at,
        by_event=by_event,
        settings=settings,
        beside=beside,
    )
    finish(world)
    return world


def run_once(
    servers: Sequence[ScriptedServer],
    figures: PipelineMetrics,
    *,
    seed: int = 0,
    by_event: bool = False,
    copying: CopyPeers = COPY_PEERS,
) -> Broker:
    """Run one pipeline, and return what Kafka has.

    Without faults and without a supervisor: what the pipeline ends with, it ends with. With
    `by_event`, events come one by one.
    """
    beside = Beside(SETTINGS)
    simulation = _Simulation(servers, Undisturbed(), seed, beside, cut_at=None, by_event=by_event)
    world = simulation.world
    process = Process(world, 0, lambda _: None)
    peers = replace(simulation.peers(process), copying=copying)
    pipeline = Pipeline(RunContext(SETTINGS, Instance("instance", "host", 1), figures, peers))
    try:
        with suppress(ConnectorError):
            pipeline.run(process.stop)
    finally:
        pipeline.close()
    world.broker.settle()
    return world.broker


class _Listener:
    def __init__(self, requests: SimpleQueue[tuple[int, dict[str, Any]]]) -> None:
        self.requests = requests

    def close(self) -> None:
        """There is nothing to let go of."""


class _NoWatch:
    def close(self) -> None:
        """There is nothing to let go of."""


@dataclass(frozen=True, slots=True)
class _ScriptedSource(CheckedSource):
    process: Process
    server: ScriptedServer
    clock: Clock
    cut_at: int | None
    by_event: bool
    keys: ForeignKeySource

    def definitions(self) -> DefinitionSource:
        """Nobody is asked: the log describes its tables."""
        return DefinitionSource()

    def foreign_keys(self) -> ForeignKeySource:
        """The keys of the tables."""
        return self.keys

    def open_stream(self, replica_name: str, *, stop_at_end: bool = False) -> ReplicationStream:
        del replica_name, stop_at_end
        _fail(self.process.step(Call.OPEN), self.name)
        events = self.server.dump(self.reads_from or self.point)
        return ReplicationStream(
            ScriptedSocket(self.process, self.server, events, self.cut_at, by_event=self.by_event),
            self.name,
            self.settings.read_timeout_seconds,
            clock=self.clock,
        )


def _fail(fault: Fault | None, server: str) -> None:
    """Raise what a login ends with."""
    if fault is Fault.REFUSED:
        raise SourceUnavailable(dump_errors.SERVER_CLOSED, server=server)
    if fault is Fault.DENIED:
        raise server_error(server, ACCESS_DENIED, "Access denied for user", logged_in=False)


class _Simulation:
    def __init__(
        self,
        servers: Sequence[ScriptedServer],
        plan: Plan,
        seed: int,
        beside: Beside,
        *,
        cut_at: int | None,
        by_event: bool,
    ) -> None:
        self.world = World(plan, seed, servers, self._run)
        self.servers = servers
        self._late = LateMessages(self.world)
        self._cut_at = cut_at
        self._by_event = by_event
        self._beside = beside

    def _run(self, process: Process) -> None:
        supervise(self._beside.settings_of(process), self.peers(process), process.stop)

    def _server_without(self, refusals: Mapping[str, SourceRefused]) -> ScriptedServer:
        """Return the source, which is another server where this one has refused."""
        for _ in self.servers:
            if f"{self.world.server.identity.server_uuid}:{_PORT}" not in refusals:
                return self.world.server
            self.world.fail_over()
        problems = list(refusals.values())
        raise problems[0] if len(problems) == 1 else SourceRefused(NONE, problems=problems)

    def peers(self, process: Process) -> Peers:
        """Return what a process talks to."""
        clock = Clock(lambda: self.world.now, lambda: _TIME_NS)

        def open_sink(settings: Settings, instance: Instance) -> KafkaSink:
            process.pipelines += 1
            if process.pipelines > _PIPELINES_MAX:
                reason = f"{_PIPELINES_MAX} pipelines after the last fault, and no end"
                raise Endless(reason)
            return KafkaSink(
                settings.kafka,
                settings.name,
                instance.id,
                settings.delivery.in_flight_bytes_max,
                clients_of(process, self._late),
            )

        def choose_source(
            settings: SourceSettings,
            last: Progress | None,
            refusals: Mapping[str, SourceRefused],
        ) -> CheckedSource:
            _fail(process.step(Call.CHOOSE), "source scripted")
            server = self._server_without(refusals)
            settings = settings.model_copy(
                update={"host": server.identity.server_uuid, "port": _PORT}
            )
            server_name = f"source {server.identity.server_uuid}"
            point = (
                server.earliest if last is None else start_point(last, server.identity, server_name)
            )
            server.chosen(point)
            cut_at, self._cut_at = self._cut_at, None
            return _ScriptedSource(
                settings,
                server_name,
                server.identity,
                point,
                lower_case_names=False,
                reads_from=None if last is None else reads_from(point, last),
                process=process,
                server=server,
                clock=clock,
                cut_at=cut_at,
                by_event=self._by_event,
                keys=self._beside.foreign_keys(process),
            )

        def watch_source(settings: SourceSettings, figures: PipelineMetrics) -> _NoWatch:
            del settings
            self._beside.watch(process, figures)
            return _NoWatch()

        def watch_kafka(settings: KafkaSettings, figures: PipelineMetrics) -> _NoWatch:
            del settings, figures
            return _NoWatch()

        def listen(
            settings: KafkaSettings, pipeline: str, offset: int, wake: Callable[[], None]
        ) -> _Listener:
            del settings, pipeline, wake
            return _Listener(self._beside.requests(process, offset))

        copying = self._beside.copying(process)
        return Peers(open_sink, choose_source, watch_source, watch_kafka, clock, copying, listen)


def committed_progress(broker: Broker) -> list[Progress]:
    """Return the progress of each transaction that was committed, in the order of the decisions.

    Raises AssertionError where one has not exactly one.
    """
    found = []
    for transaction in broker.committed:
        records = [
            record for (topic, _), record in transaction.records if topic == progress_topic(PREFIX)
        ]
        assert len(records) == 1, f"{len(records)} progress records in one transaction"
        assert records[0].value is not None
        found.append(Progress.decode(records[0].value, "progress"))
    return found


def _at_end(world: World) -> bool:
    """Return whether the last commit covers all that the source has."""
    broker, server = world.broker, world.server
    if not broker.committed:
        return False
    topic = progress_topic(PREFIX)
    for partition_id, record in reversed(broker.committed[-1].records):
        if partition_id[0] == topic and record.value is not None:
            last = Progress.decode(record.value, "progress")
            if server.identity.gtid:
                return last.gtid_set == str(server.executed)
            return (last.file, last.position) == server.end
    return False
