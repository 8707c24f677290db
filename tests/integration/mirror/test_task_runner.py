"""Small batches are applied in the driver, others in Spark's tasks: with the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.run import task_runner
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from typing import Any

    from pyspark.sql import SparkSession

    from tests.integration.mirror.conftest import SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
ROWS = 40


def jobs(spark: SparkSession) -> int:
    """How many jobs this Spark has run."""
    scheduler: Any = spark.sparkContext._jsc.sc().dagScheduler()
    return int(scheduler.numTotalJobs())


def apply_rows(kafka: Kafka, job: SparkJob, name: str) -> list[tuple[Any, ...]]:
    table = SourceTable(kafka, name, COLUMNS).create()
    rows = [{"id": number, "name": f"{name[0]} {number}"} for number in range(ROWS)]
    table.insert(*rows)
    job.apply()
    table.update(rows[3], {"id": 3, "name": "changed"})
    table.delete(rows[7])
    job.apply()
    return job.rows(name)


def test_only_large_batches_are_jobs_of_spark(
    spark: SparkSession, kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = jobs(spark)
    small = apply_rows(kafka, spark_job, "small")
    assert jobs(spark) == before
    monkeypatch.setattr(task_runner, "_RECORDS_MAX", 0)
    large = apply_rows(kafka, spark_job, "large")
    assert jobs(spark) > before
    assert len(small) == ROWS - 1
    assert [number for number, _ in small] == [number for number, _ in large]
    assert (3, "changed") in small
    assert (3, "changed") in large


def test_pipelines_that_share_a_process_leave_small_batches_to_spark(
    spark: SparkSession, kafka: Kafka, spark_job: SparkJob
) -> None:
    before = jobs(spark)
    spark.sparkContext.setLocalProperty(task_runner.SCHEDULER_POOL, "one of many")
    try:
        assert len(apply_rows(kafka, spark_job, "shared")) == ROWS - 1
    finally:
        spark.sparkContext.setLocalProperty(task_runner.SCHEDULER_POOL, None)  # type: ignore[arg-type] # as Java takes it
    assert jobs(spark) > before
