"""A new checkpoint begins where the tables are, so a checkpoint may be lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream_jobs.run.assembly import mirror_offsets, own_checkpoint
from stream_jobs.source.client import KafkaClient
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)


@pytest.fixture
def client(job: Job) -> Iterator[KafkaClient]:
    client = KafkaClient(job.settings().kafka.facts())
    yield client
    client.close()


def test_a_new_checkpoint_begins_at_the_offsets_of_the_tables(
    kafka: Kafka, job: Job, client: KafkaClient
) -> None:
    tables = [SourceTable(kafka, name, (ID,)).create() for name in ("a", "b", "damaged")]
    keyless = SourceTable(kafka, "keyless", (column("id", "int"),)).create()
    for table in (*tables, keyless):
        table.insert({"id": 1}, {"id": 2})
    job.apply()
    new = SourceTable(kafka, "new", (ID,)).create()
    new.insert({"id": 1})
    for log in Path(job.path("damaged"), "_delta_log").glob("*.json"):
        log.write_text("{")
    topics = [each.topic for each in (*tables, keyless, new)]
    begin = mirror_offsets(job.settings())
    assert begin(client, [*topics, f"{kafka.prefix}.shop.no_schema"]) == {
        table.topic: kafka.end_offsets(table.topic) for table in tables[:2]
    }


def test_a_pipeline_has_a_checkpoint_of_its_own_in_the_home_of_its_user(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chosen = own_checkpoint(job.settings())
    assert chosen.startswith(f"file://{tmp_path}/state/binlog-connector/checkpoints/test-")
    assert own_checkpoint(job.settings()) == chosen
    assert own_checkpoint(job.settings(mirror={"path": "s3://lake/mirror"})) != chosen
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/cdc")
    assert own_checkpoint(job.settings()) == (
        f"file:///home/cdc/.local/state/binlog-connector/checkpoints/{chosen.rpartition('/')[2]}"
    )
