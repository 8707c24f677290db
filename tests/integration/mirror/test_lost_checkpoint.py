"""The checkpoint of Spark may be deleted at any time, and is, if Spark could not begin with it."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

from stream_jobs.run.spark_checkpoint import delete_unusable_checkpoint
from tests.length import full_only
from tests.stream_jobs.command import Command, write_config
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = (column("id", "int", key=1),)


@full_only
def test_a_checkpoint_that_is_deleted_while_the_job_runs_does_not_stop_the_next_start(
    kafka: Kafka, tmp_path: Path
) -> None:
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, "interval_seconds = 0.2")
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1})
    with Command(config) as command:
        command.applied("shop.items")
        table.insert({"id": 2})
        command.applied("shop.items")
        shutil.rmtree(tmp_path / "checkpoint")
        table.insert({"id": 3})
        command.applied("shop.items")
        command.stop()
        assert command.end() == 0
    table.insert({"id": 4})
    with Command(config) as command:
        assert command.applied("shop.items")["upserts"] == 1
        command.stop()
        assert command.end() == 0


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a query that has had three batches."""
    folder = tmp_path_factory.mktemp("query") / "checkpoint"
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    query = writer.option("checkpointLocation", str(folder)).start()
    while not (folder / "commits" / "2").exists():
        assert query.isActive
        time.sleep(0.05)
    query.stop()
    return folder


def _newest(folder: Path) -> Path:
    return max((f for f in folder.iterdir() if f.name.isdecimal()), key=lambda f: int(f.name))


def _zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def _empty(file: Path) -> None:
    file.write_bytes(b"")
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("damage", [_zeros, _cut, _empty])
@pytest.mark.parametrize("part", ["offsets", "commits", "metadata", "offsets before"])
def test_a_checkpoint_is_deleted_whose_newest_files_a_loss_of_power_has_damaged(
    spark: SparkSession, checkpoint: Path, tmp_path: Path, part: str, damage: Callable[[Path], None]
) -> None:
    own = shutil.copytree(checkpoint, tmp_path / "checkpoint")
    if part == "metadata":
        file = own / part
    else:
        file = _newest(own / part.partition(" ")[0])
        if part == "offsets before":
            file = file.with_name(str(int(file.name) - 1))
    damage(file)
    delete_unusable_checkpoint(spark, str(own))
    assert not own.exists()


def test_a_whole_checkpoint_is_kept(spark: SparkSession, checkpoint: Path, tmp_path: Path) -> None:
    own = shutil.copytree(checkpoint, tmp_path / "checkpoint")
    before = sorted(own.rglob("*"))
    delete_unusable_checkpoint(spark, str(own))
    assert sorted(own.rglob("*")) == before
    delete_unusable_checkpoint(spark, str(tmp_path / "missing"))
    assert not (tmp_path / "missing").exists()
