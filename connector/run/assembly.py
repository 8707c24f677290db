"""Builds the parts of a pipeline from settings, recovered state and a checked source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from connector.binlog.decoder import EventDecoder
from connector.changes.online_schema_change import OnlineChanges
from connector.changes.table_filter import TableFilter
from connector.envelope.record_encoder import RecordEncoder
from connector.envelope.schemas.anchored_tables import AnchoredTables
from connector.envelope.transaction_records import TransactionRecords
from connector.progress.stream_position import StreamPosition, awaited_columns
from connector.quarantine.keeper import REPLAY
from connector.quarantine.recovered_fences import open_quarantine
from connector.run.cascades import open_cascades
from connector.run.delivery_stream import DeliveryStream
from connector.run.heartbeat import Heartbeat
from connector.run.heartbeat_statement import HeartbeatStatement
from connector.run.notices import Notices
from connector.sink.commands import Commands
from connector.sink.signal_file import FileSignals, SignalFile
from connector.sink.signals import SignalListener, Signals, SourceSignals
from connector.snapshot.cascaded_copies import CascadedCopies
from connector.snapshot.copy_orders import DISMISSAL, request_copy, request_dismissal
from connector.snapshot.notifications import Notifications
from connector.snapshot.output import CopyOutput
from connector.snapshot.record_options import record_options, require_same_profile
from connector.snapshot.recovered_copies import open_copies
from connector.snapshot.signalled_copies import SignalledCopies, signal_rows
from connector.snapshot.table_topics import TableTopics
from connector.snapshot.wanted_copies import WantedCopies
from connector.system.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from connector.changes.cascaded_rows import CascadedRows
    from connector.changes.signal_rows import SignalRows
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.registered.schema_ids import SchemaIds
    from connector.quarantine.keeper import QuarantineKeeper
    from connector.records.record import RecordTarget
    from connector.run.attendant import Attendant
    from connector.run.peers import Peers
    from connector.settings.sections import Settings
    from connector.sink.kafka_sink import KafkaSink
    from connector.sink.recovery import Recovered
    from connector.snapshot.copies import Copies
    from connector.source.choice import CheckedSource
    from connector.system.clock import Clock


@dataclass(frozen=True, slots=True)
class PipelineParts:
    """The stream's delivery, and the attendants."""

    delivery: DeliveryStream
    quarantine: QuarantineKeeper
    copies: Copies
    cascaded: CascadedRows
    names: Mapping[str, str]  # of the tables that have had rows, by their topics
    # Quarantine, copies and the others, in the order of their turns.
    attendants: tuple[Attendant, ...]

    def close(self) -> None:
        """Close connections and threads, and drop what waits."""
        for attendant in self.attendants:
            attendant.close()
        self.delivery.close()


