"""Source to sink: the only module that sees both ends.

*Batches.* Whole source transactions become visible in one Kafka transaction together with the
progress that covers them, when `commit_schedule` says so or the batch is large enough. A commit
happens only between source transactions; one that is larger than a batch passes through a single
Kafka transaction, and the sink bounds what is in flight.

*Attendants.* What works beside the stream (copies of tables, requests) has its turn between two
source transactions, and what it writes is committed like the stream's.

*Backpressure.* There is one thread. While the sink waits for Kafka, the socket is not read, and
TCP makes the source wait.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib.metadata import version
from math import inf
from typing import TYPE_CHECKING

import structlog

from connector.binlog.decoder import EventDecoder
from connector.binlog.event_types import event_name
from connector.changes.online_schema_change import OnlineChanges
from connector.changes.table_filter import TableFilter
from connector.commands import Commands
from connector.commit_schedule import CommitSchedule
from connector.delivery_stream import DeliveryStream
from connector.envelope.anchored_tables import AnchoredTables
from connector.envelope.encode import RecordEncoder
from connector.envelope.event_encoder import EnvelopeOptions
from connector.envelope.transaction_records import TransactionRecords
from connector.errors import (
    ConnectorError,
    DecodeError,
    DefiniteError,
    EventError,
    SinkUnavailable,
    SourceUnavailable,
    TransactionOutlasted,
)
from connector.heartbeat import Heartbeat
from connector.peers import PEERS, Peers
from connector.quarantine.keeper import REPLAY
from connector.quarantine.opening import open_quarantine
from connector.resume import Standing, added_columns
from connector.snapshot.opening import open_copies, request_copy
from connector.snapshot.output import CopyOutput

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.attendant import Attendant
    from connector.config import Settings
    from connector.metrics.figures import Figures
    from connector.resume import Instance
    from connector.stop import StopSignals

# How long the socket may be waited for before a request to stop is looked at.
_POLL_SECONDS = 0.2
# A source transaction that is under way when a stop is asked for may end within this time.
_DRAIN_SECONDS = 10.0
_REPORT_SECONDS = 30.0
_MS = 1000
_NS_PER_US = 1000
_NS_PER_MS = 1_000_000


class Pipeline:
    """One run of the stream: opened once, never repaired; after an error a new one is opened."""

    def __init__(
        self,
        settings: Settings,
        instance: Instance,
        figures: Figures,
        single_transactions: int = 0,
        rolled_back: frozenset[str] = frozenset(),
        peers: Peers = PEERS,
    ) -> None:
        """Fence older instances, check the source, and stand at the committed progress.

        What is done is counted in `figures`. The first `single_transactions` source transactions
        are committed one by one. Those in `rolled_back`, by their ids, had rows that were delivered
        before they were rolled back.
        Raises TransientError or DefiniteError.
        """
        self._log = structlog.get_logger()
        self._clock = clock = peers.clock
        self._batch_bytes_max = settings.delivery.batch_bytes_max
        self._schedule = CommitSchedule(
            settings.delivery.commit_interval_ms / _MS, clock.monotonic()
        )
        self._batch_started = clock.monotonic()
        self._transaction_seconds_max = settings.kafka.transaction_timeout_seconds
        self._instance = instance
        self._figures = figures
        self._single_transactions = single_transactions
        # What was committed since the last report.
        self._records = self._transactions = 0
        self._last_report = clock.monotonic()
        # What works beside the stream.
        self._attendants: list[Attendant] = []
        self._sink = peers.open_sink(settings, instance)
        try:
            self._open_source(settings, peers, rolled_back)
        except BaseException:
            self._close_attendants()
            self._sink.close()
            raise

    @property
    def waiting_transactions(self) -> int:
        """Complete source transactions of the batch at hand."""
        return self._delivery.waiting

    def run(self, stop: StopSignals) -> None:
        """Stream until `stop` asks otherwise.

        Raises TransientError or DefiniteError.
        """
        try:
            self._stream_until(stop)
        except SinkUnavailable as error:
            seconds = self._clock.monotonic() - self._batch_started
            if seconds < self._transaction_seconds_max:
                raise
            raise TransactionOutlasted(str(error), self._delivery.latest_id, seconds) from error
        except DefiniteError as error:
            # Until it is aborted, the transaction would hold back every read_committed consumer.
            with suppress(ConnectorError):
                self._sink.abort()
            if isinstance(error, EventError):
                reason = f"{error}. Nothing from this transaction was published"
                raise DecodeError(reason) from error
            raise

    def _stream_until(self, stop: StopSignals) -> None:
        delivery = self._delivery
        drain_until: float | None = None
        while True:
            if stop.requested:
                drain_until = drain_until or self._clock.monotonic() + _DRAIN_SECONDS
                if not delivery.in_transaction or self._clock.monotonic() > drain_until:
                    break
            self._take_turns(stop)
        if delivery.in_transaction:
            self._sink.abort()
            self._log.info("stopped inside a transaction; it is read again by the next run")
        elif delivery.waiting or self._sink.target.records:
            self._commit()

    def _attend(self) -> None:
        """Let the attendants write."""
        resyncs = self._delivery.resyncs
        self._copies.resyncs += resyncs
        resyncs.clear()
        for attendant in self._attendants:
            attendant.step()

    def _hold(self, stop: StopSignals) -> None:
        """Let the attendants write, while the stream stands still."""
        self._attend()
        if self._sink.target.records:
            self._commit()
        else:
            stop.sleep(self._poll_seconds)

    def _take_turns(self, stop: StopSignals) -> None:
        """Deliver what is there, let the attendants write, and commit or wait for more."""
        delivery = self._delivery
        if self._figures.doubt:
            raise SourceUnavailable(self._figures.doubt)
        if self._copies.holds_stream:
            self._hold(stop)
            return
        now = self._clock.monotonic()
        if not self._sink.target.records:
            self._schedule.started(now)
            self._batch_started = now
        batch_bytes_max = self._batch_bytes_max
        # At the end of a transaction: what is received at a time mostly ends inside of one.
        if stop.requested or self._single_transactions or now >= self._overdue or self._wants_turn:
            batch_bytes_max = 0
        try:
            all_taken = delivery.run(
                self._stream.events, batch_bytes_max, self._clock.time_ns() // _NS_PER_US
            )
        except SourceUnavailable:
            # The file that follows is in doubt, not what came before it.
            if delivery.waiting and not delivery.in_transaction:
                self._commit()
            raise
        finally:
            self._tell_of_skipped()
        if not delivery.in_transaction:
            self._attend()
        due = not all_taken or self._seconds_until(self._schedule.overdue) <= 0
        if not due:
            patience, poll = self._seconds_until(self._schedule.due), self._poll_seconds
            came = self._stream.fill(max(0.0, min(patience, poll)))
            due = not came and patience <= poll
        if due:
            self._commit()

    def close(self) -> None:
        """Let go of source and sink; what has not been committed is aborted by Kafka."""
        self._figures.connected = False
        self._watch.close()
        self._close_attendants()
        self._stream.close()
        self._delivery.close()
        self._sink.close()

    def _close_attendants(self) -> None:
        for attendant in self._attendants:
            attendant.close()

    def _open_source(self, settings: Settings, peers: Peers, rolled_back: frozenset[str]) -> None:
        recovered = self._sink.recover(claimed=self._instance.claimed)
        last = recovered.progress
        source = peers.choose_source(settings.source, last)
        identity, point = source.identity, source.point
        standing = Standing(identity, point, last, source=source.address)
        options = EnvelopeOptions(
            prefix=settings.kafka.topic_prefix,
            connector=identity.flavour,
            version=version("binlog-connector"),
            tombstones=settings.kafka.tombstones,
        )
        prefix, target = settings.kafka.topic_prefix, self._sink.target
        transactions = None
        if settings.delivery.transaction_records:
            transactions = TransactionRecords(prefix, target)
        encoder = RecordEncoder(
            options,
            standing.order,
            transactions or target,
            recovered.schemas,
            added_columns(last) if last is not None else {},
        )
        self._anchored = encoder.anchored = AnchoredTables(
            source.definitions(),
            settings.name,
            mariadb=identity.flavour == "mariadb",
            schemas=recovered.schemas if last is not None else {},
            changed=last.changed_tables if last is not None else (),
        )
        self._tables = TableFilter(settings.source.tables, settings.source.exclude_tables)
        decoder = EventDecoder(
            file=point.file, position=point.position, mariadb=identity.flavour == "mariadb"
        )
        guard, quarantine = open_quarantine(
            settings,
            recovered.fences,
            options,
            encoder,
            decoder,
            standing,
            self._sink,
            self._clock,
        )
        self._attendants.append(quarantine)
        self._figures.fences = quarantine.count
        self._delivery = DeliveryStream(
            decoder,
            self._tables,
            encoder,
            self._sink.target,
            standing,
            lower_case_names=source.lower_case_names,
            online=OnlineChanges.of_record(last.online_changes if last is not None else {}),
            rolled_back=rolled_back,
            guard=guard,
            transactions=transactions,
        )
        if settings.delivery.heartbeat_interval_seconds:
            interval = settings.delivery.heartbeat_interval_seconds
            self._attendants.append(Heartbeat(prefix, interval, target, self._clock))
        self._copies = open_copies(
            settings,
            source,
            recovered.snapshots,
            self._tables,
            CopyOutput(
                settings.name, options, encoder, self._sink.target, standing, decoder, self._clock
            ),
            peers.copying,
            quarantine.lift,
        )
        self._attendants.append(self._copies)
        self._figures.copies = self._copies.figures
        self._attendants.append(
            Commands(
                peers.listen(settings.kafka, settings.name, standing.commands_offset),
                standing,
                {"snapshot": partial(request_copy, self._copies), REPLAY: quarantine.request},
            )
        )
        # The claim: from here on an older instance that is still running can see who fenced it.
        self._commit()
        self._instance.claimed = True
        self._stream = source.open_stream(settings.name)
        self._figures.doubt = ""
        self._watch = peers.watch_source(source.settings, self._figures)
        self._figures.connected = True
        self._log.info(
            "streaming",
            source=f"{source.settings.host}:{source.settings.port}",
            server=identity.version,
            resumed=last is not None,
            position=f"{point.file}:{point.position}",
            gtid_set=str(point.gtid_set) if point.gtid_set is not None else None,
        )

    def _tell_of_skipped(self) -> None:
        skipped = self._delivery.skipped_events
        for event in skipped:
            self._log.warning(
                "skipped an event of an unknown type, which its server flagged as ignorable",
                type=event_name(event.header.type_code),
                file=event.file,
                position=event.position,
            )
        skipped.clear()
        for table in self._tables.left_out:
            self._log.info(
                "not published: a table of an online schema change, by its name; name it without a "
                "wildcard in source.tables to publish it",
                table=table,
            )
        self._tables.left_out.clear()
        for table in self._anchored.gone:
            self._log.warning(
                "not published: rows whose columns the log does not name, of a table that has been "
                "dropped since; the statement takes all rows of the table back",
                table=table,
            )
        self._anchored.gone.clear()

    @property
    def _wants_turn(self) -> bool:
        """Whether someone waits for the end of a transaction."""
        return any(attendant.wants_turn for attendant in self._attendants)

    @property
    def _poll_seconds(self) -> float:
        """How long to wait for the source, before requests and attendants are looked at."""
        return min(
            (attendant.patience_seconds for attendant in self._attendants), default=_POLL_SECONDS
        )

    @property
    def _overdue(self) -> float:
        """When to commit, whatever the source sends."""
        return self._schedule.overdue(records=self._sink.target.records > 0)

    def _seconds_until(self, when: Callable[..., float]) -> float:
        """Return how long it is until then; without limit where there is nothing to commit."""
        if self._delivery.in_transaction or not (
            self._delivery.waiting or self._sink.target.records
        ):
            return inf
        return when(records=self._sink.target.records > 0) - self._clock.monotonic()

    def _commit(self) -> None:
        delivery = self._delivery
        target = self._sink.target
        records, size = target.records, target.bytes
        progress = delivery.progress(self._instance, self._clock.time_ns() // _NS_PER_MS)
        self._sink.commit(progress)
        self._figures.committed(progress, delivery.committed_us, records, delivery.waiting, size)
        now = self._clock.monotonic()
        self._schedule.committed(now)
        self._records += records
        self._transactions += delivery.waiting
        self._single_transactions = max(0, self._single_transactions - delivery.waiting)
        delivery.waiting = 0
        for attendant in self._attendants:
            attendant.committed()
        if now - self._last_report >= _REPORT_SECONDS:
            self._report(now)

    def _report(self, now: float) -> None:
        seconds = now - self._last_report
        self._log.info(
            "delivered",
            records=self._records,
            records_per_second=round(self._records / seconds),
            transactions=self._transactions,
        )
        self._records = self._transactions = 0
        self._last_report = now
