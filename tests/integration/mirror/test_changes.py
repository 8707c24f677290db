"""Inserts, updates and deletes in Kafka become the same rows in a Delta table."""

from __future__ import annotations

import shutil
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from stream_jobs.errors import job_errors
from stream_jobs.tables.mirror_table import MirrorTable
from tests.foundation.errors.texts import text_of
from tests.length import full_only
from tests.stream_jobs.topics import SOURCE_TS_MS, SourceTable, column
from tests.stream_jobs.topics import Kafka as OtherKafka

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_stack import KafkaBroker
    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.tables.mirror_metadata import Progress
    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
ONE, TWO, THREE = ({"id": n, "name": f"item {n}"} for n in (1, 2, 3))


class Died(Exception):
    """Stands for the end of the process."""


def items(kafka: Kafka, name: str = "items") -> SourceTable:
    return SourceTable(kafka, name, (ID, NAME)).create()


@pytest.mark.spark
def test_inserts_updates_and_deletes_reach_the_mirror_and_are_counted(
    kafka: Kafka, spark_job: SparkJob
) -> None:
    table = items(kafka)
    table.insert(ONE, TWO, THREE)
    line = spark_job.apply()
    assert spark_job.rows("items") == [(1, "item 1"), (2, "item 2"), (3, "item 3")]
    assert line["records"] == 3
    assert line["end_offsets"] == {table.topic: kafka.end_offsets(table.topic)}
    assert line["tables"].keys() == {"shop.items"}
    counts = line["tables"]["shop.items"]
    assert (counts["changes"], counts["upserts"], counts["deletes"]) == (3, 3, 0)
    assert (counts["skipped"], counts["source_ts_ms"]) == (0, SOURCE_TS_MS)
    # Columns and rows come in one commit each.
    assert (counts["commits"], counts["version"]) == (2, 1)
    assert (counts["rows"], counts["dead_rows"], counts["files"]) == (3, 0, 1)
    assert counts["lag_seconds"] == (counts["committed_ms"] - SOURCE_TS_MS) / 1000
    assert line["phases"].keys() == {"plan", "tasks", "commit", "upkeep"}

    table.update(ONE, {"id": 1, "name": "changed"})
    table.delete(TWO)
    line = spark_job.apply()
    assert spark_job.rows("items") == [(1, "changed"), (3, "item 3")]
    assert line["records"] == 3  # with the tombstone
    counts = line["tables"]["shop.items"]
    assert (counts["changes"], counts["upserts"], counts["deletes"]) == (2, 1, 1)


def test_of_several_changes_of_a_key_in_one_batch_the_last_one_stays(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE, TWO)
    table.delete(ONE)
    table.insert({"id": 1, "name": "again"})
    table.update(TWO, {"id": 2, "name": "second"})
    table.delete({"id": 2, "name": "second"})
    line = job.apply()
    assert job.rows("items") == [(1, "again")]
    counts = line["tables"]["shop.items"]
    assert (counts["changes"], counts["upserts"], counts["deletes"]) == (6, 1, 1)


