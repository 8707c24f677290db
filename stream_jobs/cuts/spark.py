"""All tables of a mirror as of one cut, as DataFrames of a Spark session with Delta's jars.

tables = mirror_at(spark, "/data/mirror", time=datetime(2026, 3, 1, 12, tzinfo=UTC))
tables["shop.orders"].count()

mirror_at(spark, "/data/mirror", views=True)
spark.sql("SELECT sum(amount) FROM `shop.orders`")
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stream_jobs.cuts import reader
from stream_jobs.delta.storages import with_account

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def mirror_at(
    spark: SparkSession,
    path: str,
    *,
    gtid: str | None = None,
    time: datetime | None = None,
    views: bool = False,
    prefix: str | None = None,
) -> dict[str, DataFrame]:
    """Return a DataFrame for each table of the mirror at `path`, by `database.table`.

    The cut is chosen as by `stream_jobs.cuts.reader.mirror_at`, which raises the same errors. With
    `views`, each table is also a temporary view of the session, whose name is `database.table` in
    backticks; a later call replaces these views. If pipelines share the mirror, the frames have the
    rows of the pipeline with this `prefix` of topics alone.
    """
    mirror = reader.mirror_at(path, gtid=gtid, time=time, prefix=prefix)
    frames = {
        name: spark.read.format("delta")
        .option("versionAsOf", own.version)
        .load(_for_spark(own.path))
        for name, own in mirror.tables.items()
    }
    for name, (column, values) in mirror.cut.shards.items():
        frames[name] = frames[name].where(frames[name][column].isin(*values))
    if views:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(f"`{name.replace('`', '``')}`")
    return frames


def _for_spark(path: str) -> str:
    """Return a path in the words of Hadoop."""
    path = with_account(path)
    parts = urlsplit(path)
    if not parts.scheme:
        return str(Path(path).absolute())
    if parts.scheme == "s3":
        return f"s3a{path[2:]}"
    if parts.scheme in ("webhdfs", "swebhdfs"):
        # The first namenode, at its own port; Hadoop's configuration may name another one. The
        # Hadoop client of Spark lacks classes that its own WebHDFS needs.
        host = parts.netloc.partition(",")[0].partition(":")[0]
        return f"hdfs://{host}{parts.path}"
    return path
