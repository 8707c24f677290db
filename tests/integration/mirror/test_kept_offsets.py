"""A new checkpoint begins where the tables are, so a checkpoint may be lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.run.assembly import mirror_offsets, own_checkpoint
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.topic_state import TopicStates
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.delta.storage import StoredFile
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


@dataclass(frozen=True, slots=True)
class Meeting(LocalStorage):
    """A folder in which a list of files comes when three of them are asked for."""

    barrier: Barrier = field(default_factory=lambda: Barrier(3, timeout=20))

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        self.barrier.wait()
        return LocalStorage.list(self, folder, start_after)


def test_the_mirrors_of_a_batch_are_looked_at_together(
    kafka: Kafka, job: Job, client: KafkaClient
) -> None:
    tables = [SourceTable(kafka, name, (ID,)).create() for name in ("a", "b", "c")]
    for table in tables:
        table.insert({"id": 1})
    job.apply()
    choices = TableOptionsResolver.of_settings(job.settings())
    registry = SchemaRegistry(client, kafka.prefix, choices=choices)
    registry.refresh()
    folder = job.settings().mirror.path
    states = TopicStates(Meeting(folder), folder, registry, choices)
    states.open(table.topic for table in tables)
    for table in tables:
        mirror = states.of(table.topic).mirror
        assert mirror is not None
        assert {str(number): end for number, end in mirror.progress.offsets.items()} == (
            kafka.end_offsets(table.topic)
        )


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