def assemble(
    settings: Settings,
    recovered: Recovered,
    source: CheckedSource,
    sink: KafkaSink,
    peers: Peers,
    rolled_back: frozenset[str],
    schema_ids: SchemaIds | None,
    lost: frozenset[str] = frozenset(),
) -> PipelineParts:
    """Return the parts that continue after `recovered`, read from `source` and write to `sink`.

    `rolled_back` as in `TransactionAssembler`, `schema_ids` as in `record_options`, `lost` are
    topics that were deleted or created again since the last run of this process. The first
    commit includes what is written here. Raises TransientError or DefiniteError; then nothing stays
    open.
    """
    require_same_profile(settings, recovered.schemas)
    last, target, clock = recovered.progress, sink.target, peers.clock
    identity, point = source.identity, source.point
    mariadb = identity.flavour == "mariadb"
    standing = StreamPosition(
        identity, point, last, source=source.address, first_epoch=recovered.first_epoch
    )
    options = record_options(settings, identity.flavour, schema_ids)
    transactions = None
    if settings.delivery.transaction_records:
        transactions = TransactionRecords(settings.kafka.topic_prefix, target)
    wanted = WantedCopies()
    notices = Notices(wanted)
    encoder = _record_encoder(options, standing, transactions or target, recovered)
    encoder.anchored = _anchored_tables(settings, recovered, source, notices)
    encoder.tables.unlogged = source.unlogged_columns()
    encoder.tables.listener = notices
    tables = TableFilter(
        settings.source.tables,
        settings.source.exclude_tables,
        notices,
        ignores_case=source.ignores_case,
    )
    signals = signal_rows(settings, tables)
    cascaded, cascades = open_cascades(settings, source, tables, last)
    decoder = EventDecoder(file=point.file, position=point.position, mariadb=mariadb)
    guard, copied_rows, quarantine = open_quarantine(
        settings, recovered.fences, options, encoder, decoder, standing, sink, clock, notices
    )
    delivery = DeliveryStream(
        decoder,
        tables,
        encoder,
        target,
        standing,
        TemporaryFolder(),
        lower_case_names=source.lower_case_names,
        online=OnlineChanges.of_record(
            last.online_changes if last is not None else {},
            keeps_rows=settings.schema.on_cut_over == "keep",
        ),
        rolled_back=rolled_back,
        guard=guard,
        transactions=transactions,
        listener=notices,
        on_rewrite=settings.schema.on_rewrite,
        cascades=cascades,
        signals=signals,
    )
    copies = open_copies(
        settings,
        source,
        recovered.snapshots,
        tables,
        CopyOutput(settings.name, options, encoder, target, copied_rows, standing, decoder, clock),
        peers.copying,
        quarantine.lift,
        wanted,
        CascadedCopies(cascaded, settings.schema.cascade_seconds, quarantine.fences),
        Notifications(settings, target, clock),
        TableTopics(options, recovered.schemas, sink.has_topic, lost),
    )
    attendants: list[Attendant] = [quarantine, copies, *_heartbeat(settings, source, target, clock)]
    attendants += _listeners(settings, peers, standing, tables, quarantine, copies, signals)
    names = encoder.tables.names
    return PipelineParts(delivery, quarantine, copies, cascaded, names, tuple(attendants))


def _heartbeat(
    settings: Settings, source: CheckedSource, target: RecordTarget, clock: Clock
) -> Iterator[Heartbeat]:
    interval = settings.delivery.heartbeat_interval_seconds
    if interval:
        has_statement = bool(source.settings.heartbeat_statement)
        statement = HeartbeatStatement(source.settings) if has_statement else None
        yield Heartbeat(settings.kafka.topic_prefix, interval, target, clock, statement)


def _listeners(
    settings: Settings,
    peers: Peers,
    standing: StreamPosition,
    tables: TableFilter,
    quarantine: QuarantineKeeper,
    copies: Copies,
    signals: SignalRows | None,
) -> list[Attendant]:
    """Return the attendants that take requests and signals."""
    attendants: list[Attendant] = []
    handlers = SignalledCopies(copies, tables).handlers
    if signals is not None:
        attendants.append(SourceSignals(signals, handlers))
    if settings.signals.file is not None:
        file = SignalFile(settings.signals.file, standing.signals_file)
        attendants.append(FileSignals(file, standing, handlers))
    topic = settings.signals.kafka_topic
    if topic is not None:
        listener = SignalListener(settings.kafka, topic, standing.signals_offset)
        attendants.append(Signals(listener, standing, handlers))
    # The last: it opens a connection, and no later step can fail.
    commands = Commands(
        peers.listen(settings.kafka, settings.name, standing.commands_offset),
        standing,
        {
            "snapshot": partial(request_copy, copies, tables),
            DISMISSAL: partial(request_dismissal, copies),
            REPLAY: quarantine.request,
        },
    )
    return [*attendants, commands]


def _record_encoder(
    options: EnvelopeOptions, standing: StreamPosition, target: RecordTarget, recovered: Recovered
) -> RecordEncoder:
    last = recovered.progress
    awaited = awaited_columns(last) if last is not None else {}
    current = last.current_schemas if last is not None else {}
    # Without progress, statements may have changed the tables since the records were written.
    names = [key.rpartition("/")[0] for key in recovered.schemas]
    stated = last.stated_schemas if last is not None else dict.fromkeys(names, "")
    return RecordEncoder(
        options, standing.order, target, recovered.schemas, awaited, current, stated
    )


def _anchored_tables(
    settings: Settings, recovered: Recovered, source: CheckedSource, notices: Notices
) -> AnchoredTables:
    last = recovered.progress
    return AnchoredTables(
        source.definitions(),
        settings.name,
        notices,
        mariadb=source.identity.flavour == "mariadb",
        schemas=recovered.schemas if last is not None else {},
        changed=last.changed_tables if last is not None else (),
    )
