"""A mirror stays small although each batch adds a file, and nobody calls OPTIMIZE or VACUUM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
ROWS = 36


def opened(job: Job, table: str) -> DeltaTable:
    found = DeltaTable.open(LocalStorage(str(job.folder / "mirror")), f"shop/{table}")
    assert found is not None
    return found


def test_files_and_dead_rows_are_bounded_and_the_rows_stay(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    row = {number: {"id": number, "name": f"item {number}"} for number in range(ROWS)}
    for number in range(ROWS):
        table.insert(row[number])
        if number % 3 == 0:
            changed = {"id": number, "name": "changed"}
            table.update(row[number], changed)
            row[number] = changed
        if number % 7 == 0:
            table.delete(row.pop(number))
    lines = job.run(kafka={"max_offsets_per_trigger": 3})
    assert job.exit_code == 0, lines
    batches = [line for line in lines if line["event"] == "batch_applied"]
    assert len(batches) > 12
    assert job.rows("items") == sorted((each["id"], each["name"]) for each in row.values())
    mirror = opened(job, "items")
    # Eight of each size at most, and of each the dead rows that are not worth a new file.
    files = mirror.snapshot.files.values()
    assert len(files) < len(batches) / 2
    assert sum(file.deleted for file in files) < sum(file.rows for file in files)
    operations = [
        path.read_text().partition('"operation":"')[2].partition('"')[0]
        for path in sorted(Path(job.path("items"), "_delta_log").glob("*.json"))
    ]
    assert operations.count("OPTIMIZE") >= 1

    # Files that no version of the last day needs are deleted.
    old = [path for path in Path(job.path("items")).iterdir() if path.suffix == ".parquet"]
    assert len(old) > len(files)
    for path in Path(job.path("items")).rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr("stream_jobs.tables.maintenance.is_checkpoint_due", lambda _: True)
    monkeypatch.setattr("stream_jobs.delta.housekeeping.is_checkpoint_due", lambda _: True)
    monkeypatch.setattr("stream_jobs.delta.housekeeping._CHECKPOINTS", 0.01)
    monkeypatch.setattr("stream_jobs.run.batch.now", lambda: 2**53)
    table.insert({"id": ROWS, "name": "last"})
    job.apply()
    left = {path.name for path in Path(job.path("items")).iterdir() if path.suffix == ".parquet"}
    assert left == set(opened(job, "items").snapshot.files)
    assert len(job.rows("items")) == len(row) + 1
