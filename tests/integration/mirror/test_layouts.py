"""Mirrors with partitions or clustering: rows, changes of columns, upkeep, readers."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable as OtherTable

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from tests.integration.mirror.readers import delta_rs_rows, kernel_rows, spark_rows
from tests.length import full_only
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
COUNTRY = column("country", "varchar", length=8)
DAY = column("Day", "date")
PRICE = column("price", "decimal", precision=8, scale=2)
AT = column("at", "datetime", fraction=3)


def orders(kafka: Kafka, *columns: Any) -> SourceTable:
    return SourceTable(kafka, "orders", columns).create()


def row(number: int, country: str | None, day: int, price: str = "1.00") -> dict[str, Any]:
    return {"id": number, "country": country, "Day": f"2024-01-{day:02}", "price": price}


def of(**choices: Any) -> dict[str, Any]:
    return {"tables": [{"match": ["shop.orders"], **choices}]}


PARTED = of(partition_by=["country", "day"])


def delta(job: Job) -> DeltaTable:
    table = DeltaTable.open(LocalStorage(str(job.folder / "mirror")), "shop/orders")
    assert table is not None
    return table


def test_a_row_that_moves_to_another_partition_is_gone_in_the_old_one(
    kafka: Kafka, job: Job
) -> None:
    table = orders(kafka, ID, COUNTRY, DAY, PRICE)
    table.insert(row(1, "de", 1), row(2, "de", 1), row(3, "fr", 2), row(4, None, 2))
    job.apply(**PARTED)
    assert OtherTable(job.path("orders")).metadata().partition_columns == ["country", "Day"]
    table.update(row(1, "de", 1), row(1, "fr", 2))
    table.update(row(3, "fr", 2), row(3, "a/b %=", 3))
    table.delete(row(4, None, 2))
    table.insert(row(5, None, 1))
    job.apply(**PARTED)
    expected = [
        (1, "fr", dt.date(2024, 1, 2)),
        (2, "de", dt.date(2024, 1, 1)),
        (3, "a/b %=", dt.date(2024, 1, 3)),
        (5, None, dt.date(2024, 1, 1)),
    ]
    assert job.rows("orders", "id", "country", "Day") == expected
    # Each file has the rows of one partition, and no column that is the same in all of them.
    snapshot = delta(job).snapshot
    names = {c.physical_name: c.name for c in snapshot.columns}
    found = [
        {names[name]: value for name, value in file.partition_values.items()}
        for file in snapshot.files.values()
        if file.live
    ]
    assert {"country": "fr", "Day": "2024-01-02"} in found
    assert all(value.keys() == {"country", "Day"} for value in found)


def test_a_column_of_the_key_can_partition_the_mirror(kafka: Kafka, job: Job) -> None:
    shop = column("shop", "int", key=1)
    table = orders(kafka, shop, PRICE)
    settings = of(partition_by=["shop"])
    table.insert({"shop": 1, "price": "1.00"}, {"shop": 2, "price": "2.00"})
    job.apply(**settings)
    for number in range(3, 12):
        table.update({"shop": 1, "price": "1.00"}, {"shop": 1, "price": f"{number}.00"})
        job.apply(**settings)
    table.delete({"shop": 2, "price": "2.00"})
    job.apply(**settings)
    assert [int(price) for _, price in job.rows("orders")] == [11]


def test_changes_of_columns_keep_the_partitions(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY, PRICE)
    settings = of(partition_by=["country"])
    table.insert(
        *({"id": n, "country": "deit"[n % 2 * 2 :][:2], "price": "1.00"} for n in range(4))
    )
    job.apply(**settings)
    wide = column("price", "decimal", precision=12, scale=4)
    stock = column("stock", "int", nullable=False, added_default=5)
    altered = table.alter(ID, stock, COUNTRY, wide)
    altered.insert({"id": 4, "stock": 6, "country": "de", "price": "2.0000"})
    job.apply(**settings)
    assert [(n, s, c, str(p)) for n, s, c, p in job.rows("orders")] == [
        (0, 5, "de", "1.0000"),
        (1, 5, "it", "1.0000"),
        (2, 5, "de", "1.0000"),
        (3, 5, "it", "1.0000"),
        (4, 6, "de", "2.0000"),
    ]
    without = altered.alter(ID, stock, wide)
    without.insert({"id": 5, "stock": 6, "price": "2.0000"})
    assert job.reason(**settings) == (
        "shop.orders: partition_by names the column country, which the table does not have; "
        "correct the name, or take it out of the settings; the columns are id, stock, price"
    )


def test_small_files_of_a_partition_are_compacted_among_themselves(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY, DAY, PRICE)
    for number in range(10):
        table.insert(row(2 * number, "de", 1), row(2 * number + 1, "fr", 1))
        job.apply(**PARTED)
    snapshot = delta(job).snapshot
    assert len(snapshot.files) <= 8
    place = next(c.physical_name for c in snapshot.columns if c.name == "country")
    rows = {file.rows: file.partition_values[place] for file in snapshot.files.values()}
    assert rows[max(rows)] in {"de", "fr"}
    assert len(job.rows("orders")) == 20


def test_a_mirror_with_clustering_has_statistics_for_it_in_each_file(
    kafka: Kafka, job: Job
) -> None:
    table = orders(kafka, ID, COUNTRY, DAY, PRICE, AT)
    settings = of(cluster_by=["COUNTRY", "at"])
    for number in range(9):
        at = f"2024-01-01 00:00:0{9 - number}.000"
        table.insert(row(number, "de" if number % 2 else "fr", 1) | {"at": at})
        job.apply(**settings)
    snapshot = delta(job).snapshot
    assert snapshot.clustering == ("country", "at")
    by_name = {c.name: c.physical_name for c in snapshot.columns}
    for file in snapshot.files.values():
        assert file.bounds(by_name["country"]) is not None
        assert file.bounds(by_name["at"]) is not None
    assert len(snapshot.files) < 9
    assert len(job.rows("orders")) == 9


def test_the_size_of_files_is_that_of_the_table(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY)
    for number in range(9):
        table.insert({"id": number, "country": uuid.uuid4().hex[:8]})
        # Each file is larger than half of this.
        job.apply(**of(target_file_bytes=800))
    assert len(delta(job).snapshot.files) == 9
    table.insert({"id": 9, "country": "x"})
    job.apply()
    assert len(delta(job).snapshot.files) < 9


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        (
            {"partition_by": ["at"]},
            "shop.orders: partition_by names the column at, whose type datetime(3) does not fit; ",
        ),
        (
            {"cluster_by": ["place"]},
            "shop.orders: cluster_by names the column place, whose type geometry does not fit; ",
        ),
    ],
)
def test_a_column_that_does_not_fit_is_named(
    kafka: Kafka, job: Job, choices: dict[str, Any], error: str
) -> None:
    table = orders(kafka, ID, AT, column("place", "geometry"))
    table.insert({"id": 1, "at": "2024-01-01 00:00:00.000", "place": None})
    assert job.reason(**of(**choices)) == error + (
        "partition_by takes integers, dates, DECIMAL, BIT(1) and texts that are never empty; "
        "cluster_by takes numbers, dates, times and texts"
    )


def test_an_empty_text_cannot_be_the_value_of_a_partition(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY)
    table.insert({"id": 1, "country": "de"}, {"id": 2, "country": ""})
    assert job.reason(**of(partition_by=["country"])) == (
        "shop/orders: column country cannot partition the table; choose a column of integers, "
        "dates or decimals, or one of texts that are never empty"
    )
    assert not list(job.folder.glob("mirror/shop/orders/*.parquet"))


def test_other_partitions_of_a_mirror_are_refused(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY, DAY, PRICE)
    table.insert(row(1, "de", 1))
    job.apply(**PARTED)
    table.insert(row(2, "de", 1))
    path = job.path("orders")
    assert job.reason(**of(partition_by=["country"])) == (
        f"shop.orders: the mirror at {path} has the partition columns (country, Day), not "
        "(country); put the earlier partition_by back, or let the mirror be made again "
        "(`binlog-connector-mirror resume CONFIG TABLE --rebuild`; if Kafka has deleted records of "
        "the table, after `binlog-connector snapshot`)"
    )
    job.resume("shop.orders", rebuild=True)
    job.run(**of(partition_by=["country"]))
    assert len(job.rows("orders")) == 2


def test_the_source_is_shown_in_properties_and_in_the_history(kafka: Kafka, job: Job) -> None:
    table = orders(kafka, ID, COUNTRY, PRICE)
    table.insert({"id": 1, "country": "de", "price": "1.00"})
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:{}"
    sources = [{"gtid": gtid.format(7)}, {"file": "binlog.000007", "pos": 1234, "gtid": None}, {}]
    shown = []
    for number, source in enumerate(sources):
        new = {"id": number + 2, "country": "fr", "price": "2.00"}
        document = {"before": None, "after": new, "source": source, "op": "c", "ts_ms": 1}
        with kafka.transaction():
            table.send("c", None, new, value=json.dumps(document).encode())
        job.apply()
        shown.append(OtherTable(job.path("orders")).history(1)[0].get("userMetadata"))
    assert json.loads(shown[0] or "")["cdc.gtid"] == gtid.format(7)
    assert json.loads(shown[1] or "")["cdc.gtid"] == "binlog.000007:1234"
    # A change that does not say it leaves the earlier one.
    assert shown[2] == shown[1]
    wide = column("price", "decimal", precision=12, scale=2, unsigned=True)
    table.alter(ID, column("country", "varchar", length=99), wide).insert(
        {"id": 9, "country": "de", "price": "3.00"}
    )
    job.apply()
    types = {c.name: c.metadata.get("cdc.type") for c in delta(job).snapshot.columns}
    assert types["id"] == "int"
    assert types["country"] == "varchar(99)"
    assert types["price"] == "decimal(12,2) unsigned"
    properties = OtherTable(job.path("orders")).metadata().configuration
    assert json.loads(properties["cdc.key"]) == ["id"]
    assert properties["cdc.table"] == "shop.orders"


@pytest.mark.spark
@pytest.mark.parametrize(
    "layout",
    [{"partition_by": ["country"]}, pytest.param({"cluster_by": ["Day", "id"]}, marks=full_only)],
)
def test_readers_agree_on_layouts(
    spark: SparkSession, kafka: Kafka, job: Job, layout: dict[str, Any]
) -> None:
    table = orders(kafka, ID, COUNTRY, DAY, PRICE)
    for number in range(9):
        table.insert(row(number, ["de", "fr", None][number % 3], 1), row(number + 10, "de", 2))
        table.update(row(number, "de", 1), row(number, "it", 3))
        job.apply(**of(**layout))
    wide = column("price", "decimal", precision=12, scale=4)
    table.alter(ID, COUNTRY, DAY, wide).insert(row(30, "de", 1, "3.0000"))
    job.apply(**of(**layout))
    path = job.path("orders")
    expected = spark_rows(spark, path)
    assert len(expected) == 19
    assert delta_rs_rows(path) == expected
    assert kernel_rows(spark, path) == expected
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0]
    assert detail["partitionColumns"] == layout.get("partition_by", [])
    assert detail["clusteringColumns"] == layout.get("cluster_by", [])
    assert json.loads(
        spark.sql(f"SHOW TBLPROPERTIES delta.`{path}` ('cdc.key')").collect()[0][1]
    ) == ["id"]
