"""The whole job writes cuts, and Spark reads all tables of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from stream_jobs.cuts.spark import mirror_at
from stream_jobs.errors import MirrorError
from tests.integration.mirror.test_cuts import COLUMNS, cuts, settle, transfer
from tests.length import full_only
from tests.stream_jobs.topics import SourceTable

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_spark_reads_all_tables_as_of_a_cut(kafka: Kafka, spark_job: SparkJob) -> None:
    savings = SourceTable(kafka, "savings", COLUMNS).create()
    wallet = SourceTable(kafka, "my`wallet", COLUMNS).create()
    transfer(kafka, savings, wallet, 10)
    spark_job.apply()
    savings.insert({"id": 2, "amount": 5})
    settle(kafka)
    transfer(kafka, savings, wallet, 30)
    spark_job.apply()
    path, spark = str(spark_job.folder / "mirror"), spark_job.session
    first, _ = cuts(spark_job)

    tables = mirror_at(spark, path, gtid=first.gtid, views=True)

    assert {name: [tuple(row)[:2] for row in t.collect()] for name, t in tables.items()} == {
        "shop.savings": [(1, 90)],
        "shop.my`wallet": [(1, 10)],
    }
    joined = spark.sql(
        "SELECT s.amount + w.amount AS total FROM `shop.savings` s JOIN `shop.my``wallet` w "
        "USING (id)"
    )
    assert [row["total"] for row in joined.collect()] == [100]

    mirror_at(spark, path, views=True)

    assert spark.sql("SELECT sum(amount) AS total FROM `shop.savings`").collect()[0]["total"] == 75
    with pytest.raises(MirrorError, match="has no cut up to"):
        mirror_at(spark, path, time=datetime.fromtimestamp(0, UTC))


@full_only
def test_the_job_says_once_that_there_are_no_cuts(kafka: Kafka, spark_job: SparkJob) -> None:
    savings = SourceTable(kafka, "savings", COLUMNS).create()
    savings.insert(*({"id": number, "amount": 1} for number in range(30)))

    lines = spark_job.run(kafka={"max_offsets_per_trigger": 10})

    told = [line for line in lines if line["event"] == "no_cuts"]
    assert [line["code"] for line in told] == ["M802"]
    assert len([line for line in lines if line["event"] == "batch_applied"]) > 1
