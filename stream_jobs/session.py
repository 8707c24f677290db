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

# Set by spark-submit, whose JVM runs already and has its own master, jars and JVM options.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"

_CHOICES: dict[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # TIMESTAMP is UTC in the log, and stays it.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Dates before 1582 as MySQL counts them, in the proleptic Gregorian calendar.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Few, small stages: adaptive execution would run each stage as a job of its own.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # The state of a table's log: 50 partitions by default.
    "spark.databricks.delta.snapshotPartitions": "2",
    # The source of a merge is cached, or read again from the same Kafka offsets: the same rows.
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.scheduler.mode": "FAIR",
    # Every batch has the same plans; with many tables their code must not push each other out.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # A line `idle` when there is nothing new; the default is every 10 seconds.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start_session(settings: Settings) -> SparkSession:
    """Start Spark, or join the one that spark-submit started.

    What `spark.settings` says wins over everything chosen here.
    """
    conf = dict(_CHOICES)
    if _SUBMITTED not in os.environ:
        # Java starts Python by this name; the `python3` of PATH may be another one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf["spark.master"] = "local[2]"
        if settings.spark.jars:
            conf["spark.jars"] = ",".join(settings.spark.jars)
        elif settings.spark.packages:
            conf["spark.jars.packages"] = ",".join(settings.spark.packages)
    conf |= {key: _text(value) for key, value in settings.spark.settings.items()}
    if conf.get("spark.master", "").startswith("local"):
        # Nobody else needs to reach a driver that is its own executor.
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
