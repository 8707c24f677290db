"""Runs pipelines: a transient error leads to a new one, a definite error ends the process.

Some definite errors may pass: a name server that does not know a name for a moment, a password that
is being changed. After them, new pipelines are tried for `retry.refused_seconds`.

This is the only retry loop of the program. A new pipeline always starts from committed progress, so
a retry is safe after any error.

A transaction that cannot be published must not hold back the transactions before it in the same
batch: `RetryState` says how the next pipeline continues after each kind of error.

If a server refuses to continue with its log (the log is damaged, for example), the next pipeline
asks the others. A refusal is valid for the position of the stream. Once another server has brought
the stream further, all servers are asked again.
"""

import os
import random
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial

import structlog

from connector.foundation import errors
from connector.foundation.formatting import abbreviated
from connector.foundation.operating_system import Clock, StopSignals
from connector.foundation.settings.sections import RetrySettings, Settings, SourceSettings
from connector.replication import server_errors
from connector.replication.server.addresses import candidates
from connector.stream.changes.changes_errors import RolledBack
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.progress.stream_position import Instance
from connector.stream.run import run_errors
from connector.stream.run.monitoring import otlp_export, systemd_notifications
from connector.stream.run.peers import PEERS, Peers, RunContext
from connector.stream.run.pipeline import Pipeline
from connector.stream.sink import kafka_errors
from connector.stream.sink.connection import servers_of
from connector.stream.sink.registered_formats import open_registry
from connector.stream.status.status_collector import reporting
from connector.stream.status.status_log import RecentEvents

# A turn of the main loop may take as long as a Kafka transaction, plus this.
_TURN_SECONDS = 60.0
# Between two looks whether a paused stream is resumed.
_PAUSED_SECONDS = 0.5
# A name or a login that is refused at the start is most likely wrong.
_START_SECONDS_MAX = 10.0
# More doublings are too large for a float.
_DOUBLINGS_MAX = 64


def supervise(
    settings: Settings,
    peers: Peers = PEERS,
    signals: StopSignals | None = None,
    events: RecentEvents | None = None,
) -> None:
    """Stream between `peers` until `signals`, SIGTERM and SIGINT, request a stop.

    The status page shows `events`, the lines of the log. Raises DefiniteError, or TransientError
    after `retry.attempts_max` attempts.
    """
    context = _run_context(settings, peers)
    instance, metrics = context.instance, context.metrics
    refusals = _Refusals(settings.source, metrics)
    retry_state = RetryState()

    def open_pipeline() -> Pipeline:
        return Pipeline(
            context, retry_state.single_transactions, retry_state.rolled_back, refusals.current()
        )

    opening = partial(refusals.open_other, open_pipeline)

    with (
        closing(metrics),
        reporting(settings, instance, metrics, events or RecentEvents()),
        systemd_notifications(metrics),
        otlp_export(metrics, settings.metrics, instance),
        signals or StopSignals() as stop,
    ):
        metrics.control.wake = stop.wake
        runs = _Runs(settings.retry, metrics, peers.clock)
        while not stop.requested:
            _wait_for_resume(metrics, stop)
            pipeline = _open(opening, runs, stop)
            if pipeline is None:
                break
            runs.begin()
            try:
                pipeline.run(stop)
            except RolledBack as error:
                structlog.get_logger().info(
                    "reading again without its rows", **errors.fields(error)
                )
                retry_state.leave_out_rows(error.transaction_id)
            except errors.TransientError as error:
                _prepare_next_run(error, retry_state, pipeline, settings)
                stop.sleep(runs.interrupt(error))
            except errors.DefiniteError as error:
                if runs.outlasts(error):
                    retry_state.start_over()
                    stop.sleep(runs.interrupt(error))
                elif not _goes_on(error, retry_state, refusals, pipeline):
                    raise
            finally:
                pipeline.close()
        stop.report()
        _log_end(metrics)


def _run_context(settings: Settings, peers: Peers) -> RunContext:
    instance = Instance(id=uuid.uuid4().hex, host=socket.gethostname(), pid=os.getpid())
    turn_seconds = max(settings.kafka.transaction_timeout_seconds, settings.retry.max_seconds)
    metrics = PipelineMetrics(
        settings.name, started_at=time.time(), turn_seconds_max=_TURN_SECONDS + turn_seconds
    )
    # For all runs: a schema whose id is known needs no registry.
    return RunContext(settings, instance, metrics, peers, open_registry(settings))


def _wait_for_resume(metrics: PipelineMetrics, stop: StopSignals) -> None:
    """Wait while the stream is paused; no connection to Kafka or for the stream is open then."""
    was_paused = False
    while metrics.control.paused and not stop.requested:
        if not was_paused:
            was_paused = True
            structlog.get_logger().info("paused", position=_position(metrics))
        metrics.turn()
        stop.sleep(_PAUSED_SECONDS)
    if was_paused and not stop.requested:
        structlog.get_logger().info("resumed", position=_position(metrics))


