"""A mirror follows a column list that a statement says, when no row has come since."""

from __future__ import annotations

import pytest

from tests.integration.mirror.conftest import Job
from tests.stream_jobs.topics import Kafka, SourceTable, column

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
STOCK = column("stock", "int", nullable=False, added_default=5)
OWN = ["_cdc_hi", "_cdc_lo"]


def items(kafka: Kafka) -> SourceTable:
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    table.insert({"id": 1, "name": "one"}, {"id": 2, "name": "two"})
    return table


def test_added_columns_are_there_without_a_row(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    job.apply()
    table.state(ID, STOCK, NAME, column("note", "text"))
    line = job.apply()
    assert (line["records"], list(line["tables"])) == (0, ["shop.items"])
    assert job.data("items").column_names == ["id", "stock", "name", "note", *OWN]
    assert job.rows("items") == [(1, 5, "one", None), (2, 5, "two", None)]
    version = line["tables"]["shop.items"]["version"]
    job.delete_checkpoint()
    assert job.apply()["tables"] == {}
    assert job.rows("items") == [(1, 5, "one", None), (2, 5, "two", None)]
    altered = table.state(ID, STOCK)
    line = job.apply()
    assert line["tables"]["shop.items"]["version"] == version + 1
    assert job.rows("items") == [(1, 5), (2, 5)]
    altered.insert({"id": 3, "stock": 7})
    job.apply()
    assert job.rows("items") == [(1, 5), (2, 5), (3, 7)]


def test_rows_and_a_list_without_rows_come_in_one_batch(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.state(ID, NAME, STOCK)
    job.apply()
    assert job.rows("items") == [(1, "one", 5), (2, "two", 5)]


@pytest.mark.broker("an end of a topic with records that are not on the disk")
def test_a_list_waits_for_rows_of_a_transaction_that_has_not_ended(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    job.apply()
    table.state(ID, NAME, STOCK)
    with kafka.transaction():
        table.send("c", None, {"id": 3, "name": "three"})
        kafka.flush()
        assert job.apply()["tables"] == {}
        assert job.rows("items") == [(1, "one"), (2, "two")]
    job.apply()
    assert job.rows("items") == [(1, "one", 5), (2, "two", 5), (3, "three", 5)]


def test_a_table_that_returns_to_a_list_without_a_row_has_it_again(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    job.apply()
    table.state(ID, NAME, STOCK)
    job.apply()
    table.state(ID, NAME)
    job.apply()
    assert job.rows("items") == [(1, "one"), (2, "two")]


def test_a_row_with_another_list_than_the_stated_one_decides(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    job.apply()
    table.state(ID, NAME, STOCK)
    job.apply()
    # What the connector does before a row of an older list.
    table.alter(ID, NAME).insert({"id": 3, "name": "three"})
    job.apply()
    assert job.rows("items") == [(1, "one"), (2, "two"), (3, "three")]
    job.delete_checkpoint()
    job.apply()
    assert job.rows("items") == [(1, "one"), (2, "two"), (3, "three")]


def test_a_table_without_a_mirror_gets_none_from_a_stated_list(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    table.state(ID, NAME, STOCK)
    assert job.apply()["tables"] == {}
    table.insert({"id": 1, "name": "one"})
    job.apply()
    assert job.rows("items") == [(1, "one", 5)]


def test_the_next_row_completes_what_a_statement_does_not_say(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    job.apply()
    table.state(ID, column("note", "varchar", added_default="new"))
    job.apply()
    note = column("note", "varchar", length=36, charset="utf8mb4", collation=255)
    table.alter(ID, note).insert({"id": 3, "note": "three"})
    job.apply()
    assert job.rows("items") == [(1, "new"), (2, "new"), (3, "three")]
    # Another job that reads everything at once.
    other = Job(kafka, job.folder / "other")
    other.apply()
    assert other.rows("items") == [(1, "new"), (2, "new"), (3, "three")]


@pytest.mark.parametrize("mode", ["history", "soft_delete"])
def test_other_modes_follow_a_stated_list_too(kafka: Kafka, job: Job, mode: str) -> None:
    table = items(kafka)
    tables = [{"match": ["shop.items"], "mode": mode}]
    job.apply(tables=tables)
    table.state(ID, STOCK)
    job.apply(tables=tables)
    assert job.rows("items", "id", "stock", "name") == [(1, 5, "one"), (2, 5, "two")]


def test_a_list_that_cannot_be_followed_sets_its_table_aside_alone(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    other = SourceTable(kafka, "orders", (ID, NAME)).create()
    other.insert({"id": 1, "name": "one"})
    job.apply()
    table.state(ID, NAME, column("stock", "int", added_default_unknown=True))
    other.state(ID, NAME, STOCK)
    assert "stock" in job.reason()
    assert job.rows("items") == [(1, "one"), (2, "two")]
    assert job.rows("orders") == [(1, "one", 5)]
