"""Settings become a Spark session.

The job uses Spark for its streams and its tasks. It needs no jars beyond Spark's own: it reads
Kafka and writes Delta tables in Python.

https://spark.apache.org/docs/latest/configuration.html
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from stream_jobs.folders.own_folders import own_folder
from stream_jobs.spark.class_archive import archive_options
from stream_jobs.spark.json_log import log_form, use_json_log
from stream_jobs.spark.jvm_signals import ignoring_sigterm
from stream_jobs.spark.spark_home import started_from

if TYPE_CHECKING:
    from stream_jobs.settings import Settings

# The JVMs of driver and executors start fast, and compute little: rows never pass them.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"

# spark-submit has set these: its JVM already runs, with its own master, jars and options.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_JAVA = "spark.driver.extraJavaOptions"
_JAVA_OF_EXECUTORS = "spark.executor.extraJavaOptions"

# Spark's default for a checkpoint asks a program of the system (`readlink`) about local files:
# fifteen processes for each batch. This one renames files, too.
_CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
_OF_LOCAL_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

# It warns of batches that take longer than trigger.interval_seconds. So it would warn each second
# of an idle job, whose batches wait that long for records. The lines of the job tell the lag.
_LATE_BATCHES = "org.apache.spark.sql.execution.streaming.runtime.ProcessingTimeExecutor"
# It writes a hundred lines of stack traces when the query fails. The job says why in one line, and
# writes the trace of what is none of its own errors.
_FAILED_QUERIES = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"

_CHOICES: dict[str, str] = {
    # How often `idle` is written without new records; the default is every 10 seconds.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    # A batch has some rows, of offsets: plans for it are not worth compiling.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Python workers start faster, and those that read the stream are those that run tasks.
    "spark.python.daemon.module": "stream_jobs.tasks.worker_daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_session(settings: Settings) -> SparkSession:
    """Start Spark, or use the session that spark-submit started.

    `spark.settings` has priority over the values here.
    """
    conf = dict(_CHOICES)
    if _is_local(settings.mirror.checkpoint):
        conf[_CHECKPOINTS] = _OF_LOCAL_FILES
    folder = own_folder("spark")
    if _SUBMITTED not in os.environ:
        # Java starts Python by this name; `python3` on PATH may be another one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf["spark.master"] = "local[*]"
        conf[_JAVA] = conf[_JAVA_OF_EXECUTORS] = _JAVA_OPTIONS
        if _JAVA not in settings.spark.settings:
            conf[_JAVA] += f" {archive_options(settings.spark.jars, folder)}"
        if settings.spark.jars:
            conf["spark.jars"] = ",".join(settings.spark.jars)
        elif settings.spark.packages:
            conf["spark.jars.packages"] = ",".join(settings.spark.packages)
    conf |= {key: _text(value) for key, value in settings.spark.settings.items()}
    is_local = conf.get("spark.master", "").startswith("local")
    if is_local:
        # Only this machine needs to reach a driver that is its own executor.
        conf.setdefault("spark.driver.host", "127.0.0.1")
        conf.setdefault("spark.driver.bindAddress", "127.0.0.1")
        # Else Spark warns of the addresses that the machine has.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.Builder().appName(f"stream_jobs {settings.name}")
    for key, value in conf.items():
        builder = builder.config(key, value)
    with (
        started_from(folder) if is_local else nullcontext(),
        log_form(settings) as configuration,
        ignoring_sigterm(),
    ):
        session = builder.getOrCreate()
        if configuration is not None and _SUBMITTED in os.environ:
            use_json_log(session, configuration)
    _set_levels(session, settings)
    return session


def _set_levels(session: SparkSession, settings: Settings) -> None:
    """Let Spark write what people need to know."""
    session.sparkContext.setLogLevel(settings.spark.log_level)
    if settings.spark.log_level == "WARN":
        _silence(session, _LATE_BATCHES, "ERROR")
    if settings.spark.log_level != "INFO":
        _silence(session, _FAILED_QUERIES, "OFF")


def _silence(session: SparkSession, logger: str, level: str) -> None:
    """Let a logger of Spark write nothing below `level`."""
    log4j = session.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # noqa: SLF001
    log4j.core.config.Configurator.setLevel(logger, log4j.Level.toLevel(level))


def _is_local(checkpoint: str) -> bool:
    """Return whether a checkpoint is on this machine; without a path, it is."""
    return ":" not in checkpoint or checkpoint.startswith("file:")


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
