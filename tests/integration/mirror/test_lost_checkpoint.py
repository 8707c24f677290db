"""The checkpoint of Spark may be deleted at any time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.length import full_only
from tests.stream_jobs.command import Command, write_config
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = (column("id", "int", key=1),)


@full_only
def test_a_checkpoint_that_is_deleted_while_the_job_runs_does_not_stop_the_next_start(
    kafka: Kafka, tmp_path: Path
) -> None:
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, "interval_seconds = 0.2")
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1})
    with Command(config) as command:
        command.applied("shop.items")
        table.insert({"id": 2})
        command.applied("shop.items")
        shutil.rmtree(tmp_path / "checkpoint")
        table.insert({"id": 3})
        command.applied("shop.items")
        command.stop()
        assert command.end() == 0
    table.insert({"id": 4})
    with Command(config) as command:
        assert command.applied("shop.items")["upserts"] == 1
        command.stop()
        assert command.end() == 0
