"""Connects source and sink: the only module that knows both.

*Batches.* One Kafka transaction makes whole source transactions visible, together with their
progress. `commit_schedule` and the size of the batch say when. A commit happens only between source
transactions. A source transaction that is larger than a batch is in a single Kafka transaction, and
the sink bounds the bytes in flight.

*Commits.* While a large commit is on its way, the next batch is read and encoded. Attendants that
have something to do wait for its end: they may read what it makes visible.

*Attendants.* Copies of tables and requests have their turn between two source transactions; their
records are committed like the stream's.

*Waiting.* A stream that has nothing to do waits for its source, and for other threads: each request
and each signal wakes it. So it looks at nothing in between.

*Backpressure.* There is one thread. While the sink waits for Kafka, nothing reads the socket, and
TCP makes the source wait.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from math import inf
from typing import NoReturn

import structlog

from connector.binlog.log_errors import EventError
from connector.foundation import errors
from connector.foundation.operating_system import StopSignals
from connector.foundation.settings.configuration import in_lower_case
from connector.replication import answer_errors
from connector.replication.server.shared_socket import AwaitData
from connector.stream.run import run_errors
from connector.stream.run.assembly import assemble
from connector.stream.run.commits import CommitSchedule, PendingCommit
from connector.stream.run.peers import (
    RunContext,
    check_silence,
    raise_if_superseded,
    seconds_to_silence,
)
from connector.stream.status.status_collector import fenced_tables

# A current source transaction may end within this time after a stop was requested.
_DRAIN_SECONDS = 10.0
# A pause between commits that is as short is slept through, without a look at what comes.
_NAP_SECONDS = 0.1
_MS = 1000


class Pipeline:
    """One run of the stream: opened once, never repaired; after an error a new one is opened."""

    def __init__(
        self,
        context: RunContext,
        single_transactions: int = 0,
        rolled_back: frozenset[str] = frozenset(),
        refusals: Mapping[str, errors.SourceRefused] | None = None,
    ) -> None:
        """Fence older instances, check the source, and continue at the committed progress.

        The first `single_transactions` source transactions are committed one by one. The rows of
        transactions in `rolled_back` (by id) are left out, because they were delivered before they
        were rolled back. Servers in `refusals` (by HOST:PORT) are not read. Raises TransientError
        or DefiniteError.
        """
        settings, peers, metrics = context.settings, context.peers, context.metrics
        self._log = structlog.get_logger()
        self._clock = clock = peers.clock
        self._batch_bytes_max = settings.delivery.batch_bytes_max
        self._schedule = CommitSchedule(
            settings.delivery.commit_interval_ms / _MS,
            settings.delivery.commit_pause_ms / _MS,
            clock.monotonic(),
        )
        self._committing: PendingCommit | None = None
        self._transaction_seconds_max = settings.kafka.transaction_timeout_seconds
        self._instance = context.instance
        self._metrics = metrics
        self._control = metrics.control
        self._single_transactions = single_transactions
        with ExitStack() as opened:
            self._sink = peers.open_sink(settings, self._instance)
            opened.callback(self._sink.close)
            metrics.watch_kafka_by(partial(peers.watch_kafka, settings.kafka, metrics))
            try:
                self._open(context, rolled_back, refusals or {}, opened)
            except errors.ConnectorError as error:
                self._sink.abandon()
                raise_if_superseded(error, self._sink, self._instance, metrics)
                raise
            # What to close, the last opened first.
            self._opened = opened.pop_all()

    @property
    def waiting_transactions(self) -> int:
        """Complete source transactions of the current batch."""
        return self._delivery.waiting

    def run(self, stop: StopSignals) -> None:
        """Stream until a stop or a pause is requested. Raises TransientError or DefiniteError."""
        try:
            self._stream_and_settle(stop)
        except errors.ConnectorError as error:
            if self._committing is not None:
                # It failed, and a call that gave Kafka later records has said so.
                self._lose(self._committing)
            seconds = self._clock.monotonic() - self._schedule.batch_started
            outlasted = seconds >= self._transaction_seconds_max
            # If Kafka was not there, the transaction itself was not too slow.
            is_slow = seconds - self._sink.away_seconds >= self._transaction_seconds_max
            # An open transaction holds back every read_committed consumer. If a stop was requested,
            # no other run would take it over, so abort it here.
            self._sink.abandon()
            raise_if_superseded(
                error, self._sink, self._instance, self._metrics, outlasted=outlasted
            )
            if isinstance(error, EventError):
                raise errors.DecodeError(run_errors.NOT_PUBLISHED, why=error) from error
            latest = self._delivery.latest_id
            if isinstance(error, errors.SinkUnavailable) and error.answered and latest and is_slow:
                raise errors.TransactionOutlasted(
                    run_errors.OUTLASTED, latest, seconds, why=error
                ) from error
            raise

    def _stream_and_settle(self, stop: StopSignals) -> None:
        """Stream; if the source or a change ends that, wait for the commit on its way."""
        try:
            self._stream_until(stop)
        except (errors.SinkUnavailable, errors.SinkRefused, errors.Superseded):
            raise
        except errors.ConnectorError:
            self._settle()
            raise

    def _stream_until(self, stop: StopSignals) -> None:
        delivery = self._delivery
        drain_until: float | None = None
        while True:
            if stop.requested or self._control.paused:
                stop.report()
                drain_until = drain_until or self._clock.monotonic() + _DRAIN_SECONDS
                if not delivery.in_transaction or self._clock.monotonic() > drain_until:
                    break
            self._take_turns(stop)
        if delivery.in_transaction:
            self._settle()
            self._sink.abort()
            self._log.info("stopped inside a transaction; it is read again by the next run")
        elif delivery.has_news or self._sink.target.records:
            self._commit()
        self._settle()

    def _attend(self) -> None:
        """Let the attendants write between two transactions."""
        if self._committing is not None and self._wants_turn:
            self._settle()
        for attendant in self._attendants:
            attendant.step()

    def _commit_complete(self) -> None:
        """Commit whole delivered transactions: the source may never send them again."""
        self._quarantine.spare_source()
        if not self._delivery.in_transaction:
            self._attend()
            if self._delivery.has_news or self._sink.target.records:
                self._commit()
        self._settle()

    def _hold(self, stop: StopSignals) -> None:
        """Let the attendants write while the stream waits."""
        self._settle()
        self._attend()
        if self._delivery.has_news or self._sink.target.records:
            self._commit()
        else:
            stop.sleep(self._poll_seconds)

    def _take_turns(self, stop: StopSignals) -> None:
        """Deliver what was received, let the attendants write, and commit or wait for more."""
        delivery = self._delivery
        self._metrics.turn()
        if self._control.lost_topic is not None:
            raise self._control.lost_topic
        doubt = self._control.doubt
        if doubt is not None:
            self._commit_complete()
            raise doubt
        if self._copies.holds_stream or self._quarantine.holds_stream:
            self._hold(stop)
            return
        now = self._clock.monotonic()
        if not self._sink.target.records:
            self._schedule.batch_started = now
        batch_bytes_max = self._batch_bytes_max
        # At the end of a transaction: received bytes mostly end inside of one.
        is_ending = stop.requested or self._control.paused
        deadline = self._schedule.deadline(records=self._sink.target.records > 0)
        if is_ending or self._single_transactions or now >= deadline or self._wants_turn:
            batch_bytes_max = 0
        try:
            all_taken = delivery.run(self._stream.events, batch_bytes_max, self._clock.now_us())
        except errors.SourceUnavailable:
            # The suspicion is about the next file, not about what came before it.
            self._commit_complete()
            raise
        except errors.UnsupportedChange as error:
            raise delivery.with_fix(error) from error
        if not delivery.in_transaction:
            self._attend()
        if not all_taken or self._seconds_until(self._schedule.deadline) <= 0:
            self._commit()
        else:
            self._receive(stop)

    def _receive(self, stop: StopSignals) -> None:
        """Wait for more, or for the end of a commit; commit if nothing came in time."""
        if self._committing is None:
            patience, poll = self._seconds_until(self._schedule.due_at), self._poll_seconds
            wait = max(0.0, min(patience, poll))
            if 0.0 < wait < _NAP_SECONDS and patience <= poll and not self._stream.is_busy:
                # What comes before the next commit is then read together.
                stop.sleep(wait)
                wait = 0.0
            came = self._fill(wait, stop.await_data)
            if not came and patience <= poll:
                self._commit()
        elif not self._fill(0.0, stop.await_data):
            # There is nothing to encode meanwhile.
            self._settle()

    def _fill(self, timeout_seconds: float, await_data: AwaitData) -> bool:
        """Receive once; return whether something came in time."""
        try:
            came = self._stream.fill(timeout_seconds, await_data)
        except errors.SourceRefused as error:
            self._refuse(error)
        if came:
            self._metrics.hear()
        else:
            check_silence(self._stream.silent_seconds, self._metrics, self._address)
        return came

    def close(self) -> None:
        """Close source and sink; Kafka aborts what was not committed."""
        self._metrics.streaming = False
        self._opened.close()

    def _open(
        self,
        context: RunContext,
        rolled_back: frozenset[str],
        refusals: Mapping[str, errors.SourceRefused],
        opened: ExitStack,
    ) -> None:
        self._metrics.turn()
        recovered = self._sink.recover(claimed=self._instance.claimed)
        lost = self._control.begin(lambda: self._sink.used_topics, self._sink.interrupt)
        self._metrics.turn()
        peers, settings = context.peers, context.settings
        source = peers.choose_source(settings.source, recovered.progress, refusals)
        self._address = source.address
        if source.ignores_case:
            settings = in_lower_case(settings)
        context = replace(context, settings=settings)
        parts = assemble(context, recovered, source, self._sink, rolled_back, lost)
        opened.callback(parts.close)
        self._delivery, self._copies = parts.delivery, parts.copies
        self._quarantine = parts.quarantine
        self._attendants, self._names = parts.attendants, parts.names
        self._metrics.copies = parts.copies.metrics
        self._metrics.pace = parts.copies.pace
        self._metrics.failed_copies = parts.copies.failed
        self._metrics.fences = lambda: parts.fences.count
        self._metrics.fenced_tables = lambda: fenced_tables(parts.fences)
        self._metrics.cascaded_tables = parts.copies.cascaded
        self._metrics.turn()
        # The claim: now an older instance that still runs can see who fenced it.
        self._commit()
        self._settle()
        self._instance.claimed = True
        self._control.restore_topics(lost)
        try:
            self._stream = source.open_stream(settings.name)
        except errors.SourceRefused as error:
            self._refuse(error)
        opened.callback(self._stream.close)
        self._metrics.watch_by(partial(peers.watch_source, source.settings, self._metrics))
        self._metrics.begin_run()
        point = source.point
        self._log.info(
            "streaming",
            source=f"{source.settings.host}:{source.settings.port}",
            server=source.identity.version,
            instance=self._instance.id,
            resumed=recovered.progress is not None,
            # After a start by GTID, the source names the file with its first event.
            position=f"{point.file}:{point.position}" if point.file else None,
            gtid_set=str(point.gtid_set) if point.gtid_set is not None else None,
        )

    def _refuse(self, refusal: errors.SourceRefused) -> NoReturn:
        """Raise a refusal with the server's address, because another server may go on."""
        if refusal.code is answer_errors.SAME_SERVER_ID:
            raise refusal
        raise refusal.sent_by(self._address) from refusal

    @property
    def _wants_turn(self) -> bool:
        """Whether an attendant waits for the end of a transaction."""
        # Without a generator: this is asked several times for each small commit.
        for attendant in self._attendants:  # noqa: SIM110
            if attendant.wants_turn:
                return True
        return False

    @property
    def _poll_seconds(self) -> float:
        """How long to wait for the source before the next look at attendants and silence."""
        patience = min(attendant.patience_seconds for attendant in self._attendants)
        return min(patience, seconds_to_silence(self._stream.silent_seconds))

    def _seconds_until(self, when: Callable[..., float]) -> float:
        """Return the seconds until then; infinite if there is nothing to commit."""
        if self._delivery.in_transaction or not (
            self._delivery.has_news or self._sink.target.records
        ):
            return inf
        return when(records=self._sink.target.records > 0) - self._clock.monotonic()

    def _commit(self) -> None:
        delivery = self._delivery
        target = self._sink.target
        records, size = target.records, target.bytes
        progress = delivery.progress(self._instance, self._clock.now_ms())
        self._settle()
        self._sink.start_commit(progress)
        self._committing = PendingCommit(
            started=self._schedule.batch_started,
            progress=progress,
            records=records,
            bytes=size,
            transactions=delivery.waiting,
            times_ms=delivery.times.take(),
            topics=self._sink.take_topics_sent(),
        )
        if not self._sink.is_committing or self._single_transactions:
            self._settle()
        self._schedule.committed_at = self._clock.monotonic()
        self._single_transactions = max(0, self._single_transactions - delivery.waiting)
        delivery.waiting = 0

    def _settle(self) -> None:
        """Wait for the commit that is on its way, and count what it has delivered."""
        batch, self._committing = self._committing, None
        if batch is None:
            return
        try:
            self._sink.settle()
        except errors.ConnectorError:
            self._lose(batch)
            raise
        batch.count(self._metrics, self._names, self._clock)

    def _lose(self, batch: PendingCommit) -> None:
        """Count the transactions of a failed commit as waiting again."""
        self._schedule.batch_started = batch.started
        self._delivery.waiting += batch.transactions
