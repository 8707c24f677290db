"""A stop that is requested while a batch is applied comes into force behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.tables.mirror_metadata import Progress
    from tests.integration.mirror.conftest import SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def test_the_running_batch_is_applied_and_committed_and_no_other_begins(
    kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    commit = MirrorTable.commit_rows

    def stop_in_the_middle(
        mirror: MirrorTable, results: Sequence[PartResult], progress: Progress
    ) -> None:
        assert spark_job.running is not None
        spark_job.running.stop()
        table.insert({"id": 2, "name": "two"})
        commit(mirror, results, progress)

    with monkeypatch.context() as patched:
        patched.setattr(MirrorTable, "commit_rows", stop_in_the_middle)
        lines = spark_job.run(trigger={"kind": "processingTime", "interval_seconds": 3600})
    assert spark_job.exit_code == 0
    # On a slow machine, it also says what takes long.
    lines = [line for line in lines if line["event"] != "working"]
    said = [line["event"] for line in lines]
    assert said == ["started", "no_cuts", "batch_applied", "stopped"]
    assert spark_job.rows("items") == [(1, "one")]
    assert lines[2]["end_offsets"].keys() == {table.topic}
    assert lines[-1]["end_offsets"] == {}

    line = spark_job.apply()
    assert line["batch_id"] == 1
    assert spark_job.rows("items") == [(1, "one"), (2, "two")]
