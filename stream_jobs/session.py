"""Settings become a Spark session that merges small batches cheaply.

Measured on two cores, one merge of 1,000 changes into 100,000 rows: 20 Spark jobs and 4 seconds
with Spark's and Delta's defaults, 6 jobs and 1 second with these settings. The fixed cost of a
merge decides, not its rows.

https://docs.delta.io/latest/quick-start.html
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from stream_jobs.settings import Settings

# spark-submit has set these: its JVM already runs, with its own master, jars and options.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"

_CHOICES: dict[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # TIMESTAMP is UTC in the log and in the mirror.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Dates before 1582 in the proleptic Gregorian calendar, like in MySQL.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Few, small stages: adaptive execution would run each stage as a separate job.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # Partitions for the state of a Delta log; the default is 50.
    "spark.databricks.delta.snapshotPartitions": "2",
    # The source of a merge is cached, or read again from the same Kafka offsets: the same rows.
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.scheduler.mode": "FAIR",
    # Every batch has the same plans; with many tables, their code must stay in the cache.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # How often `idle` is written without new records; the default is every 10 seconds.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_session(settings: Settings) -> SparkSession:
    """Start Spark, or use the session that spark-submit started.

    `spark.settings` has priority over the values here.
    """
    conf = dict(_CHOICES)
    if _SUBMITTED not in os.environ:
        # Java starts Python by this name; `python3` on PATH may be another one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf["spark.master"] = "local[2]"
        if settings.spark.jars:
            conf["spark.jars"] = ",".join(settings.spark.jars)
        elif settings.spark.packages:
            conf["spark.jars.packages"] = ",".join(settings.spark.packages)
    conf |= {key: _text(value) for key, value in settings.spark.settings.items()}
    if conf.get("spark.master", "").startswith("local"):
        # Only this machine needs to reach a driver that is its own executor.
        conf.setdefault("spark.driver.host", "127.0.0.1")
        conf.setdefault("spark.driver.bindAddress", "127.0.0.1")
    builder = SparkSession.Builder().appName(f"stream_jobs {settings.name}")
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(settings.spark.log_level)
    return session


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
