"""A Hive metastore keeps the names of mirrors from one process to the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from local_stack import java_runtime, spark_jars
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from tests.length import FULL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not FULL, reason="two processes with Spark: TESTS=all"),
]

# The first process registers the mirror, the second one reads it by its name.
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from stream_jobs.run.spark_session import Catalog

settings, base, does_register = json.loads(sys.argv[1])
builder = SparkSession.Builder()
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
if does_register:
    found = Catalog(session, base).register({("shop", "orders"): "shop/orders"})
    print({name: problem.text for name, problem in found.items()})
else:
    print([tuple(row) for row in session.sql("SELECT * FROM shop.orders ORDER BY id").collect()])
session.stop()
"""


def test_a_name_outlives_the_process_that_has_registered_it(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "mirror"))
    columns = new_columns([("id", pa.int64(), {}), ("name", pa.string(), {})])
    table = DeltaTable.create(storage, "shop/orders", Metadata(columns))
    rows = pa.table({"id": [1, 2], "name": ["a", "b"]})
    table.commit(TableCommit(new=[write_file(storage, table.path, columns, rows)]), "WRITE")
    assert _run(tmp_path, does_register=True) == "{}"
    assert _run(tmp_path, does_register=False) == "[(1, 'a'), (2, 'b')]"


def _run(folder: Path, *, does_register: bool) -> str:
    """Run a process with a metastore of its own in `folder`, and return its last line."""
    settings = {
        "spark.master": "local[1]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:{folder}/metastore;create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    arguments = json.dumps([settings, str(folder / "mirror"), does_register])
    own = {"JAVA_HOME": str(java_runtime().parents[1]), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, arguments],
        env=os.environ | own,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]
