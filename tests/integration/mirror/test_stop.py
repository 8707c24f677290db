"""A stop that is requested while a batch is applied comes into force behind it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from connector.kafka.folder import door
from stream_jobs.apply.modes import MODES
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import TableCommit
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.shared_delta import TURN, SharedDelta
from tests.stream_jobs.command import Command, write_config
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.tables.shard_table import ShardTable
    from tests.integration.mirror.conftest import SparkJob

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def test_the_running_batch_is_applied_and_committed_and_no_other_begins(
    kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    commit = MirrorTable.commit_rows

    def stop_in_the_middle(
        mirror: MirrorTable, results: Sequence[PartResult], progress: Progress
    ) -> None:
        assert spark_job.running is not None
        spark_job.running.stop()
        table.insert({"id": 2, "name": "two"})
        commit(mirror, results, progress)

    with monkeypatch.context() as patched:
        patched.setattr(MirrorTable, "commit_rows", stop_in_the_middle)
        lines = spark_job.run(trigger={"kind": "processingTime", "interval_seconds": 3600})
    assert spark_job.exit_code == 0
    # On a slow machine, it also says what takes long.
    lines = [line for line in lines if line["event"] != "working"]
    said = [line["event"] for line in lines]
    assert said == ["started", "no_cuts", "batch_applied", "stopped"]
    assert spark_job.rows("items") == [(1, "one")]
    assert lines[2]["end_offsets"].keys() == {table.topic}
    assert lines[-1]["end_offsets"] == {}

    line = spark_job.apply()
    assert line["batch_id"] == 1
    assert spark_job.rows("items") == [(1, "one"), (2, "two")]


def with_a_turn(folder: Path) -> ShardTable:
    """Add a shard of another pipeline to the mirror, whose process takes a turn."""
    sequence = PackedSequence(1, 1)
    chosen = TableOptions(place=("shop", "items"), shard=Shard("region", "other", "other"))
    schema = TableSchema("shop", "items", "s", sequence, COLUMNS, chosen=chosen)
    columns, progress = all_columns(schema), Progress("s", sequence, 1).write()
    merged = MergedTable(LocalStorage(str(folder / "mirror")), "shop/items")
    other = merged.add(schema, columns, progress, {}, MODES["current"])
    other.take_turn()
    return other


@pytest.mark.parametrize("is_rebuild", [False, True])
def test_a_batch_that_waits_for_the_turn_of_another_process_is_left(
    kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch, *, is_rebuild: bool
) -> None:
    """In the thread of the query, or in that of the job, which rebuilds a shard."""
    shard = {"column": "region", "value": "eu"}
    choice = {"match": ["shop.*"], "name": "shop.{table}", "shard": shard}
    sections = {
        "mirror": {"shared": True, "commits_in_parallel": 1},
        "tables": [choice],
        "trigger": {"kind": "processingTime", "interval_seconds": 0.5},
    }
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    names = ("purchases", "returns", "suppliers")
    beside = [SourceTable(kafka, name, COLUMNS).create() for name in names]
    for each in beside:
        each.insert({"id": 7, "name": "seven"})
    last = {**sections, "trigger": {"kind": "availableNow"}}
    spark_job.apply(**last)
    if is_rebuild:
        table.insert({"id": "no number", "name": "two"})
        spark_job.quarantined(**last)
        spark_job.resume("shop.items", rebuild=True)
        table.truncate()
    other = with_a_turn(spark_job.folder)
    table.insert({"id": 2, "name": "two"})
    for each in beside:
        each.insert({"id": 8, "name": "eight"})
    await_turn = SharedDelta.await_turn

    def stop_and_wait(own: SharedDelta) -> None:
        assert spark_job.running is not None
        spark_job.running.stop()
        await_turn(own)

    with monkeypatch.context() as patched:
        patched.setattr(SharedDelta, "await_turn", stop_and_wait)
        began = time.monotonic()
        lines = spark_job.run(**sections)
    assert time.monotonic() - began < 30
    assert spark_job.exit_code == 0
    lines = [line for line in lines if line["event"] not in ("working", "no_cuts")]
    assert [line["event"] for line in lines] == ["started", "stopped"]
    assert TURN in other.whole.refresh().domains
    # What waits for nobody is committed, also behind it.
    committed = [(7,)] if is_rebuild else [(7,), (8,)]
    assert [spark_job.rows(name, "id") for name in names] == [committed] * 3
    other.whole.commit(TableCommit(removed_domains=(TURN,)), "END")
    spark_job.run(**last)
    assert spark_job.exit_code == 0
    assert spark_job.rows("items", "id") == ([(2,)] if is_rebuild else [(1,), (2,)])


@pytest.mark.broker("a server in the process of the test")
@pytest.mark.parametrize("is_known", [False, True])
def test_a_job_that_waits_for_a_log_ends_at_once(tmp_path: Path, *, is_known: bool) -> None:
    """Its stream waits for an answer, or the job, before it begins another query."""
    log = tmp_path / "log"
    topics = Kafka(f"file://{log}", "waiting")
    table = SourceTable(topics, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    config = write_config(tmp_path, topics.bootstrap, topics.prefix, "interval_seconds = 0.2")
    with Command(config) as command:
        command.applied("shop.items")
        topics.close()
        log.rename(tmp_path / "away")
        # This process serves it no more.
        door.close()
        if is_known:
            command.line("interrupted")
        # Each waits for the time of a request, half a minute.
        time.sleep(5)
        began = time.monotonic()
        command.process.terminate()
        assert command.end() == 0, command.errors()
        assert time.monotonic() - began < 15
