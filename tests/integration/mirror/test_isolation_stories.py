"""Tables with records that are not ours, deaths, restarts and resumes: the rows come out right."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.delta.storages import LocalStorage
from tests.integration.mirror.test_simulated_stories import COLUMNS, Source
from tests.length import length
from tests.stream_jobs.topics import PARTITIONS, SourceTable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

STORIES = length(short=1, full=60)
TABLES = 3


class Died(Exception):
    """Stands for the end of the process."""


class Story:
    """Some tables, and the records among theirs that are not ours."""

    def __init__(self, kafka: Kafka, job: Job, seed: int) -> None:
        self.kafka, self.job = kafka, job
        self.dice = random.Random(seed)
        self.tables = [
            SourceTable(kafka, f"t{seed}x{number}", COLUMNS).create() for number in range(TABLES)
        ]
        self.sources = [Source(table, self.dice) for table in self.tables]
        self.poison: dict[str, list[tuple[int, int]]] = {table.topic: [] for table in self.tables}
        self.writes_left = 10**9

    def change(self) -> None:
        for source in self.sources:
            for _ in range(self.dice.randint(0, 6)):
                source.change()
            if self.dice.random() < 0.25:
                self.spoil(source.table)

    def spoil(self, table: SourceTable) -> None:
        partition = self.dice.randrange(PARTITIONS)
        offset = self.kafka.end_offsets(table.topic)[str(partition)]
        self.poison[table.topic].append((partition, offset))
        with self.kafka.transaction():
            table.send("c", None, {"id": 0, "version": 0}, value=b"\xff", partition=partition)

    def run(self) -> None:
        """Run the job until it does not die."""
        while True:
            self.writes_left = self.dice.randint(0, 12) if self.dice.random() < 0.6 else 10**9
            try:
                lines = self.job.run()
            except Died:
                continue
            finally:
                self.writes_left = 10**9
            assert self.job.exit_code == 0, lines
            return

    def strike(self) -> None:
        self.writes_left -= 1
        if self.writes_left < 0:
            raise Died

    def resume(self) -> None:
        """Leave out what is known to be wrong, of the tables that are set aside."""
        for record in sorted(records(self.job.folder)):
            topic = record.name.removesuffix(".json")
            (table,) = [table for table in self.tables if table.topic == topic]
            name = f"{table.database}.{table.name}"
            rebuild = self.dice.random() < 0.3
            self.job.resume(name, skipped=self.poison[topic], rebuild=rebuild)

    def mirrored(self, source: Source) -> bool:
        expected = sorted((row["id"], row["version"]) for row in source.rows.values())
        path = self.job.folder / "mirror" / source.table.database / source.table.name
        return (self.job.rows(source.table.name) if path.exists() else []) == expected


@pytest.mark.parametrize("seed", range(STORIES))
def test_good_tables_go_on_and_others_come_out_right_when_they_are_resumed(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    story = Story(kafka, job, seed)
    for method in ("write", "put_if_absent", "delete"):
        whole = getattr(LocalStorage, method)

        def mortal(own: LocalStorage, *arguments: Any, whole: Any = whole) -> Any:
            story.strike()
            done = whole(own, *arguments)
            story.strike()
            return done

        monkeypatch.setattr(LocalStorage, method, mortal)
    for _ in range(6):
        story.change()
        if story.dice.random() < 0.2:
            job.delete_checkpoint()
        story.run()
        aside = {path.name for path in records(job.folder)}
        for source in story.sources:
            if f"{source.table.topic}.json" not in aside:
                assert story.mirrored(source), f"seed {seed}"
        if story.dice.random() < 0.4:
            story.resume()
    while records(job.folder):
        story.resume()
        story.run()
    assert all(story.mirrored(source) for source in story.sources), f"seed {seed}"
    assert job.apply().get("set_aside", 0) == 0


def records(folder: Path) -> list[Path]:
    """The files of the tables that are set aside."""
    return list((folder / "mirror" / "_cdc" / "quarantine").glob("*.json"))
