"""Builds the parts of a pipeline from settings, recovered state and a checked source.

The parts are the delivery of the stream, and attendants, which write between two transactions:
copies, quarantine, heartbeats and requests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.header import event_name
from connector.binlog.table_filter import TableFilter, TableListener
from connector.foundation.errors import line
from connector.foundation.kafka_records import RecordTarget
from connector.foundation.operating_system import Clock, TemporaryFolder
from connector.foundation.record_batch import BatchingTarget
from connector.foundation.settings.sections import Settings
from connector.stream.changes import changes_errors
from connector.stream.changes.cascades import CascadedRows, Cascades, hidden_children
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import StreamListener
from connector.stream.changes.signal_table import SignalTable
from connector.stream.changes.transaction import SourceTransaction, StatementChange
from connector.stream.commands.requests import RequestAttendant
from connector.stream.commands.signals import (
    FileSignals,
    SignalFile,
    SignalListener,
    TableSignals,
    TopicSignals,
)
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.envelope.schemas.server_schemas import ServerSchemas
from connector.stream.progress.progress_record import Progress, pending_columns
from connector.stream.progress.sequences import TransactionOrder
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.quarantine.attendant import REPLAY, QuarantineAttendant, open_quarantine
from connector.stream.quarantine.database_fences import DatabaseFences
from connector.stream.quarantine.fences import Fences
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream
from connector.stream.run.heartbeat import Heartbeat, HeartbeatStatement
from connector.stream.run.peers import RunContext
from connector.stream.sink.kafka_sink import KafkaSink
from connector.stream.sink.recovery import RecoveredState
from connector.stream.snapshot import copy_commands
from connector.stream.snapshot.copies import Copies
from connector.stream.snapshot.copy_backlog import CascadeCopies, CopyBacklog, CopyQueue, LostTopics
from connector.stream.snapshot.copy_output import CopyOutput
from connector.stream.snapshot.copy_recovery import CopySource, open_copies
from connector.stream.source.foreign_keys import hidden_cascades
from connector.stream.source.record_options import record_options, require_same_profile
from connector.stream.source.server_selection import CheckedSource


class LoggingListener(StreamListener):
    """Writes a log line for each fact, and requests copies."""

    def __init__(self, queue: CopyQueue) -> None:
        self._log = structlog.get_logger()
        self._queue = queue

    def table_left_out(self, database: str, table: str) -> None:
        self._log.info(
            "not published: a table of an online schema change, by its name; name it without a "
            "wildcard in source.tables to publish it",
            table=f"{database}.{table}",
        )

    def sequence_left_out(self, database: str, table: str) -> None:
        self._log.info("not published: a sequence, which is no table", table=f"{database}.{table}")

    def event_skipped(self, event: Event) -> None:
        self._log.warning(
            **line(changes_errors.IGNORED_EVENT),
            type=event_name(event.header.type_code),
            position=f"{event.file}:{event.position}",
        )

    def statement_seen(self, change: StatementChange) -> None:
        self._log.info(
            "DDL",
            kind=change.kind.value,
            table=".".join(filter(None, (change.database, change.table))),
            position=f"{change.event.file}:{change.event.position}",
            gtid=_gtid(change.transaction),
            copied_anew=change.resync or None,
        )

    def rows_dropped(self, database: str, table: str) -> None:
        self._log.warning(
            "not published: rows that the log does not describe, of a table that has been "
            "dropped since; the statement takes all rows of the table back",
            table=f"{database}.{table}",
        )

    def event_updated(self, database: str, table: str) -> None:
        self._log.warning(
            "not published: updates of an outbox; each event is a row of its own",
            table=f"{database}.{table}",
        )

    def resync_wanted(self, database: str, table: str, reason: str) -> None:
        self._queue.add(database, table, reason)

    def table_ended(self, database: str, table: str) -> None:
        self._queue.forget(database, table)

    def large_transaction(
        self, transaction: SourceTransaction, end: str, records: int, size: int, seconds: float
    ) -> None:
        self._log.info(
            "large transaction",
            records=records,
            bytes=size,
            seconds=round(seconds, 1),
            position=f"{transaction.file}:{transaction.position}",
            end=end,
            gtid=_gtid(transaction),
        )

    def fence_set(self, name: str, since: str, reason: str, *, of_key: bool) -> None:
        self._log.warning(
            "changes that cannot be published are kept in quarantine",
            table=name,
            fenced="a key" if of_key else "the table",
            since=since,
            reason=reason,
        )


def _gtid(transaction: SourceTransaction) -> str | None:
    return None if transaction.gtid is None else str(transaction.gtid)


def open_cascades(
    settings: Settings, source: CheckedSource, tables: TableFilter, last: Progress | None
) -> tuple[CascadedRows, Cascades | None]:
    """Return the rows that cascades have changed, and what finds more of them.

    With `schema.on_cascade = "warn"`, there are no rows, and nothing finds any. Raises
    SourceUnavailable or SourceRefused.
    """
    copies = settings.schema.on_cascade == "copy"
    rows = CascadedRows.of_record(last.cascaded_rows if copies and last is not None else {})
    for database, table in rows.tables:
        if not tables.follows(database, table):
            rows.forget(database, table)
    keys = source.foreign_keys()
    cascades = Cascades(tables, keys, rows) if copies else None
    children = (
        hidden_children(keys.learn([]), tables) if cascades is None else cascades.hidden_children
    )
    if children:
        problem = hidden_cascades(children, copies=copies)
        structlog.get_logger().warning(**line(problem.code, **problem.facts))
    return rows, cascades


class Attendant(Protocol):
    """Has its turn between two source transactions; its records are committed with the stream's.

    Every method may raise TransientError or DefiniteError, which ends the run.
    """

    @property
    def wants_turn(self) -> bool:
        """Whether there is something to write; if so, the stream stops after its transaction."""
        ...

    @property
    def patience_seconds(self) -> float:
        """How long the stream may wait for the source before the attendant's next turn."""
        ...

    def step(self) -> None:
        """Write what is ready; the stream is between two transactions."""
        ...

    def close(self) -> None:
        """Close connections and threads."""
        ...


