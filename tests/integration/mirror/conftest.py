"""One Spark session for all tests, topics and a mirror for each, and the job run over them."""

from __future__ import annotations

import io
import os
import pickle
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import ConnectorError
from connector.lake.demo.stack import read_mirror
from local_stack import java_runtime, spark_jars
from stream_jobs.apply.task import run_task
from stream_jobs.errors import exit_codes
from stream_jobs.load.range_task import close_sessions, load_range
from stream_jobs.run.assembly import batch_applier, table_loader
from stream_jobs.run.job import StreamJob
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.publication_thread import publishing
from stream_jobs.run.spark_session import start_session
from stream_jobs.run.status_lines import StatusLines
from stream_jobs.settings import Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.offset_stream import RangeStreamReader
from stream_jobs.source.topics import OffsetRange, schema_topic
from stream_jobs.tables.quarantine_files import resume
from stream_jobs.tables.table_options import TableOptionsResolver
from tests.integration.ended_topics import end_topics
from tests.integration.mirror.readers import kernel_jars
from tests.stream_jobs.command import spark_settings
from tests.stream_jobs.told import told
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from local_stack import KafkaBroker
    from stream_jobs.apply.task_messages import PartResult, Task
    from stream_jobs.load.loader import Loader
    from stream_jobs.load.range_task import RangeJob, RangeResult
    from stream_jobs.run.batch import BatchApplier
    from stream_jobs.source.topics import Offsets
    from stream_jobs.tables.batch_report import BatchReport
    from stream_jobs.tables.quarantine_files import ResumedTable
    from tests.integration.database_stream import Stream
    from tests.stream_jobs.topics import SourceTable


# While there is nothing new.
_FOLLOW_SECONDS = 0.02

# For the writers and readers that the job is compared with.
DELTA_SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Dates before 1582 in the proleptic Gregorian calendar, like in MySQL.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.adaptive.enabled": "false",
}


def make_settings(bootstrap: str, prefix: str, folder: Path, **sections: Any) -> Settings:
    """Settings of a job over the topics `prefix`, with its mirror and checkpoint in `folder`."""
    document: dict[str, Any] = {
        "kafka": {"bootstrap_servers": [bootstrap], "topic_prefix": prefix},
        "mirror": {"path": str(folder / "mirror"), "checkpoint": str(folder / "checkpoint")},
        "trigger": {"kind": "availableNow"},
        "spark": {
            "jars": [str(jar) for jar in spark_jars()],
            # Those of the machine are added where a session starts: they ask which Java there is.
            "settings": DELTA_SETTINGS,
            "log_level": "ERROR",
        },
    }
    for name, section in sections.items():
        document[name] = section if name == "tables" else document.get(name, {}) | section
    return Settings(name="test", **document)


def _range_reader(settings: Settings) -> RangeStreamReader:
    kafka = settings.kafka
    return RangeStreamReader(
        kafka.facts(),
        kafka.topic_prefix,
        kafka.max_offsets_per_trigger,
        "no secret",
        TableOptionsResolver.of_settings(settings).skipped,
    )


def follow_topics(
    settings: Settings,
    applier: BatchApplier,
    ended: threading.Event,
    between: Callable[[], None] = lambda: None,
) -> None:
    """Apply batches as the job does, without Spark, and once more after `ended` is set.

    `between` is called after each look at the topics.
    """
    reader = _range_reader(settings)
    start: Offsets = {}
    is_last = False
    while not is_last:
        is_last = ended.is_set()
        reader.prepareForTriggerAvailableNow()
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        parts = reader.partitions(start, end)
        if parts:
            applier.apply([OffsetRange(*row) for part in parts for row in part.ranges])
            start = end
        else:
            applier.move_on()
            time.sleep(_FOLLOW_SECONDS)
        between()


