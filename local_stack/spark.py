"""The jars that Spark needs in addition to pyspark's, to read Kafka and write Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_stack.cache import Cache
from local_stack.maven import Jar, fetch_jars
from stream_jobs.spark.class_archive import archive_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# A JVM that starts faster than it computes. With one of its two compilers it would keep 48 MB for
# their code, which Spark fills; what comes then is interpreted, or fails.
_JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=240m")

SPARK_JARS = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        494879,
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        9220052,
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons",
        "commons-pool2",
        "2.12.1",
        152289,
        "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef",
    ),
    Jar(
        "io.delta",
        "delta-spark_4.2_2.13",
        "4.4.0",
        9515916,
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        "io.delta",
        "delta-storage",
        "4.4.0",
        113863,
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
    # Some mirrors lack 4.2.0; the used classes are those of 4.0.0.
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        64975,
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
)


def spark_jars(cache: Cache | None = None) -> list[Path]:
    """Return the six jars for `--jars`, downloaded if necessary.

    Raises NotPublished if the repository lacks one, LocalStackError if it cannot be downloaded.
    """
    return fetch_jars(
        "Spark's jars for Kafka and Delta", SPARK_JARS, cache or Cache.of_environment()
    )


def spark_java_options(java: Path, jars: Sequence[str] = (), *, writes_classes: bool) -> str:
    """Return options for a Spark driver with `jars` and little to do.

    It uses the archive of an earlier driver that `writes_classes`, and then starts in half the
    time. Writing takes ten seconds after the end of the Python process.
    """
    archive = archive_options(jars, Cache.of_environment().classes, java, writes=writes_classes)
    return " ".join((*_JVM_OPTIONS, archive))
