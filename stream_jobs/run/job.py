"""The life of the job: start the stream, wait, and stop it between two batches.

*Stopping.* Spark's own `stop` interrupts the running batch. Here, the running batch ends first, and
Spark commits it. A later batch is refused, and runs after the next start; so does one that waits
for the turn of another process. While Spark starts, which may take a minute on a busy machine,
nothing has begun, and the job ends at once.

*Failing.* An error of one table sets the table aside, and the stream goes on. Any other error in a
batch ends the stream; its text goes to the `failed` line and into the mirror, and the exit code is
1, or 3 if the mirror belongs to another process. If Kafka does not answer, the job waits for it,
for `retry.seconds`. It retries nothing else: its supervisor starts it again, and it continues. A
job with metrics answers some seconds longer, so that those who ask for them learn the reason.

*Resuming.* A command asks for a table to be tried again. The job looks for that once in an
interval, between two batches, and only while a table is set aside.
"""

import queue
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from connector.foundation.errors import ConnectorError, fields
from connector.foundation.errors.message import Message
from stream_jobs.apply.garbage import collect_garbage_rarely
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, StopRequested, exit_codes, job_errors
from stream_jobs.run import assembly
from stream_jobs.run.batch import BatchApplier
from stream_jobs.run.interruptions import PAUSE_SECONDS, Interruptions
from stream_jobs.run.job_state import OF_OTHER_OWNERS, RunFailure, RunRecord, own_record
from stream_jobs.run.metrics import IdleTables, JobMetrics, TopicMonitor, topic_monitor
from stream_jobs.run.publication_thread import publishing
from stream_jobs.run.record_retention import RecordRetention
from stream_jobs.run.spark_checkpoint import delete_unusable_checkpoint
from stream_jobs.run.spark_session import Catalog, require_one_machine, start_session
from stream_jobs.run.status_lines import Notices, ProgressListener, StatusLines
from stream_jobs.run.streaming_query import query_listener, ranges_of, start_query
from stream_jobs.run.task_runner import range_runner, start_workers, task_runner
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.offset_stream import error_message
from stream_jobs.source.topics import row_topic_pattern, schema_topic
from stream_jobs.tables.batch_report import BatchReport
from stream_jobs.tables.table_options import TableOptionsResolver

# Spark is asked this often whether the stream has ended, if its listener has said nothing.
_POLL_SECONDS = 5.0
# Between two steps of a large table that is tried again.
_STEP_SECONDS = 0.2
# While no batch runs, it is asked this often whether the source has gone on without the tables.
_IDLE_CUT_SECONDS = 10.0
# Spark calls listeners after the stream; wait so long for their last line.
_LISTENER_SECONDS = 10.0
# The connector asks for the metrics this often, and a little.
_SCRAPE_SECONDS = 6.0
# A job that ends at once waits so long for the workers that it has started.
WORKERS_SECONDS = 10.0
# While Spark starts; py4j makes an error of its own of whatever is raised while it waits.
START_ERRORS = (StopRequested, PySparkException, Py4JError)


