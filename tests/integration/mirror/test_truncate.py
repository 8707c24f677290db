"""A truncate removes what was there before it, whichever partition is read first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def row(number: int) -> dict[str, object]:
    return {"id": number, "name": f"item {number}"}


def test_rows_from_before_it_are_gone_and_rows_from_after_it_stay(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(row(1), row(2))
    job.apply()
    table.insert(row(3))
    table.truncate()
    table.insert(row(4))
    line = job.apply()
    assert job.rows("items") == [(4, "item 4")]
    counts = line["tables"]["shop.items"]
    assert (counts["changes"], counts["upserts"], counts["skipped"]) == (3, 1, 1)


def test_a_truncate_alone_empties_the_mirror_after_a_restart(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(row(1), row(2))
    job.apply()
    table.truncate(partition=1)
    job.apply()
    assert job.rows("items") == []


def test_older_rows_that_come_in_a_later_batch_do_not_come_back(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("c", None, row(1), partition=0)
    late = kafka.next_sequence()
    table.truncate(partition=0)
    job.apply()
    with kafka.transaction():
        table.send("c", None, row(2), late, partition=1)
    table.insert(row(3))
    line = job.apply()
    assert job.rows("items") == [(3, "item 3")]
    assert line["tables"]["shop.items"]["skipped"] == 1
