"""Tables that are followed, but of which no topic has anything yet, cost a batch nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import row_topic
from stream_jobs.tables.schema_registry import SchemaRegistry
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)


def test_kafka_is_not_asked_for_each_of_them(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    refresh = SchemaRegistry.refresh

    def counted(registry: SchemaRegistry) -> None:
        asked.append(registry)
        refresh(registry)

    monkeypatch.setattr(SchemaRegistry, "refresh", counted)
    busy = SourceTable(kafka, "busy", (ID,)).create()

    def asked_with(others: int) -> int:
        for number in range(others):
            kafka.add_topic(row_topic(kafka.prefix, "shop", f"t{number}"))
        with kafka.transaction():
            busy.send("c", None, {"id": others})
            kafka.progress()
        asked.clear()
        assert job.apply()["cut"] is not None
        return len(asked)

    assert asked_with(2) == asked_with(12)
    # Their first rows are applied as ever, and belong to the cut.
    late = SourceTable(kafka, "t3", (ID,)).create()
    with kafka.transaction():
        late.send("c", None, {"id": 5})
        kafka.progress()
    assert job.apply()["cut"] == 3
    assert job.rows("t3") == [(5,)]
