"""The job on a standalone cluster of two workers that die: from an installed wheel, and a load."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from connector.lake.demo.stack import read_mirror
from local_stack import connect
from local_stack.spark import SparkCluster
from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.log import now
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.tables.mirror_table import MirrorTable
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.mirror.wheel import installed
from tests.length import FULL
from tests.stream_jobs.command import write_config
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.database_stream import Stream
    from tests.stream_jobs.topics import Kafka

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not FULL, reason="half a minute of CPU: `make test-all`"),
]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
ROWS = 2_500
LOADED_ROWS = 20_000
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


def settings_of(cluster: SparkCluster) -> str:
    """Return the end of a configuration, for a job that runs on the cluster."""
    return "".join(f'"{name}" = "{value}"\n' for name, value in cluster.settings.items())


def kill_in_a_task(cluster: SparkCluster, executor: int) -> None:
    """End an executor, like a power cut, while it runs a task."""
    os.kill(executor, signal.SIGSTOP)
    while not cluster.is_busy(executor):
        os.kill(executor, signal.SIGCONT)
        time.sleep(0.02)
        os.kill(executor, signal.SIGSTOP)
    os.kill(executor, signal.SIGKILL)


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
    own.write_text(f"{text}{settings_of(cluster)}", encoding="utf-8")
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
        kill_in_a_task(cluster, executor)
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


def loaded_rows(folder: Path, stream: Stream) -> int:
    """Return how many rows of the table are committed."""
    storage, name = LocalStorage(f"{folder}/mirror"), f"{stream.database}.t"
    mirror = MirrorTable.open(storage, f"{stream.database}/t", name, "")
    return 0 if mirror is None or mirror.progress.load is None else mirror.progress.load.rows


def source_rows(stream: Stream) -> list[tuple[int, str]]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, name FROM t ORDER BY id")
        return [(row[0], row[1]) for row in cursor.fetchall()]


@pytest.mark.server
def test_workers_that_die_while_ranges_are_read_lose_nothing(
    stream: Stream, tmp_path: Path, cluster: SparkCluster
) -> None:
    rows = ", ".join(f"({number}, 'first')" for number in range(LOADED_ROWS))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))", f"INSERT INTO t VALUES {rows}"
    )
    # It writes the password, and who has asked for it: each worker asks for its own login.
    script, asked = tmp_path / "password", tmp_path / "asked"
    text = f"echo $PPID >> {asked}\necho {shlex.quote(stream.source.password)}\n"
    script.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    script.chmod(0o700)
    source = f"mysql://{stream.source.user}@{stream.source.host}:{stream.source.port}/"
    config = write_config(tmp_path, stream.broker.bootstrap, stream.prefix, 'kind = "availableNow"')
    config.write_text(
        f"{config.read_text(encoding='utf-8')}{settings_of(cluster)}"
        f'[first_load]\nurl = "{source}"\npassword_command = ["{script}"]\n'
        f'connections = 2\nrange_rows = 500\npace = "full"\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "stream_jobs", str(config)]
    with stream.connector(source__start="snapshot", snapshot__to="mirror") as connector:
        loads = "the Spark job loads the rows"
        wait_until(lambda: loads in connector.output(), connector.output)
        wait_until_settled(stream.broker, stream.prefix)
        with Driver(command, cluster.environment, tmp_path / "load.log") as driver:

            def await_rows(count: int) -> None:
                wait_until(
                    lambda: loaded_rows(tmp_path, stream) >= count, driver.errors, seconds=120
                )
                assert loaded_rows(tmp_path, stream) < LOADED_ROWS
                number = count * 7 % LOADED_ROWS
                stream.execute(
                    f"UPDATE t SET name = 'later' WHERE id % 100 = {count % 100}",
                    f"DELETE FROM t WHERE id BETWEEN {number} AND {number + 20}",
                    f"UPDATE t SET id = id + {LOADED_ROWS} WHERE id % 1000 = {count % 1000}",
                )

            await_rows(501)
            kill_in_a_task(cluster, cluster.executors(0)[-1])
            await_rows(4_001)
            cluster.kill_worker(1)
            await_rows(6_001)
            driver.end_well()
            assert "ExecutorLostFailure" in driver.errors()
        askers = {*asked.read_text(encoding="utf-8").split()}
        assert len(askers - {str(driver.process.pid)}) >= 2
        wait_until_settled(stream.broker, stream.prefix)
        with Driver(command, cluster.environment, tmp_path / "rest.log") as driver:
            driver.end_well()
    data = read_mirror(f"{tmp_path}/mirror/{stream.database}/t")
    found = sorted(zip(data["id"].to_pylist(), data["name"].to_pylist(), strict=True))
    assert found == source_rows(stream)
