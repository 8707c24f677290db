"""Source to sink: the only module that sees both ends.

*Batches.* Whole source transactions are gathered until they are large or old enough, then become
visible in one Kafka transaction together with the progress that covers them. A commit happens only
between source transactions; one that is larger than a batch passes through a single Kafka
transaction, and the sink bounds what is in flight.

*Backpressure.* There is one thread. While the sink waits for Kafka, the socket is not read, and
TCP makes the source wait.
"""

from __future__ import annotations

import time
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING

import structlog

from connector.binlog.control_events import IgnorableEvent
from connector.binlog.decoder import EventDecoder
from connector.binlog.event_types import event_name
from connector.changes.assembler import TransactionAssembler
from connector.changes.table_filter import TableFilter
from connector.changes.transaction import Committed, RowsChange
from connector.envelope.encode import RecordEncoder
from connector.envelope.event_encoder import EnvelopeOptions
from connector.errors import (
    ConnectorError,
    DecodeError,
    DefiniteError,
    EventError,
    SourceUnavailable,
)
from connector.resume import Standing, added_columns, start_point
from connector.sink.kafka import KafkaSink
from connector.source.dump_request import open_stream
from connector.source.mysql_server import MysqlServer
from connector.source.preflight import check_source, require
from connector.source.start import resolve_start, validate_start

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.changes.transaction import Change
    from connector.config import Settings
    from connector.resume import Instance
    from connector.stop import StopSignals

# How long the socket may be waited for before a request to stop is looked at.
_POLL_SECONDS = 0.2
# Transactions of tables that are not followed move the position; it is kept this fresh.
_POSITION_SECONDS = 5.0
# A source transaction that is under way when a stop is asked for may end within this time.
_DRAIN_SECONDS = 10.0
_REPORT_SECONDS = 30.0
_MS = 1000
_US = 1_000_000


