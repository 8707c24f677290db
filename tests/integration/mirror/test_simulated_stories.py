"""Any history, cut into batches anywhere and replayed, leaves the rows that the source has."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.stream_jobs.topics import JsonRow, SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("version", "int"))
KEYS = 12
CHANGES = 80


class Source:
    """A table with few keys, so that every key is inserted, moved and deleted many times."""

    def __init__(self, table: SourceTable, dice: random.Random) -> None:
        self.table = table
        self.rows: dict[int, JsonRow] = {}
        self._dice = dice
        self._version = 0

    def change(self) -> None:
        self._version += 1
        key, other = self._dice.sample(range(KEYS), 2)
        row, new = self.rows.get(key), {"id": key, "version": self._version}
        if self._dice.random() < 0.02:
            self.table.truncate(partition=self._dice.randrange(2))
            self.rows.clear()
        elif row is None:
            self.table.insert(new)
            self.rows[key] = new
        elif self._dice.random() < 0.4:
            self.table.delete(row)
            del self.rows[key]
        elif self._dice.random() < 0.4 and other not in self.rows:
            moved = {"id": other, "version": self._version}
            self.table.update(row, moved)
            del self.rows[key]
            self.rows[other] = moved
        else:
            self.table.update(row, new)
            self.rows[key] = new


def test_the_mirror_has_the_rows_of_the_source_after_every_run(kafka: Kafka, job: Job) -> None:
    dice = random.Random(20)
    source = Source(SourceTable(kafka, "items", COLUMNS).create(), dice)
    for checkpoint_is_lost in (False, True, False):
        for _ in range(CHANGES):
            source.change()
        if checkpoint_is_lost:
            job.delete_checkpoint()
        # A batch ends anywhere: between the changes of one key, and of one statement.
        job.run(kafka={"max_offsets_per_trigger": dice.randint(60, 120)})
        assert job.exit_code == 0
        expected = sorted((row["id"], row["version"]) for row in source.rows.values())
        assert job.rows("items") == expected
