"""The whole job over a mirror in HDFS, read by Spark with Hadoop's own client."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import pytest
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import StaticTable

from stream_jobs.cuts.reader import mirror_at
from tests.integration.mirror.conftest import SparkJob
from tests.integration.mirror.test_cuts import settle
from tests.length import FULL
from tests.stream_jobs.hdfs_server import HdfsServer
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import DataScan
    from pyspark.sql import SparkSession

    from tests.stream_jobs.topics import Kafka

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.skipif(not FULL, reason="half a minute of CPU: `make test-all`"),
]

# A root in HDFS, a space, and the folder with its copy.
_COPIED = "copied"


class CopiedFiles(PyArrowFileIO):
    """Opens copies of files in HDFS, for which PyIceberg would need Hadoop's library."""

    def new_input(self, location: str) -> PyArrowFile:
        root, copied = self.properties[_COPIED].split(" ")
        return super().new_input(location.replace(root, copied, 1))


def copy_out(spark: SparkSession, url: str, folder: Path) -> None:
    assert spark._jvm is not None
    path = spark._jvm.org.apache.hadoop.fs.Path
    source = path(url)
    files = source.getFileSystem(spark._jsc.hadoopConfiguration())
    files.copyToLocalFile(False, source, path(str(folder)), True)


def rows_of(scan: DataScan) -> list[tuple[int, str]]:
    return sorted((row["id"], row["name"]) for row in scan.to_arrow().to_pylist())


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
            "formats": ["delta", "iceberg"],
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
        path = f"webhdfs://{server.host}/lake"
        assert mirror_at(path).tables["shop.items"].path == f"{path}/shop/items"
        root = "hdfs://127.0.0.1/lake"
        at = mirror_at(path, format="iceberg").tables["shop.items"]
        assert at.path == f"{root}/_iceberg/shop/items"
        copy_out(spark, f"{server.url}/lake", tmp_path / "lake")
        properties = {
            "py-io-impl": f"{CopiedFiles.__module__}.{CopiedFiles.__name__}",
            _COPIED: f"{root} {tmp_path}/lake",
        }
        published = StaticTable.from_metadata(at.path, properties)
        assert rows == rows_of(published.scan(snapshot_id=at.version))
    assert not (tmp_path / "mirror").exists()
