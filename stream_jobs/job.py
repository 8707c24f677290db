"""The life of the job: start the stream, wait, and stop it between two batches.

*Stopping.* Spark's own `stop` interrupts the running batch. Here, the running batch ends first, and
Spark commits it. A later batch is refused, and runs after the next start.

*Failing.* An error in a batch ends the stream; its text goes to the `failed` line, and the exit
code is 1. The job retries nothing: its supervisor starts it again, and it continues.
"""

from __future__ import annotations

import re
import secrets
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types
from pyspark.errors import PySparkException

from connector.errors import ConnectorError, mirror
from connector.errors.message import Message
from stream_jobs.assembly import assemble, spark_runner, start_workers
from stream_jobs.session import start_session
from stream_jobs.source.carried import carried_by
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.ranges import OffsetRange
from stream_jobs.source.stream import read_ranges_stream
from stream_jobs.source.topics import row_topic_pattern
from stream_jobs.status import ProgressListener, StatusLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stream_jobs.settings import Settings

_POLL_SECONDS = 0.2
# Spark calls listeners after the stream; wait so long for their last line.
_LISTENER_SECONDS = 10.0
# A job that ends at once waits so long for the workers that it has started.
_WORKERS_SECONDS = 10.0

EXIT_OK = 0
EXIT_FAILED = 1


class StopRequested(Exception):
    """A batch was to begin after a stop was requested; it runs after the next start."""


class StreamJob:
    """One run of the job."""

    def __init__(self, settings: Settings, lines: StatusLines) -> None:
        """Run with `settings`, and write status to `lines`."""
        self._settings = settings
        self._lines = lines
        self._listener = ProgressListener(lines)
        self._stop = threading.Event()
        self._running = threading.Lock()  # held while a batch is applied
        self._is_closed = False
        self._last_batch_id = -1
        self._failure: Exception | None = None
        self._announced: set[str] = set()
        self._secret = secrets.token_hex(16)

    def stop(self) -> None:
        """Request a stop after the current batch; returns at once."""
        self._stop.set()

    def run(self, session: SparkSession) -> int:
        """Apply batches until there is nothing left, a stop is requested, or one fails.

        Returns the exit code.
        """
        session.streams.addListener(self._listener)
        try:
            return self._run(session)
        finally:
            session.streams.removeListener(self._listener)

    def _run(self, session: SparkSession) -> int:
        client = None
        try:
            client = KafkaClient(self._settings.kafka.facts())
            query = self._start(session, client)
            try:
                self._await(query)
            finally:
                query.stop()
            self._listener.wait_for_end(_LISTENER_SECONDS)
        except (ConnectorError, PySparkException, Py4JError) as error:
            cause = self._failure or error
            if not isinstance(cause, StopRequested):
                self._lines.fail(_message(cause, self._secret))
                return EXIT_FAILED
        finally:
            if client is not None:
                client.close()
        self._lines.write("stopped", end_offsets=self._listener.end_offsets)
        return EXIT_OK

    def _start(self, session: SparkSession, client: KafkaClient) -> StreamingQuery:
        settings = self._settings
        cores = session.sparkContext.defaultParallelism
        applier = assemble(settings, client, spark_runner(session), cores)
        no_mirror = Message(mirror.NO_MIRROR, {})

        def apply(batch: DataFrame, batch_id: int) -> None:
            with self._batch():
                report = applier.apply([OffsetRange(*row) for row in batch.collect()])
                for topic in sorted(set(report.keyless_topics) - self._announced):
                    self._announced.add(topic)
                    self._lines.write(
                        "no_mirror",
                        topic=topic,
                        reason=no_mirror.text,
                        code=no_mirror.code.code,
                    )
                self._listener.add_report(batch_id, report)
                self._last_batch_id = batch_id

        kafka = settings.kafka
        writer = (
            read_ranges_stream(
                session,
                kafka.facts(),
                kafka.topic_prefix,
                kafka.max_offsets_per_trigger,
                self._secret,
            )
            .writeStream.foreachBatch(apply)
            .option("checkpointLocation", settings.mirror.checkpoint)
        )
        trigger = settings.trigger
        if trigger.kind == "availableNow":
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(
                processingTime=f"{round(trigger.interval_seconds * 1000)} milliseconds"
            )
        query = writer.start()
        self._listener.watch(query)
        self._lines.write(
            "started",
            name=settings.name,
            topics=row_topic_pattern(settings.kafka.topic_prefix),
            mirror=settings.mirror.path,
            checkpoint=settings.mirror.checkpoint,
            trigger=trigger.kind,
        )
        return query

    def _await(self, query: StreamingQuery) -> None:
        while not query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type] # takes a float
            if self._stop.is_set():
                with self._running:
                    self._is_closed = True
                if self._last_batch_id >= 0 and query.isActive:
                    self._listener.wait_for_batch(self._last_batch_id, _LISTENER_SECONDS)
                return

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """Run a batch unless the job is closed, and keep the type of its error."""
        with self._running:
            if self._is_closed:
                self._failure = StopRequested()
                raise self._failure
            try:
                yield
            except Exception as error:
                # Spark turns the error into text, but the report of the job needs the error itself.
                self._failure = error
                raise


def run(settings: Settings, lines: StatusLines) -> int:
    """Start Spark, run the job until it ends or a signal comes, and return the exit code."""
    job = StreamJob(settings, lines)
    _stop_on_signals(job)
    try:
        session = start_session(settings)
    except (PySparkException, Py4JError) as error:
        lines.fail(Message(mirror.SPARK_NOT_STARTED, {"why": _message(error)}))
        return EXIT_FAILED
    # Once more: Spark installs its own handler for SIGINT.
    _stop_on_signals(job)
    starting = start_workers(session)
    try:
        return job.run(session)
    finally:
        starting.join(_WORKERS_SECONDS)
        session.stop()


def _stop_on_signals(job: StreamJob) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: job.stop())


def _message(error: BaseException, secret: str = "") -> Message:
    """Return the message of an error; of Spark's errors without plans and stack traces.

    With a `secret`, a Spark error may carry an error of the product.
    """
    if isinstance(error, ConnectorError):
        return error.message
    carried = carried_by(str(error), secret) if secret else None
    if carried is not None:
        return carried.message
    text = re.split(r"\s*(?:SQLSTATE: \w+|=== Streaming Query|JVM stacktrace:)", str(error))[0]
    return Message(mirror.SPARK_FAILED, {"kind": type(error).__name__, "said": text})