@dataclass(frozen=True, slots=True)
class PipelineParts:
    """The stream's delivery, and the attendants."""

    delivery: DeliveryStream
    fences: Fences
    quarantine: QuarantineAttendant
    copies: Copies
    names: Mapping[str, str]  # of the tables that have had rows, by their topics
    # Quarantine, copies and the others, in the order of their turns.
    attendants: tuple[Attendant, ...]

    def close(self) -> None:
        """Close connections and threads, and drop what waits."""
        for attendant in self.attendants:
            attendant.close()
        self.delivery.close()


def assemble(
    context: RunContext,
    recovered: RecoveredState,
    source: CheckedSource,
    sink: KafkaSink,
    rolled_back: frozenset[str],
    lost: frozenset[str] = frozenset(),
) -> PipelineParts:
    """Return the parts that continue after `recovered`, read from `source` and write to `sink`.

    The rows of transactions whose ids are in `rolled_back` are left out. `lost` are topics that
    were deleted or created again since the last run of this process. The first commit includes what
    is written here. Raises TransientError or DefiniteError; then nothing stays open.
    """
    settings, peers = context.settings, context.peers
    require_same_profile(settings, recovered.schemas)
    last, target, clock = recovered.progress, sink.target, peers.clock
    position = _stream_position(source, recovered)
    queue = CopyQueue()
    listener = LoggingListener(queue)
    output = _record_output(context, recovered, source, target, position.order, listener)
    encoder = output.encoder
    tables = _followed(settings, source, listener)
    signals = copy_commands.signal_rows(settings, tables)
    cascaded, cascades = open_cascades(settings, source, tables, last)
    point, mariadb = source.point, source.identity.flavour == "mariadb"
    decoder = EventDecoder(file=point.file, position=point.position, mariadb=mariadb)
    fences = Fences(encoder.options.prefix, settings.name, target, recovered.fences, listener)
    databases = DatabaseFences(fences, encoder.schemas, tables, source.tables_of, clock.monotonic)
    guard, copied_rows, quarantine = open_quarantine(
        settings, databases, encoder, decoder, position, sink, clock
    )
    delivery = DeliveryStream(
        decoder,
        tables,
        output,
        position,
        TemporaryFolder(),
        _delivery_options(settings, source, last, rolled_back),
        ChangeHandlers(guard, listener, cascades, signals),
    )
    copies = open_copies(
        settings,
        CopySource(source, peers.copying),
        recovered.snapshots,
        tables,
        CopyOutput(settings, encoder, sink, copied_rows, position, decoder, clock),
        CopyBacklog(
            queue,
            CascadeCopies(cascaded, settings.schema.cascade_seconds, fences.has),
            LostTopics(encoder.options, recovered.schemas, sink.has_topic, lost),
        ),
        context.metrics.control,
    )
    attendants: list[Attendant] = [quarantine, copies, *_heartbeat(settings, source, target, clock)]
    attendants += _listeners(context, position, tables, quarantine, copies, signals)
    return PipelineParts(
        delivery, fences, quarantine, copies, encoder.tables.names, tuple(attendants)
    )


