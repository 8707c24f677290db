"""Settings become a Spark session.

The job uses Spark for its streams and its tasks. It needs no jars beyond Spark's own: it reads
Kafka and writes Delta tables in Python.

https://spark.apache.org/docs/latest/configuration.html
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
    # How often `idle` is written without new records; the default is every 10 seconds.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    "spark.sql.streaming.metricsEnabled": "false",
    # The JVM of the driver starts fast, and computes little: rows never pass it.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    ),
    "spark.driver.memory": "512m",
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
        conf["spark.master"] = "local[*]"
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
