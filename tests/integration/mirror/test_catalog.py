"""Mirrors have names in the catalog of the Spark session."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from stream_jobs.errors import setting_errors
from stream_jobs.run.spark_session import Catalog
from tests.length import FULL
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)


@pytest.fixture
def database(spark: SparkSession) -> Iterator[str]:
    """The name of a database that no other test has, and that must be quoted."""
    name = f"1e{uuid.uuid4().hex[:8]}"
    yield name
    spark.sql(f"DROP DATABASE IF EXISTS `{name}` CASCADE")


@pytest.mark.skipif(not FULL, reason="ten seconds of CPU; `make test-all` runs it")
def test_a_mirror_is_a_table_of_the_catalog_after_its_first_batch(
    spark: SparkSession, kafka: Kafka, spark_job: SparkJob, database: str
) -> None:
    table = SourceTable(kafka, "orders", (ID, NAME), database=database).create()
    table.insert({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    lines = spark_job.run(catalog={"kind": "spark"})
    assert [line for line in lines if line["event"] == "not_registered"] == []
    assert spark_job.exit_code == 0
    found = spark.sql(f"SELECT id, name FROM `{database}`.orders ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "a"), (2, "b")]


def test_a_mirror_follows_its_source_in_the_catalog_and_another_table_is_left_alone(
    spark: SparkSession, kafka: Kafka, job: Job, database: str, tmp_path: Path
) -> None:
    orders = SourceTable(kafka, "orders", (ID, NAME), database=database).create()
    orders.insert({"id": 1, "name": "a"})
    job.apply()
    catalog = Catalog(spark, str(job.folder / "mirror"))
    assert catalog.register({(database, "orders"): f"{database}/orders"}) == {}
    orders.alter(ID, NAME, column("note", "text")).insert({"id": 2, "name": "b", "note": "c"})
    job.apply()
    found = spark.sql(f"SELECT * EXCEPT (_cdc_hi, _cdc_lo) FROM `{database}`.orders ORDER BY id")
    assert [tuple(row) for row in found.collect()] == [(1, "a", None), (2, "b", "c")]
    # A job of another folder, with a mirror of the same name.
    other = Catalog(spark, str(tmp_path / "other"))
    (problem,) = other.register({(database, "orders"): f"{database}/orders"}).values()
    assert problem.text == (
        f"{database}.orders in the catalog is another table, at "
        f"file:{job.folder}/mirror/{database}/orders, not the mirror at "
        f"{tmp_path}/other/{database}/orders; drop the table in the catalog, or give the mirror "
        "another name in [[tables]]"
    )


def test_what_the_catalog_refuses_is_said(spark: SparkSession, tmp_path: Path) -> None:
    (problem,) = Catalog(spark, str(tmp_path)).register({("a.b", "c"): "a.b/c"}).values()
    assert problem.code is setting_errors.NOT_REGISTERED
    assert problem.text.startswith("a.b.c is not in the catalog: ")
    assert problem.text.endswith("look at [catalog] and [spark] in the configuration")