class Pipeline:
    """One run of the stream: opened once, never repaired; after an error a new one is opened."""

    def __init__(
        self, settings: Settings, instance: Instance, single_transactions: int = 0
    ) -> None:
        """Fence older instances, check the source, and stand at the committed progress.

        The first `single_transactions` source transactions are committed one by one.
        Raises TransientError or DefiniteError.
        """
        self._log = structlog.get_logger()
        self._delivery = settings.delivery
        self._instance = instance
        self._sink = KafkaSink(
            settings.kafka, settings.name, instance.id, settings.delivery.in_flight_bytes_max
        )
        try:
            self._open_source(settings)
        except BaseException:
            self._sink.close()
            raise
        self._batch_bytes = 0
        self._batch_records = 0
        # Complete source transactions that are not committed.
        self._waiting = 0
        self._single_transactions = single_transactions
        self._batch_started = self._last_commit = self._last_report = time.monotonic()
        self._published = self._transactions = 0

    @property
    def waiting_transactions(self) -> int:
        """Complete source transactions of the batch at hand."""
        return self._waiting

    def run(self, stop: StopSignals) -> None:
        """Stream until `stop` asks otherwise.

        Raises TransientError or DefiniteError.
        """
        try:
            self._stream_until(stop)
        except DefiniteError as error:
            # Until it is aborted, the transaction would hold back every read_committed consumer.
            with suppress(ConnectorError):
                self._sink.abort()
            if isinstance(error, EventError):
                reason = f"{error}. Nothing from this transaction was published"
                raise DecodeError(reason) from error
            raise

    def _stream_until(self, stop: StopSignals) -> None:
        drain_until: float | None = None
        while True:
            if stop.requested:
                drain_until = drain_until or time.monotonic() + _DRAIN_SECONDS
                if not self._assembler.in_transaction or time.monotonic() > drain_until:
                    break
            payload = self._stream.receive(self._patience())
            if payload is not None:
                self._take(self._decoder.decode(payload))
            self._commit_when_due()
        if self._assembler.in_transaction:
            self._sink.abort()
            self._log.info("stopped inside a transaction; it is read again by the next run")
        elif self._waiting:
            self._commit()

    def close(self) -> None:
        """Let go of source and sink; what has not been committed is aborted by Kafka."""
        self._stream.close()
        self._sink.close()

    def _open_source(self, settings: Settings) -> None:
        last, schema_keys = self._sink.recover()
        server = MysqlServer.connect(settings.source)
        place = server.place
        try:
            require(check_source(server, settings.source), place)
            identity = server.identity
            if last is None:
                point = resolve_start(server, settings.source.start)
            else:
                point = start_point(last, identity, place)
            validate_start(server, point)
            lower_case_names = server.variable("lower_case_table_names") == "1"
        finally:
            server.close()
        self._standing = Standing(identity, point, last)
        options = EnvelopeOptions(
            prefix=settings.kafka.topic_prefix,
            connector=identity.flavour,
            version=version("binlog-connector"),
            tombstones=settings.kafka.tombstones,
        )
        self._encoder = RecordEncoder(
            options,
            self._standing.order,
            schema_keys,
            added_columns(last) if last is not None else {},
        )
        self._assembler = TransactionAssembler(
            TableFilter(settings.source.tables, settings.source.exclude_tables),
            lower_case_names=lower_case_names,
        )
        # The claim: from here on an older instance that is still running can see who fenced it.
        self._commit_progress()
        self._stream = open_stream(settings.source, point, replica_name=settings.name)
        if self._stream.identity.server_uuid != identity.server_uuid:
            # A proxy or a moved address led the second login elsewhere than the checks.
            self._stream.close()
            reason = f"{place}: another server answered than the one that was checked"
            raise SourceUnavailable(reason)
        self._decoder = EventDecoder(
            file=point.file, position=point.position, mariadb=identity.flavour == "mariadb"
        )
        self._log.info(
            "streaming",
            source=f"{settings.source.host}:{settings.source.port}",
            server=identity.version,
            resumed=last is not None,
            position=f"{point.file}:{point.position}",
            gtid_set=str(point.gtid_set) if point.gtid_set is not None else None,
        )

    def _take(self, event: Event) -> None:
        if isinstance(event.body, IgnorableEvent):
            self._log.warning(
                "skipped an event of an unknown type, which its server flagged as ignorable",
                type=event_name(event.header.type_code),
                file=event.file,
                position=event.position,
            )
        for change in self._assembler.receive(event):
            self._deliver(change)

    def _deliver(self, change: Change) -> None:
        if isinstance(change, Committed):
            published = self._encoder.has_published(change.transaction)
            seq = str(self._encoder.sequence(change.transaction)) if published else ""
            self._standing.advance(change, seq)
            self._waiting += 1
            self._transactions += 1
            return
        now_us = time.time_ns() // 1000
        if isinstance(change, RowsChange):
            records = self._encoder.rows(change, now_us)
        else:
            records = self._encoder.statement(change, now_us)
        for record in records:
            if not self._batch_records:
                self._batch_started = time.monotonic()
            self._batch_bytes += self._sink.publish(record)
            self._batch_records += 1

    def _patience(self) -> float:
        """Return how long to wait for the next event, in seconds."""
        if not self._batch_records:
            return _POLL_SECONDS
        due = self._batch_started + self._delivery.commit_interval_ms / _MS
        return min(_POLL_SECONDS, max(0.0, due - time.monotonic()))

    def _commit_when_due(self) -> None:
        if self._assembler.in_transaction or not self._waiting:
            return
        now = time.monotonic()
        if self._single_transactions:
            due = True
        elif self._batch_records:
            due = (
                self._batch_bytes >= self._delivery.batch_bytes_max
                or now - self._batch_started >= self._delivery.commit_interval_ms / _MS
            )
        else:
            due = now - self._last_commit >= _POSITION_SECONDS
        if due:
            self._commit()
        if now - self._last_report >= _REPORT_SECONDS:
            self._report(now)

    def _commit(self) -> None:
        self._commit_progress()
        self._published += self._batch_records
        self._batch_bytes = self._batch_records = 0
        self._single_transactions = max(0, self._single_transactions - self._waiting)
        self._waiting = 0
        self._last_commit = time.monotonic()

    def _commit_progress(self) -> None:
        now_ms = time.time_ns() // _US
        self._sink.commit(
            self._standing.progress(self._instance, self._encoder.added_columns, now_ms)
        )

    def _report(self, now: float) -> None:
        seconds = now - self._last_report
        self._log.info(
            "delivered",
            records=self._published,
            records_per_second=round(self._published / seconds),
            transactions=self._transactions,
        )
        self._published = self._transactions = 0
        self._last_report = now