class StreamJob:
    """One run of the job."""

    def __init__(
        self, settings: Settings, lines: StatusLines, metrics: JobMetrics | None = None
    ) -> None:
        """Run with `settings`, write status to `lines`, and count in `metrics`.

        Raises ConfigError for a path of a storage that the job does not know.
        """
        self._settings = settings
        # Before anything else asks for it.
        storage_of(settings.mirror.path)
        # None until the folder of the pipeline is known.
        self._record: RunRecord | None = None
        self._lines = lines
        self._metrics = metrics or JobMetrics(settings.name)
        self._stop = threading.Event()
        # Wakes the main thread; a handler of signals may put something at any time.
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        schemas = schema_topic(settings.kafka.topic_prefix)
        self._listener = ProgressListener(
            lines, self._metrics, lambda: self._wake.put(None), schemas
        )
        self._running = threading.Lock()  # held while a batch is applied
        self._is_closed = False
        self._last_batch_id = -1
        self._failure: Exception | None = None
        self._notices = Notices(lines)
        self._applier: BatchApplier | None = None
        # Where the mirrors have names, apart from their folders.
        self._catalog: Catalog | None = None
        self._looked_at = 0.0
        # When the last batch has ended, or the last look at an idle source.
        self._ended_at = time.monotonic()
        self._interruptions = Interruptions(settings.retry.seconds)
        self._secret = secrets.token_hex(16)

    def stop(self) -> None:
        """Request a stop after the current batch; returns at once."""
        self._stop.set()
        self._wake.put(None)

    def stop_start(self) -> None:
        """Request a stop while Spark starts, which does not look. Raises StopRequested."""
        self.stop()
        raise StopRequested

    @property
    def is_to_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def fail(self, message: Message) -> int:
        """Tell why the job ends; return the exit code."""
        self._lines.fail(message)
        if message.code in OF_OTHER_OWNERS:
            return exit_codes.REFUSED
        try:
            record = self._record or own_record(self._settings)
            # Elsewhere it would look as if the pipeline had come to a mirror of another one.
            of_run = RunFailure.of(message) if record is None else record.failed(message)
            self._metrics.failure = of_run
        except MirrorError as error:
            self._report_lost_end(error)
        return exit_codes.FAILED

    def wait_for_scrapes(self) -> None:
        """Wait while others may still ask for the metrics; a signal ends it."""
        if self._metrics.watched:
            self._stop.wait(_SCRAPE_SECONDS)

    def _report_lost_end(self, error: MirrorError) -> None:
        problem = Message(job_errors.END_NOT_KEPT, {"why": error.message})
        self._lines.write("not_kept", **fields(problem))

    def run(self, session: SparkSession) -> int:
        """Apply batches until there is nothing left, a stop is requested, or one fails.

        Returns the exit code.
        """
        with query_listener(session, self._listener):
            return self._run(session)

    def _run(self, session: SparkSession) -> int:
        while not self.is_to_stop and (problem := self._run_query(session)) is not None:
            if not self._interruptions.outlasts(problem):
                return self.fail(problem)
            self._metrics.interrupted(problem)
            self._lines.write("interrupted", **fields(problem), retry_in_seconds=PAUSE_SECONDS)
            if self._stop.wait(PAUSE_SECONDS):
                break
            self._failure, self._last_batch_id = None, -1
            self._listener.restart()
        self._lines.write("stopped", end_offsets={})
        if self._record is None:
            # Nothing has begun, so there is no run to record.
            return exit_codes.OK
        try:
            self._record.stopped()
        except MirrorError as error:
            self._report_lost_end(error)
        return exit_codes.OK

    def _run_query(self, session: SparkSession) -> Message | None:
        """Run one query to its end, and return what it failed with."""
        client = None
        try:
            require_one_machine(session, self._settings)
            client = KafkaClient(self._settings.kafka.facts(), self._stop.is_set)
            query = self._start(session, client)
            assert self._applier is not None
            retention = RecordRetention(self._settings, client, self._applier.sync)
            try:
                with self._watch(client), self._publish(), self._load(session):
                    self._await(query, retention)
                    if self._settings.trigger.kind == "availableNow":
                        while self._retry() or self._catch_up() or self._wait_for_loads():
                            pass
                        self._move_on()
                        self._delete_records(retention)
            finally:
                self._metrics.streaming = False
                query.stop()
            self._listener.wait_for_end(_LISTENER_SECONDS)
        except (ConnectorError, PySparkException, Py4JError) as error:
            cause = self._failure or error
            if isinstance(cause, StopRequested):
                return None
            message = error_message(cause, self._secret)
            if message.code is job_errors.SPARK_FAILED:
                self._lines.write_trace(cause)
            return message
        finally:
            if client is not None:
                client.close()
        return None

    def _start(self, session: SparkSession, client: KafkaClient) -> StreamingQuery:
        settings = self._settings
        run, context = task_runner(session, client), session.sparkContext
        applier = self._applier = assembly.batch_applier(
            settings, client, run, lambda: context.defaultParallelism, self._stop.is_set
        )
        self._metrics.set_aside = lambda: applier.records_set_aside
        self._metrics.loading = lambda: applier.loading
        if applier.ownership is not None:
            self._record = RunRecord(*applier.services.folder, settings.trigger.kind)
            self._metrics.failure = self._record.begin(applier.ownership.owner.epoch)
        is_listed = settings.catalog.kind == "spark"
        self._catalog = Catalog(session, settings.mirror.path) if is_listed else None

        def apply(batch: DataFrame, batch_id: int) -> None:
            with self._batch():
                self._lines.doing(f"applying batch {batch_id}")
                ranges = ranges_of(batch)
                report = applier.apply(ranges)
                self._metrics.end_batch(report)
                self._notices.note_cuts(applier.no_cuts)
                self._notices.note_loads(applier.refused_loads)
                self._notices.note_keyless(report)
                self._lines.write_quarantined(report)
                self._register(report)
                self._listener.add_report(batch_id, report, ranges)
                self._last_batch_id = batch_id

        checkpoint = assembly.checkpoint_of(settings)
        delete_unusable_checkpoint(session, checkpoint)
        query = start_query(session, settings, checkpoint, self._secret, apply)
        self._metrics.opened()
        self._lines.write(
            "started",
            name=settings.name,
            topics=row_topic_pattern(settings.kafka.topic_prefix),
            mirror=settings.mirror.path,
            checkpoint=checkpoint,
            trigger=settings.trigger.kind,
            set_aside=sorted(record.table for record in applier.records_set_aside.values()),
        )
        return query

    def _await(self, query: StreamingQuery, retention: RecordRetention) -> None:
        opened_at = deleted_at = time.monotonic()
        interval = max(_STEP_SECONDS, min(_POLL_SECONDS, self._settings.trigger.interval_seconds))
        pause = interval
        while query.isActive:
            self._metrics.turn()
            if (began_at := self._metrics.began_at) is not None:
                self._notices.note_work("a batch is being applied", began_at)
            elif not self._listener.has_begun:
                self._notices.note_work("Spark prepares the first batch", opened_at)
            with suppress(queue.Empty):
                self._wake.get(timeout=pause)
            if self._stop.is_set():
                with self._running:
                    self._is_closed = True
                if self._last_batch_id >= 0 and query.isActive:
                    self._listener.wait_for_batch(self._last_batch_id, _LISTENER_SECONDS)
                return
            pause = interval
            if time.monotonic() - self._looked_at >= self._settings.trigger.interval_seconds:
                # A large table is resumed in steps, between which the others have their turn.
                if self._retry() or self._catch_up():
                    pause = _STEP_SECONDS
                else:
                    self._looked_at = time.monotonic()
            if time.monotonic() - self._ended_at >= _IDLE_CUT_SECONDS:
                self._move_on()
            if time.monotonic() - deleted_at >= retention.pause_seconds:
                self._delete_records(retention)
                deleted_at = time.monotonic()
        # Raises the error of a query that has failed.
        query.awaitTermination()

    def _retry(self) -> bool:
        """Try tables again if a command asked for it; return whether there may be more to do."""
        assert self._applier is not None
        return bool(self._applier.set_aside) and self._apply_left(self._applier.retry)

    def _catch_up(self) -> bool:
        """Apply what loaded tables lack; return whether there may be more to do."""
        assert self._applier is not None
        return bool(self._applier.loading) and self._apply_left(self._applier.catch_up)

    def _apply_left(self, step: Callable[[], BatchReport | None]) -> bool:
        """Apply what batches have left to `step`; return whether it has done something."""
        if self._stop.is_set():
            return False
        try:
            with self._batch():
                report = step()
        except StopRequested:
            # It has waited for another process.
            self._failure = None
            return False
        if report is None or not report.has_news:
            return False
        self._metrics.end_batch(report)
        self._lines.write_retried(report)
        self._register(report)
        return not self._stop.is_set()

    def _register(self, report: BatchReport) -> None:
        if self._catalog is not None:
            self._lines.write_unregistered(self._catalog.register(report.mirrors))

    def _wait_for_loads(self) -> bool:
        """Wait a little if ranges of tables are being read; return whether some are."""
        assert self._applier is not None
        is_loading = self._applier.waits_for_loads and self._settings.first_load.url is not None
        return is_loading and not self._stop.wait(_STEP_SECONDS)

    def _move_on(self) -> None:
        """Write a cut if the source has gone on without changing the tables."""
        assert self._applier is not None
        if self._stop.is_set():
            return
        with self._batch():
            self._applier.move_on()
            self._notices.note_cuts(self._applier.no_cuts)
            self._notices.note_loads(self._applier.refused_loads)

    def _delete_records(self, retention: RecordRetention) -> None:
        """Delete what all mirrors have; no batch waits for that."""
        assert self._applier is not None
        if not self._stop.is_set():
            self._notices.note_records(retention.turn(self._applier.applied()))

    def _watch(self, client: KafkaClient) -> AbstractContextManager[None]:
        metrics, prefix = self._metrics, self._settings.kafka.topic_prefix
        if not metrics.watched:
            return nullcontext()
        assert self._applier is not None
        known = IdleTables(self._applier.services, metrics)
        skipped = TableOptionsResolver.of_settings(self._settings).skipped
        return topic_monitor(TopicMonitor(client, prefix, metrics, known, skipped))

    def _publish(self) -> AbstractContextManager[None]:
        assert self._applier is not None
        iceberg = self._applier.iceberg
        if iceberg is None:
            return nullcontext()
        self._metrics.iceberg = lambda: iceberg.queue.figures
        every = self._settings.iceberg.every_seconds
        self._notices.note_restriction(iceberg.restriction)
        note, tell = self._notices.note_unpublished, self._notices.note_failed_turn
        return publishing(iceberg, every, lambda: note(iceberg.queue.problems), tell)

    def _load(self, session: SparkSession) -> AbstractContextManager[object]:
        assert self._applier is not None
        run, tell = range_runner(session), self._lines.write
        return assembly.table_loader(self._settings, self._applier, run, tell) or nullcontext()

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """Run a batch unless the job is closed, and keep the type of its error."""
        with self._running:
            if self._is_closed:
                self._failure = StopRequested()
                raise self._failure
            self._metrics.begin_batch()
            try:
                yield
            except Exception as error:
                # Spark turns the error into text, but the report of the job needs the error itself.
                self._failure = error
                raise
            else:
                self._interruptions.end_batch()
            finally:
                self._ended_at = time.monotonic()
                self._metrics.leave_batch()


def run(settings: Settings, lines: StatusLines, metrics: JobMetrics) -> int:
    """Start Spark, run the job until it ends or a signal comes, and return the exit code."""
    job = StreamJob(settings, lines, metrics)
    lines.write("starting", name=settings.name, mirror=settings.mirror.path)
    lines.doing("starting Spark")
    try:
        on_signals(job.stop_start)
        session = start_session(settings)
        # Spark has installed its own handler for SIGINT.
        on_signals(job.stop)
    except START_ERRORS as error:
        if job.is_to_stop:
            lines.write("stopped", end_offsets={})
            return exit_codes.OK
        code = job.fail(Message(job_errors.SPARK_NOT_STARTED, {"why": error_message(error)}))
        job.wait_for_scrapes()
        return code
    starting = start_workers(session)
    collect_garbage_rarely()
    try:
        code = job.run(session)
        if code != exit_codes.OK:
            job.wait_for_scrapes()
        return code
    finally:
        starting.join(WORKERS_SECONDS)
        session.stop()


def on_signals(act: Callable[[], None]) -> None:
    """Call `act` in the main thread for each SIGTERM and SIGINT from now on."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: act())