class RetryState:
    """How the next pipeline continues after earlier runs; the end of each run changes it.

    ::

        rows were rolled back later     ──▶ read the same again, without these rows
        a peer was lost                 ──▶ continue from committed progress
        Kafka aborted a transaction     ──▶ continue, and commit each transaction before it alone
        a server refuses its log        ──▶ continue with another server
        a change cannot be published    ──▶ commit the transactions before it one by one, then stop
    """

    def __init__(self) -> None:
        # The number of source transactions that are committed one by one.
        self.single_transactions = 0
        self._rolled_back: set[str] = set()
        self._outlasted: str | None = None
        self._refused = False

    @property
    def rolled_back(self) -> frozenset[str]:
        """Ids of transactions whose rows are left out."""
        return frozenset(self._rolled_back)

    def leave_out_rows(self, transaction_id: str) -> None:
        """A run has delivered rows of this transaction, which was rolled back."""
        self._rolled_back.add(transaction_id)

    def start_over(self) -> None:
        """A run has lost a peer, or a server refused its log."""
        self.single_transactions = 0
        self._refused = False
        self._rolled_back.clear()

    def spare_others(self, transaction_id: str, waiting: int) -> bool:
        """A transaction took longer than Kafka allows, with `waiting` transactions before it.

        Returns whether to try it once more: False if it took too long before.
        """
        if transaction_id == self._outlasted:
            return False
        self.start_over()
        self._outlasted = transaction_id
        # Commit it alone next time, so that the transactions before it do not wait for it.
        self.single_transactions = waiting
        return True

    def save_complete(self, waiting: int) -> bool:
        """A run met a change that cannot be published, with `waiting` transactions before it.

        Returns whether these can still be committed: False if the same change came again, which
        ends the pipeline.
        """
        if self._refused or not waiting:
            return False
        self._refused = True
        self.single_transactions = waiting
        return True


class _Refusals:
    """Refusals of servers, valid as long as the stream is at the same position.

    A server that refused is not asked again there, so this ends: each refusal leaves one server
    less.
    """

    def __init__(self, settings: SourceSettings, metrics: PipelineMetrics) -> None:
        self._are_several = len(candidates(settings)) > 1
        self._metrics = metrics
        self._by_address: dict[str, errors.SourceRefused] = {}
        self._delivered = 0  # transactions when the last one was added

    def current(self) -> Mapping[str, errors.SourceRefused]:
        """Return the refusals by the HOST:PORT of their server."""
        if self._metrics.transactions > self._delivered:
            self._by_address.clear()
            self._metrics.refused = {}
        return self._by_address

    def open_other(self, open_pipeline: Callable[[], Pipeline]) -> Pipeline:
        """Open a pipeline on the first server that does not refuse at once."""
        while True:
            try:
                return open_pipeline()
            except errors.SourceRefused as error:
                self.add(error)

    def add(self, error: errors.SourceRefused) -> None:
        """Skip the server that `error` came from; raises `error` if no other server is left."""
        if not (self._are_several and error.address):
            raise error
        self.current()
        self._delivered = self._metrics.transactions
        self._by_address[error.address] = error
        self._metrics.refused = dict(self._by_address)
        _interrupted(self._metrics, error, 0.0)


def _goes_on(
    error: errors.DefiniteError, retry_state: RetryState, refusals: _Refusals, pipeline: Pipeline
) -> bool:
    """Return whether there is a next run: on another server, or up to a change; prepare it.

    Raises `error` if no other server is left.
    """
    if isinstance(error, errors.SourceRefused):
        refusals.add(error)
        retry_state.start_over()
        return True
    return _saves_complete(error, retry_state, pipeline)


def _saves_complete(
    error: errors.DefiniteError, retry_state: RetryState, pipeline: Pipeline
) -> bool:
    """Return whether the next run commits what came before a change that cannot be published."""
    kinds = (errors.DecodeError, errors.UnsupportedChange, errors.SinkRefused)
    if error.code in (kafka_errors.POSITION_DELETED, kafka_errors.KEPT_BACK_DELETED):
        # A next run would begin without what was deleted.
        return False
    return isinstance(error, kinds) and retry_state.save_complete(pipeline.waiting_transactions)


