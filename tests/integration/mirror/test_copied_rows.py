"""Rows of a copy are applied by their sequences, as changes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def test_a_table_is_copied_between_its_changes_and_then_copied_anew(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("r", None, {"id": 1, "name": "one"})
        table.send("r", None, {"id": 2, "name": "two"})
    job.apply()
    assert job.rows("items") == [(1, "one"), (2, "two")]

    table.update({"id": 1, "name": "one"}, {"id": 1, "name": "changed"})
    with kafka.transaction():
        table.send("r", None, {"id": 3, "name": "three"})
    table.truncate()
    with kafka.transaction():
        table.send("r", None, {"id": 1, "name": "changed"})
        table.send("r", None, {"id": 3, "name": "again"})
    job.apply()
    assert job.rows("items") == [(1, "changed"), (3, "again")]
