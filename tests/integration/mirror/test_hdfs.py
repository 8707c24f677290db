"""The whole job over a mirror in HDFS, read by Spark with Hadoop's own client."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import pytest

from stream_jobs.cuts.reader import mirror_at
from tests.integration.mirror.conftest import SparkJob
from tests.integration.mirror.test_cuts import settle
from tests.length import FULL
from tests.stream_jobs.hdfs_server import HdfsServer
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.stream_jobs.topics import Kafka

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.skipif(not FULL, reason="half a minute of CPU: `make test-all`"),
]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def test_the_job_keeps_a_mirror_and_its_checkpoint_in_hdfs(
    spark: SparkSession, kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hadoop's client in the JVM has this name, too.
    monkeypatch.setenv("HADOOP_USER_NAME", getpass.getuser())
    table = SourceTable(kafka, "items", COLUMNS).create()
    with HdfsServer(tmp_path / "hdfs") as server:
        job = SparkJob(spark, kafka, tmp_path)
        mirror = {
            "path": f"webhdfs://{server.host}/lake",
            "checkpoint": f"{server.url}/checkpoint",
        }
        table.insert(*({"id": number, "name": "first"} for number in range(6)))
        job.apply(mirror=mirror)
        table.update({"id": 3, "name": "first"}, {"id": 3, "name": "second"})
        table.delete({"id": 4, "name": "first"})
        with kafka.transaction():
            kafka.progress()
        settle(kafka)
        job.apply(mirror=mirror)
        read = spark.read.format("delta").load(f"{server.url}/lake/shop/items")
        rows = sorted((row["id"], row["name"]) for row in read.collect())
        assert rows == [(0, "first"), (1, "first"), (2, "first"), (3, "second"), (5, "first")]
        assert mirror_at(mirror["path"]).tables["shop.items"].path == f"{mirror['path']}/shop/items"
    assert not (tmp_path / "mirror").exists()