class _Runs:
    """Counts how many pipelines in a row broke before they delivered anything.

    A pipeline that opens and breaks at once counts like one that cannot be opened.
    """

    def __init__(self, settings: RetrySettings, metrics: PipelineMetrics, clock: Clock) -> None:
        self.settings = settings
        self.metrics = metrics
        self._clock = clock
        self._in_vain = 0
        self._commits = 0
        self._began = 0.0
        self._has_streamed = False
        # When each kind of refusal that may pass began: what one server refuses says nothing of
        # how long another one will.
        self._refused_since: dict[str, float] = {}

    def begin(self) -> None:
        """Note that a pipeline is open."""
        self._commits, self._began = self.metrics.commits, self._clock.monotonic()
        self._has_streamed = True
        self._refused_since.clear()

    def outlasts(self, error: BaseException) -> bool:
        """Return whether a new attempt may succeed after `error`, and there is time for it."""
        if isinstance(error, errors.TransientError):
            self._refused_since.clear()
            return True
        if not (isinstance(error, errors.DefiniteError) and error.may_pass):
            return False
        now = self._clock.monotonic()
        since = self._refused_since.setdefault(error.code.code, now)
        seconds_max = self.settings.refused_seconds
        if not self._has_streamed:
            seconds_max = min(seconds_max, _START_SECONDS_MAX)
        return now - since < seconds_max

    def interrupt(self, error: errors.ConnectorError) -> float:
        """Report `error`, which ended a run; return how many seconds to wait.

        Raises `error` after the last attempt.
        """
        pause_seconds = self._pause_after(error)
        _interrupted(self.metrics, error, pause_seconds)
        return pause_seconds

    def _pause_after(self, error: errors.ConnectorError) -> float:
        settings = self.settings
        seconds = self._clock.monotonic() - self._began
        if self.metrics.commits > self._commits or seconds > settings.max_seconds:
            self._in_vain = 0
        self._in_vain += 1
        if self._in_vain == settings.attempts_max:
            raise error
        return self.pause_seconds(self._in_vain)

    def pause_seconds(self, attempts: int) -> float:
        """Return how long to wait after so many attempts in vain."""
        settings = self.settings
        doublings = min(attempts - 1, _DOUBLINGS_MAX)
        jitter = random.uniform(0.0, settings.initial_seconds)  # noqa: S311 - not a secret
        return min(settings.initial_seconds * 2.0**doublings + jitter, settings.max_seconds)


def _open(open_pipeline: Callable[[], Pipeline], runs: _Runs, stop: StopSignals) -> Pipeline | None:
    """Return an open pipeline, or None if a stop was requested meanwhile."""
    attempts = 0
    while not stop.requested:
        try:
            return open_pipeline()
        except errors.ConnectorError as error:
            attempts += 1
            if not runs.outlasts(error) or attempts == runs.settings.attempts_max:
                raise
            pause_seconds = runs.pause_seconds(attempts)
            _interrupted(runs.metrics, error, pause_seconds)
            stop.sleep(pause_seconds)
    return None


def _prepare_next_run(
    error: errors.TransientError, retry_state: RetryState, pipeline: Pipeline, settings: Settings
) -> None:
    """Prepare the next run; raises SinkRefused if a transaction took too long twice."""
    if not isinstance(error, errors.TransactionOutlasted):
        retry_state.start_over()
        return
    if retry_state.spare_others(error.transaction_id, pipeline.waiting_transactions):
        return
    kafka = settings.kafka
    raise errors.SinkRefused(
        run_errors.OUTLASTED_TWICE,
        servers=servers_of(kafka),
        transaction=error.transaction_id,
        seconds=error.seconds,
        timeout=kafka.transaction_timeout_seconds,
    ) from error


def _position(metrics: PipelineMetrics) -> str | None:
    position = metrics.position
    return None if position is None else f"{position.progress.file}:{position.progress.position}"


def _log_end(metrics: PipelineMetrics) -> None:
    position = metrics.position
    progress = None if position is None else position.progress
    structlog.get_logger().info(
        "stopped",
        position=_position(metrics),
        gtid_set=None if progress is None else abbreviated(progress.gtid_set),
        records=metrics.records,
        transactions=metrics.transactions,
        interruptions=metrics.interruptions,
    )


def _interrupted(
    metrics: PipelineMetrics, error: errors.ConnectorError, pause_seconds: float
) -> None:
    metrics.turn()
    metrics.streaming = False
    metrics.interruptions += 1
    metrics.interrupted_by = error
    unresolved = error.code is server_errors.NAME_UNKNOWN
    if unresolved or (isinstance(error, errors.SourceUnavailable) and not error.answered):
        metrics.source.lose(error)
    elif isinstance(error, errors.SinkUnavailable) and not error.answered and not metrics.kafka.up:
        # Kafka has no watch before it was first reached.
        metrics.kafka.lose(error)
    structlog.get_logger().warning(
        "interrupted", **errors.fields(error), retry_in_seconds=round(pause_seconds, 1)
    )