def reader_session(folder: Path, **settings: str) -> SparkSession:
    """Start a session that reads with Delta and Delta Kernel; its files are in `folder`."""
    os.environ["JAVA_HOME"] = str(java_runtime().parents[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Delta Kernel is a reader of its own, for the tests of data files and logs.
    jars = [str(jar) for jar in (*spark_jars(), *kernel_jars())]
    # It loads other classes than a job does, so it has an archive of its own.
    spark = {"jars": jars, "settings": spark_settings(jars) | DELTA_SETTINGS | settings}
    return start_session(make_settings("unused:1", "unused", folder, spark=spark))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The only Spark session: a JVM takes seconds to start."""
    session = reader_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def kafka(kafka_broker: KafkaBroker) -> Iterator[Kafka]:
    """Topics of this test's own, under a prefix that no other test has."""
    topics = Kafka(kafka_broker.endpoint.bootstrap, f"t{uuid.uuid4().hex[:10]}")
    yield topics
    topics.close()
    end_topics(kafka_broker.endpoint, topics.prefix)


class Job:
    """The job of one test, run again and again over the same topics.

    Batches are cut, applied and repeated as Spark does it, but in this process: a query takes
    seconds to start. `SparkJob` is the whole job.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.folder = folder
        self.exit_code = -1
        self.figures = JobMetrics("test")
        # By partition, what the tables have at the end of a run.
        self.applied: dict[tuple[str, int], int] = {}
        self.sync: Callable[[AbstractSet[str]], None] = lambda _: None
        self._offsets: Offsets = {}
        self._turn = threading.Lock()
        self._batch_id = 0

    def settings(self, **sections: Any) -> Settings:
        return make_settings(self.kafka.bootstrap, self.kafka.prefix, self.folder, **sections)

    def run(self, **sections: Any) -> list[dict[str, Any]]:
        """Apply what is there now, and return the status lines."""
        self.kafka.settle()
        settings = self.settings(**sections)
        out = io.StringIO()
        lines = StatusLines(out)
        client = KafkaClient(settings.kafka.facts())
        try:
            self._apply_all(settings, client, lines)
            self.exit_code = exit_codes.OK
        except ConnectorError as error:
            lines.fail(error.message)
            self.exit_code = exit_codes.FAILED
        finally:
            client.close()
        return [told(line) for line in out.getvalue().splitlines()]

    def _apply_all(self, settings: Settings, client: KafkaClient, lines: StatusLines) -> None:
        kafka = settings.kafka
        applier = batch_applier(settings, client, run_in_process, lambda: 2)
        self.figures.set_aside = lambda: applier.records_set_aside
        reader = _range_reader(settings)
        loader = table_loader(settings, applier, self.load_range, lines.write)
        while (report := applier.retry()) is not None:
            self.figures.end_batch(report)
            lines.write_retried(report)
        reader.prepareForTriggerAvailableNow()
        while True:
            start, limit = self._offsets, reader.getDefaultReadLimit()
            end = reader.latestOffset(start, limit)
            parts = reader.partitions(start, end)
            if not parts:
                if loader is not None:
                    self._load_all(applier, loader, lines)
                applier.move_on()
                break
            report = applier.apply([OffsetRange(*row) for part in parts for row in part.ranges])
            self._offsets = end
            end = {
                topic: at for topic, at in end.items() if topic != schema_topic(kafka.topic_prefix)
            }
            self.figures.end_batch(report)
            self.figures.note_offsets(end)
            lines.write_quarantined(report)
            lines.write(
                "batch_applied",
                batch_id=self._batch_id,
                records=report.records,
                end_offsets=end,
                **report.table_facts(),
                set_aside=report.set_aside,
                cut=report.cut,
            )
            self._batch_id += 1
        self.applied, self.sync = applier.applied(), applier.sync
        if (iceberg := applier.iceberg) is not None:
            self.figures.iceberg = lambda: iceberg.queue.figures
            with publishing(iceberg, 60, lambda: None, lines.write_trace):
                pass

    def load_range(self, job: RangeJob) -> RangeResult:
        """Load a range here; tests replace this."""
        sent: RangeJob = pickle.loads(pickle.dumps(job))
        # A worker has one thread.
        with self._turn:
            result: RangeResult = pickle.loads(pickle.dumps(load_range(sent)))
        return result

    def _load_all(self, applier: BatchApplier, loader: Loader, lines: StatusLines) -> None:
        """Load all tables that can be loaded, and apply what they lack."""
        try:
            with loader:
                while applier.loading:
                    report = applier.catch_up()
                    if report is not None:
                        lines.write_retried(report)
                    elif not applier.waits_for_loads:
                        break
                    time.sleep(0.01)
        finally:
            close_sessions()

    def apply(self, **sections: Any) -> dict[str, Any]:
        """Apply what is there now, which must be at most one batch, and return its line."""
        lines = self.run(**sections)
        assert self.exit_code == 0, lines
        batches = [line for line in lines if line["event"] == "batch_applied"]
        assert len(batches) <= 1
        return batches[0] if batches else {}

    def error(self, **sections: Any) -> str:
        """Run a job that must fail, and return the text of its error."""
        last = self.run(**sections)[-1]
        assert (self.exit_code, last["event"]) == (1, "failed"), last
        error: str = last["error"]
        return error

    def quarantined(self, **sections: Any) -> dict[str, Any]:
        """Run a job that must set one table aside, and return the line."""
        lines = self.run(**sections)
        assert self.exit_code == 0, lines
        (line,) = [line for line in lines if line["event"] == "table_quarantined"]
        return line

    def reason(self, **sections: Any) -> str:
        """Run a job that must set one table aside, and return the reason."""
        reason: str = self.quarantined(**sections)["error"]
        return reason

    def resume(self, *tables: str, **options: Any) -> list[ResumedTable]:
        """What the command does."""
        return resume(self.settings(), self.folder / "job.toml", tables, **options)

    def path(self, table: str, database: str = "shop") -> str:
        return str(self.folder / "mirror" / database / table)

    def data(self, table: str, database: str = "shop") -> pa.Table:
        """A mirror, read by an implementation that did not write it."""
        return read_mirror(self.path(table, database))

    def rows(self, table: str, *columns: str, database: str = "shop") -> list[tuple[Any, ...]]:
        """The rows of a mirror in order, read by an implementation that did not write them."""
        data = self.data(table, database)
        names = columns or [name for name in data.column_names if not name.startswith("_cdc_")]
        return sorted(tuple(row[name] for name in names) for row in data.to_pylist())

    def delete_checkpoint(self) -> None:
        self._offsets = {}


class SparkJob(Job):
    """The whole job, with Structured Streaming and its checkpoint."""

    def __init__(self, session: SparkSession, kafka: Kafka, folder: Path) -> None:
        super().__init__(kafka, folder)
        self.session = session
        self.running: StreamJob | None = None

    def run(self, **sections: Any) -> list[dict[str, Any]]:
        """Apply what is there now, and return the status lines."""
        self.kafka.settle()
        out = io.StringIO()
        self.running = StreamJob(self.settings(**sections), StatusLines(out), self.figures)
        self.exit_code = self.running.run(self.session)
        return [told(line) for line in out.getvalue().splitlines()]

    def delete_checkpoint(self) -> None:
        (self.folder / "checkpoint").rename(self.folder / f"checkpoint-{uuid.uuid4().hex}")


class RunningJob:
    """A job that goes on from batch to batch, and keeps what it knows."""

    def __init__(self, kafka: Kafka, applier: BatchApplier) -> None:
        self.kafka = kafka
        self.applier = applier
        self._ends: dict[tuple[str, int], int] = {}

    def apply(self, *tables: SourceTable) -> BatchReport:
        """Apply what is new in the topics of `tables`."""
        ranges = []
        for topic in dict.fromkeys(table.topic for table in tables):
            for text, end in self.kafka.end_offsets(topic).items():
                number = int(text)
                start = self._ends.get((topic, number), 0)
                self._ends[topic, number] = end
                if start < end:
                    ranges.append(OffsetRange(topic, number, start, end))
        return self.applier.apply(ranges)


def run_in_process(tasks: Sequence[Task]) -> list[PartResult]:
    """Run tasks here; they and their results can be sent between processes."""
    results = []
    for task in tasks:
        sent: Task = pickle.loads(pickle.dumps(task))
        results += pickle.loads(pickle.dumps(run_task(sent)))
    return results


@pytest.fixture
def job(kafka: Kafka, tmp_path: Path) -> Job:
    """A job with an empty mirror, without Spark."""
    return Job(kafka, tmp_path)


@pytest.fixture
def running_job(job: Job) -> Iterator[RunningJob]:
    """The same job, which goes on from batch to batch."""
    settings = job.settings()
    client = KafkaClient(settings.kafka.facts())
    yield RunningJob(job.kafka, batch_applier(settings, client, run_in_process, lambda: 2))
    client.close()


@pytest.fixture
def spark_job(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> SparkJob:
    """A job with an empty mirror."""
    return SparkJob(spark, kafka, tmp_path)


@pytest.fixture
def own_job(stream: Stream, tmp_path: Path) -> Iterator[Job]:
    """A job, without Spark, for the topics of a connector."""
    yield from _job_of(stream, tmp_path)


@pytest.fixture
def job_of_either(either_stream: Stream, tmp_path: Path) -> Iterator[Job]:
    """The same for `either_stream`."""
    yield from _job_of(either_stream, tmp_path)


def _job_of(stream: Stream, tmp_path: Path) -> Iterator[Job]:
    kafka = Kafka(stream.broker.bootstrap, stream.prefix)
    yield Job(kafka, tmp_path)
    kafka.close()
