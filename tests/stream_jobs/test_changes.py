"""Inserts, updates and deletes in Kafka become the same rows in a Delta table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream_jobs.source import SOURCE_TS_MS, SourceTable, column

if TYPE_CHECKING:
    from tests.stream_jobs.conftest import Job
    from tests.stream_jobs.source import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)


def items(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "items", (ID, NAME)).create()


def test_inserts_updates_and_deletes_reach_the_mirror_and_are_counted(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    one, two, three = ({"id": n, "name": f"item {n}"} for n in (1, 2, 3))
    table.insert(one, two, three)
    line = job.apply()
    assert job.rows("items") == [(1, "item 1"), (2, "item 2"), (3, "item 3")]
    assert line["records"] == 3
    assert line["end_offsets"] == {table.topic: kafka.end_offsets(table.topic)}
    assert line["tables"] == {
        "shop.items": {
            "changes": 3,
            "upserts": 3,
            "deletes": 0,
            "skipped": 0,
            "source_ts_ms": SOURCE_TS_MS,
        }
    }
    table.update(one, {"id": 1, "name": "changed"})
    table.delete(two)
    line = job.apply()
    assert job.rows("items") == [(1, "changed"), (3, "item 3")]
    assert line["records"] == 3
    assert line["tables"]["shop.items"] | {"source_ts_ms": 0} == {
        "changes": 2,
        "upserts": 1,
        "deletes": 1,
        "skipped": 0,
        "source_ts_ms": 0,
    }
