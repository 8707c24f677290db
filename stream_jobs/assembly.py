"""Settings become the applier of batches, whose tasks Spark runs."""

from __future__ import annotations

import getpass
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from connector.errors import ConfigError, mirror
from stream_jobs.apply.facts import Task
from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task import run_task
from stream_jobs.batch import BatchApplier
from stream_jobs.delta import retention
from stream_jobs.delta.local_storage import LocalStorage
from stream_jobs.schema_registry import SchemaRegistry
from stream_jobs.schema_step import SchemaRules
from stream_jobs.services import Services
from stream_jobs.topic_state import TopicStates
from stream_jobs.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from stream_jobs.apply.facts import PartResult
    from stream_jobs.batch import Runner
    from stream_jobs.delta.storage import Storage
    from stream_jobs.settings import MirrorSettings, Settings
    from stream_jobs.source.client import KafkaClient


# Hadoop's name and everybody else's.
_S3: Final = frozenset({"s3", "s3a"})


def assemble(settings: Settings, client: KafkaClient, run: Runner, cores: int) -> BatchApplier:
    """Return the applier of the job's batches, whose tasks `run` runs on `cores`.

    Raises ConfigError for a path of a storage that the job does not know.
    """
    kafka, own = settings.kafka, settings.mirror
    storage = storage_of(own.path)
    registry = SchemaRegistry(client, kafka.topic_prefix)
    rules = SchemaRules(registry, own.path, own.zero_dates, own.unknown_defaults)
    services = Services(
        storage,
        own.path,
        client,
        registry,
        rules,
        properties_of(own),
        accept_partitions=kafka.added_partitions == "accept",
    )
    template = Task(
        kafka.facts(), storage, index_folder(own), own.zero_dates, kafka.max_bytes_per_task
    )
    threads, target = own.commits_in_parallel, own.target_file_bytes
    return BatchApplier(
        services,
        TopicStates(storage, own.path, registry),
        template,
        run,
        Upkeep(template, run, cores, threads, target),
        cores=cores,
        threads=threads,
    )


def storage_of(path: str) -> Storage:
    """Return the storage whose root is `path`.

    Raises ConfigError for an unknown scheme or a missing package, and MirrorError if a bucket
    cannot be used.
    """
    parts = urlsplit(path)
    if not parts.scheme:
        return LocalStorage(str(Path(path).absolute()))
    if parts.scheme == "file" and not parts.netloc:
        return LocalStorage(unquote(parts.path))
    if parts.scheme in _S3 and parts.netloc:
        return _bucket(path, parts.netloc, unquote(parts.path).strip("/"))
    raise ConfigError(mirror.PATH_SCHEME, path=path)


def _bucket(path: str, bucket: str, prefix: str) -> Storage:
    try:
        from stream_jobs.delta.s3_storage import S3Storage  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(mirror.S3_EXTRA, path=path, said=error) from error
    storage = S3Storage(bucket, prefix)
    storage.verify()
    return storage


def properties_of(settings: MirrorSettings) -> dict[str, str]:
    """Return the properties of new mirrors, by which every writer of Delta tidies up.

    A table that changes every second has 86,400 versions a day. Delta's defaults (10 versions, 30
    days, one week) would keep millions of small files.
    """
    term = f"interval {settings.retention_hours} hours"
    return {retention.CHECKPOINTS: "100", retention.LOG: term, retention.FILES: term}


def index_folder(settings: MirrorSettings) -> IndexFolder:
    """Return the folder of key indexes: the configured one, or one for this user."""
    own = f"{tempfile.gettempdir()}/binlog-connector-{getpass.getuser()}/indexes"
    return IndexFolder(settings.index_folder or own, settings.index_bytes_max)


def start_workers(session: SparkSession) -> threading.Thread:
    """Let Spark start the Python workers of the first batch while the stream starts.

    A failure says nothing here: the first batch meets it again.
    """
    context = session.sparkContext
    cores = context.defaultParallelism

    def run() -> None:
        with suppress(Exception):
            context.parallelize(range(cores), cores).map(_import_task).collect()

    thread = threading.Thread(target=run, name="start-workers", daemon=True)
    thread.start()
    return thread


def _import_task(number: int) -> int:
    """Run in a worker: to find this function, it has imported what tasks need."""
    return number


def spark_runner(session: SparkSession) -> Runner:
    """Return a function that runs tasks as one Spark job."""
    context = session.sparkContext

    def run(tasks: Sequence[Task]) -> list[PartResult]:
        found = context.parallelize(tasks, len(tasks)).map(run_task).collect()
        return [result for results in found for result in results]

    return run