def _followed(settings: Settings, source: CheckedSource, listener: TableListener) -> TableFilter:
    names = settings.source
    return TableFilter(
        names.tables,
        names.exclude_tables,
        listener,
        ignores_case=source.ignores_case,
        lower_case_names=source.lower_case_names,
    )


def _stream_position(source: CheckedSource, recovered: RecoveredState) -> StreamPosition:
    return StreamPosition(
        source.identity,
        source.point,
        recovered.progress,
        source=source.address,
        first_epoch=recovered.first_epoch,
    )


def _record_output(
    context: RunContext,
    recovered: RecoveredState,
    source: CheckedSource,
    target: BatchingTarget,
    order: TransactionOrder,
    listener: LoggingListener,
) -> RecordOutput:
    settings = context.settings
    transactions = None
    if settings.delivery.transaction_records:
        transactions = TransactionRecords(settings.kafka.topic_prefix, target)
    encoder = RecordEncoder(
        record_options(settings, source.identity.flavour, context.schema_ids),
        order,
        transactions or target,
        _schema_state(recovered),
        server_schemas=_server_schemas(settings, recovered, source, listener),
        unlogged=source.unlogged_columns(),
        listener=listener,
    )
    return RecordOutput(encoder, target, transactions)


def _delivery_options(
    settings: Settings, source: CheckedSource, last: Progress | None, rolled_back: frozenset[str]
) -> DeliveryOptions:
    online = OnlineSchemaChanges.of_record(
        last.online_changes if last is not None else {},
        keeps_rows=settings.schema.on_cut_over == "keep",
    )
    return DeliveryOptions(source.lower_case_names, online, rolled_back, settings.schema.on_rewrite)


def _heartbeat(
    settings: Settings, source: CheckedSource, target: RecordTarget, clock: Clock
) -> Iterator[Heartbeat]:
    interval = settings.delivery.heartbeat_interval_seconds
    if interval:
        has_statement = bool(source.settings.heartbeat_statement)
        statement = HeartbeatStatement(source.settings) if has_statement else None
        yield Heartbeat(settings.kafka.topic_prefix, interval, target, clock, statement)


def _listeners(
    context: RunContext,
    position: StreamPosition,
    tables: TableFilter,
    quarantine: QuarantineAttendant,
    copies: Copies,
    signals: SignalTable | None,
) -> list[Attendant]:
    """Return the attendants that take requests and signals."""
    settings, wake = context.settings, context.metrics.control.wake
    attendants: list[Attendant] = []
    handlers = copy_commands.signal_handlers(copies, tables)
    if signals is not None:
        attendants.append(TableSignals(signals, handlers))
    if settings.signals.file is not None:
        file = SignalFile(settings.signals.file, position.signals_file)
        attendants.append(FileSignals(file, position, handlers))
    topic = settings.signals.kafka_topic
    if topic is not None:
        topic_listener = SignalListener(settings.kafka, topic, position.signals_offset, wake)
        attendants.append(TopicSignals(topic_listener, position, handlers))
    # The last: it opens a connection, and no later step can fail.
    commands = RequestAttendant(
        context.peers.listen(settings.kafka, settings.name, position.commands_offset, wake),
        position,
        {
            "snapshot": partial(copy_commands.request_copy, copies, tables),
            copy_commands.DISMISSAL: partial(copy_commands.request_dismissal, copies, tables),
            REPLAY: quarantine.request,
        },
    )
    return [*attendants, commands]


def _schema_state(recovered: RecoveredState) -> SchemaState:
    last = recovered.progress
    if last is None:
        # Statements may have changed the tables since the records were written.
        names = [key.rpartition("/")[0] for key in recovered.schemas]
        return SchemaState(recovered.schemas, stated=dict.fromkeys(names, ""))
    return SchemaState(
        recovered.schemas, pending_columns(last), last.current_schemas, last.stated_schemas
    )


def _server_schemas(
    settings: Settings, recovered: RecoveredState, source: CheckedSource, listener: LoggingListener
) -> ServerSchemas:
    last = recovered.progress
    return ServerSchemas(
        source.definitions(),
        settings.name,
        listener,
        mariadb=source.identity.flavour == "mariadb",
        schemas=recovered.schemas if last is not None else {},
        changed=last.changed_tables if last is not None else (),
    )
