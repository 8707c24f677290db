"""A job deletes records that the tables have, and nothing that one of them lacks."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.run.record_retention import RecordRetention
from stream_jobs.source.client import KafkaClient
from tests.integration.harness import wait_until
from tests.stream_jobs.topics import PARTITIONS, SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
DELETED_AFTER = {"delete_after_hours": 1.0}
# After each record that a test writes.
LATER_MS = round(time.time() * 1000) + 24 * 3_600_000


def row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"item {number}"}


def rows(*numbers: int) -> list[tuple[int, str]]:
    return [(number, f"item {number}") for number in numbers]


def first(job: Job, table: SourceTable) -> list[int]:
    with closing(KafkaClient(job.settings().kafka.facts())) as client:
        found = client.first_offsets((table.topic, number) for number in range(PARTITIONS))
    return [found[table.topic, number] for number in range(PARTITIONS)]


def ends(kafka: Kafka, table: SourceTable) -> list[int]:
    found = kafka.end_offsets(table.topic)
    return [found[str(number)] for number in range(PARTITIONS)]


def delete(job: Job) -> None:
    """Let the job delete what the tables have."""
    settings = job.settings(kafka=DELETED_AFTER)
    with closing(KafkaClient(settings.kafka.facts())) as client:
        retention = RecordRetention(settings, client, job.sync, lambda: LATER_MS)
        # A broker has to make the topic of the groups first.
        wait_until(lambda: retention.turn(job.applied) is None, lambda: "no answer", 30)
        # The group is known from now on.
        assert retention.turn(job.applied) is None


def test_records_of_a_table_that_is_set_aside_stay_until_it_has_gone_on(
    kafka: Kafka, job: Job
) -> None:
    good, poisoned = (SourceTable(kafka, name, COLUMNS).create() for name in ("good", "poisoned"))
    for table in (good, poisoned):
        table.insert(*map(row, range(20)))
    job.apply()
    with kafka.transaction():
        poisoned.send("c", None, row(0), value=b"not ours", partition=0)
    offset = kafka.end_offsets(poisoned.topic)["0"] - 2
    begun = ends(kafka, poisoned)
    for table in (good, poisoned):
        table.insert(*map(row, range(20, 40)))
    job.quarantined()
    delete(job)
    assert first(job, good) == ends(kafka, good)
    # In the other partition, it lacks what came after its last batch.
    assert first(job, poisoned)[0] == offset
    assert first(job, poisoned)[1] <= begun[1] < ends(kafka, poisoned)[1]
    # Also the next process of the job leaves them.
    job.run()
    delete(job)
    assert first(job, poisoned)[0] == offset

    job.resume("shop.poisoned", skipped=[(0, offset)])
    assert [line["event"] for line in job.run()] == ["retried", "record_skipped", "table_resumed"]
    assert job.rows("poisoned") == job.rows("good") == rows(*range(40))
    delete(job)
    assert first(job, poisoned) == ends(kafka, poisoned)


def test_batches_that_are_repeated_and_lost_checkpoints_need_no_deleted_record(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    for number in range(3):
        table.insert(row(number))
        job.apply()
        delete(job)
        assert first(job, table) == ends(kafka, table)
        # Spark has not committed the batch, or has lost that.
        job.delete_checkpoint()
        assert not job.run() or job.exit_code == 0
    table.insert(row(3))
    job.apply()
    assert job.rows("items") == rows(0, 1, 2, 3)


@pytest.mark.spark
def test_the_job_deletes_in_its_turn_and_goes_on(kafka: Kafka, spark_job: SparkJob) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    # The first turn makes the group known; a broker that has had no group may need more than one.
    for number in range(6):
        table.insert(row(number))
        lines = spark_job.run(kafka={"delete_after_hours": 1e-7})
        assert spark_job.exit_code == 0, lines
        if number and first(spark_job, table) == ends(kafka, table):
            break
    assert first(spark_job, table) == ends(kafka, table)
    assert spark_job.rows("items") == rows(*range(number + 1))
