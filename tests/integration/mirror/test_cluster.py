"""The job from an installed wheel, on a standalone cluster of two workers that die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from connector.lake.demo.stack import read_mirror
from local_stack.spark import SparkCluster
from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.log import now
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from tests.integration.mirror.wheel import installed
from tests.length import FULL
from tests.stream_jobs.command import write_config
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stream_jobs.topics import Kafka

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not FULL, reason="half a minute of CPU: `make test-all`"),
]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
ROWS = 2_500
DAY = 86_400_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path / "cluster", workers=2) as cluster:
        yield cluster


class Driver:
    """A command that runs the job, and its status lines."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        """Run it in the folder of its log."""
        self._log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=log.parent,
                text=True,
            )

    def batch(self) -> None:
        """Wait for the end of the next batch."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            if json.loads(text)["message"] == "batch_applied":
                return
        pytest.fail(f"the job ended: {self.errors()}")

    def end_well(self) -> None:
        """Wait for the end of the job, which must be that of a job that is done."""
        assert self.process.stdout is not None
        lines = self.process.stdout.read()
        assert self.process.wait() == 0, f"{lines[-2000:]}\n{self.errors()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def errors(self) -> str:
        return self._log.read_text(encoding="utf-8")


def test_workers_that_die_in_a_batch_lose_nothing(
    kafka: Kafka, tmp_path: Path, cluster: SparkCluster
) -> None:
    commands = installed(tmp_path / "wheel")
    # Each batch has two tasks.
    tables = [SourceTable(kafka, name, COLUMNS).create() for name in ("a", "b", "c", "d")]
    for table in tables:
        table.insert(*({"id": number, "name": "first"} for number in range(ROWS)))
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, 'kind = "availableNow"')
    text = config.read_text(encoding="utf-8")
    text = text.replace("[mirror]", "max_offsets_per_trigger = 1000\n[mirror]")
    config.write_text(text, encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(f'{text}"spark.master" = "{cluster.url}"\n', encoding="utf-8")
    # Nothing but the wheel has the product.
    environment = {
        name: value for name, value in cluster.environment.items() if "PYTHON" not in name
    }

    command = [str(commands / "binlog-connector-mirror"), str(own)]
    with Driver(command, environment, tmp_path / "first.log") as driver:
        driver.batch()
        executor = cluster.executors(0)[-1]
        arguments = Path(f"/proc/{executor}/cmdline").read_text().split("\0")
        assert "-XX:TieredStopAtLevel=1" in arguments
        os.kill(executor, signal.SIGSTOP)
        while not cluster.is_busy(executor):
            os.kill(executor, signal.SIGCONT)
            time.sleep(0.02)
            os.kill(executor, signal.SIGSTOP)
        os.kill(executor, signal.SIGKILL)
        driver.batch()
        cluster.kill_worker(1)
        driver.end_well()
        assert "ExecutorLostFailure" in driver.errors()
    for table in tables:
        path = f"shop/{table.name}"
        data = read_mirror(f"{tmp_path}/mirror/{path}")
        assert sorted(data["id"].to_pylist()) == list(range(ROWS))
        # What dead attempts have written is removed with what is old.
        mirror = DeltaTable.open(LocalStorage(f"{tmp_path}/mirror"), path)
        assert mirror is not None
        vacuum(mirror, 10**9, now() + 8 * DAY)
        left = {path.name for path in Path(f"{tmp_path}/mirror/{path}").glob("*.parquet")}
        assert left == set(mirror.snapshot.files)

    tables[0].update({"id": 7, "name": "first"}, {"id": 7, "name": "second"})
    script = subprocess.check_output(
        [commands / "binlog-connector-mirror", "--script"], env=environment, text=True
    )
    assert str(commands.parent) in script
    # The workers get the packages as an archive; the driver has them under the same name.
    subprocess.check_call(["tar", "-czf", "own.tar.gz", "-C", commands.parent, "."], cwd=tmp_path)
    (tmp_path / "python").symlink_to(commands.parent)
    python = {"PYSPARK_PYTHON": "./python/bin/python"}
    command = [f"{environment['SPARK_HOME']}/bin/spark-submit", "--master", cluster.url]
    command += ["--archives", "own.tar.gz#python", script.strip(), str(config)]
    with Driver(command, environment | python, tmp_path / "second.log") as driver:
        driver.end_well()
    data = read_mirror(f"{tmp_path}/mirror/shop/a")
    assert data["name"].to_pylist().count("second") == 1