def test_a_primary_key_change_moves_the_row(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.insert(ONE, TWO)
    job.apply()
    table.update(ONE, {"id": 30, "name": "item 1"})
    job.apply()
    assert job.rows("items") == [(2, "item 2"), (30, "item 1")]


def test_keys_that_move_in_one_statement_end_where_the_statement_put_them(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE, TWO)
    # UPDATE items SET id = id + 1 ORDER BY id DESC
    table.update(TWO, {"id": 3, "name": "item 2"})
    table.update(ONE, {"id": 2, "name": "item 1"})
    job.apply()
    assert job.rows("items") == [(2, "item 1"), (3, "item 2")]


def test_an_aborted_kafka_transaction_is_not_seen_and_counts_in_the_end_offsets(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE)
    with kafka.transaction(commit=False):
        table.send("c", None, TWO)
    line = job.apply()
    assert job.rows("items") == [(1, "item 1")]
    assert line["end_offsets"] == {table.topic: kafka.end_offsets(table.topic)}


def test_a_replay_from_the_start_of_the_topics_skips_everything_and_changes_nothing(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE, TWO)
    table.delete(TWO)
    job.apply()
    before = job.rows("items", "id", "name", "_cdc_hi", "_cdc_lo")
    job.delete_checkpoint()
    table.insert(THREE)
    line = job.apply()
    counts = line["tables"]["shop.items"]
    # What was applied is not read again.
    assert (counts["changes"], counts["upserts"], counts["skipped"]) == (1, 1, 0)
    after = job.rows("items", "id", "name", "_cdc_hi", "_cdc_lo")
    assert after[: len(before)] == before
    assert [row[:2] for row in after] == [(1, "item 1"), (3, "item 3")]


def test_records_of_an_added_partition_stop_the_table_until_they_are_accepted(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE, TWO)
    job.apply()
    kafka.add_partition(table.topic)
    with kafka.transaction():
        table.send("c", None, THREE, partition=2)
    assert job.reason() == (
        f"{table.topic}: it has records in more than the 2 partitions that it had when it was "
        "first read; if everything from before the change had been applied, resume the table and "
        'set kafka.added_partitions = "accept" for one run; otherwise let the connector copy the '
        "table again (`binlog-connector snapshot`), and then let the mirror be made again: "
        "`binlog-connector-mirror resume CONFIG TABLE --rebuild`"
    )
    job.resume("shop.items")
    job.apply(kafka={"added_partitions": "accept"})
    assert job.rows("items") == [(1, "item 1"), (2, "item 2"), (3, "item 3")]
    table.insert({"id": 4, "name": "item 4"})
    job.apply()
    assert len(job.rows("items")) == 4


def test_topics_of_a_longer_prefix_and_control_topics_are_not_read(
    kafka: Kafka, kafka_broker: KafkaBroker, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE)
    other = OtherKafka(kafka_broker.endpoint.bootstrap, f"x{kafka.prefix}")
    items(other).insert(TWO)
    other.close()
    kafka.add_topic(f"{kafka.prefix}.progress")
    kafka.add_topic(kafka.prefix)
    line = job.apply()
    assert list(line["end_offsets"]) == [table.topic]
    assert job.rows("items") == [(1, "item 1")]


# The offsets that a job has not kept are lost in stories of `test_deaths`, too, and in the replay
# from the start of the topics.
@pytest.mark.parametrize("checkpoint", ["kept", pytest.param("lost", marks=full_only)])
@pytest.mark.spark
def test_a_batch_that_died_between_two_tables_is_applied_again_with_the_same_result(
    kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch, checkpoint: str
) -> None:
    """What is injected is the death of the process; everything else is real."""
    first, second = items(kafka, "first"), items(kafka, "second")
    first.insert(ONE, TWO)
    second.insert(ONE, TWO)
    spark_job.apply()
    for table in (first, second):
        table.insert(THREE)
        table.delete(ONE)
        table.update(TWO, {"id": 2, "name": "changed"})

    commit = MirrorTable.commit_rows

    def die_at_second(own: MirrorTable, results: Sequence[PartResult], progress: Progress) -> None:
        if own.delta.path == "shop/second":
            raise Died
        commit(own, results, progress)

    with monkeypatch.context() as patched:
        patched.setattr(MirrorTable, "commit_rows", die_at_second)
        assert spark_job.error() == text_of(job_errors.SPARK_FAILED, kind="Died", said="")
    assert spark_job.rows("first") == [(2, "changed"), (3, "item 3")]
    assert spark_job.rows("second") == [(1, "item 1"), (2, "item 2")]

    if checkpoint == "lost":
        spark_job.delete_checkpoint()
    spark_job.apply()
    assert spark_job.rows("first") == spark_job.rows("second") == [(2, "changed"), (3, "item 3")]


def test_a_composite_key_is_matched_as_a_whole_in_key_order(kafka: Kafka, job: Job) -> None:
    table = SourceTable(
        kafka,
        "lines",
        (column("line", "int", key=2), column("order_id", "bigint", key=1, unsigned=True), NAME),
    ).create()
    rows = [{"line": n, "order_id": "18446744073709551615", "name": f"{n}"} for n in (1, 2)]
    table.insert(*rows)
    table.insert({"line": 1, "order_id": "7", "name": "other"})
    job.apply()
    table.delete(rows[1])
    job.apply()
    assert job.rows("lines") == [
        (1, Decimal(7), "other"),
        (1, Decimal(18446744073709551615), "1"),
    ]


def test_a_mirror_that_was_taken_away_is_missed_and_comes_back_with_all_its_rows(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert(ONE)
    job.apply()
    shutil.rmtree(job.path("items"))
    table.insert(TWO)
    assert job.reason() == (
        f"shop.items: there is no mirror at {job.path('items')}, but changes of the table have "
        "been applied; put the mirror back and resume the table "
        "(`binlog-connector-mirror resume`); if it is lost, let the connector copy the table "
        "(`binlog-connector snapshot`), and then let the mirror be made again: `resume CONFIG "
        "TABLE --rebuild`"
    )
    job.resume("shop.items", rebuild=True)
    job.apply()
    assert job.rows("items") == [(1, "item 1"), (2, "item 2")]


@pytest.mark.spark
def test_a_table_without_a_primary_key_has_no_mirror_which_is_said_once(
    kafka: Kafka, spark_job: SparkJob
) -> None:
    table = SourceTable(kafka, "log", (column("id", "int"), NAME)).create()
    table.insert(ONE)
    lines = spark_job.run()
    said = [line for line in lines if line["event"] == "no_mirror"]
    assert said == [
        {
            "event": "no_mirror",
            "code": "M105",
            "topic": table.topic,
            "error": (
                "the table has no primary key; its changes stay in Kafka only; set mode = "
                '"journal" or mode = "rows" for it in [[tables]]'
            ),
        }
    ]
    batch = next(line for line in lines if line["event"] == "batch_applied")
    counts = batch["tables"]["shop.log"]
    assert (counts["changes"], counts["upserts"], counts["skipped"]) == (1, 0, 1)
    assert not (spark_job.folder / "mirror" / "shop" / "log").exists()
