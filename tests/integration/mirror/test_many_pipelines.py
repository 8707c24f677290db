"""Several pipelines in one process: each has its own mirror, and none stops the others."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.lake.demo.stack import read_mirror
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import job_errors
from stream_jobs.pipeline_folder import Owner
from stream_jobs.run.job_state import Ownership
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.process import Pipeline, SharedOutput, run_pipelines
from stream_jobs.run.status_lines import StatusLines
from tests.integration.mirror.conftest import SparkJob
from tests.stream_jobs.told import told
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from local_stack import KafkaBroker

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
SHOP, CRM, HR = "shop", "crm", "hr"


class Fleet:
    """Pipelines over topics of their own, run in one process."""

    def __init__(self, session: SparkSession, broker: KafkaBroker, folder: Path) -> None:
        self.session = session
        self.jobs: dict[str, SparkJob] = {}
        # By pipeline, what its settings say besides.
        self.sections: dict[str, dict[str, Any]] = {}
        self._broker = broker
        self._folder = folder
        self.exit_code = -1

    def add(self, name: str) -> SparkJob:
        """Add a pipeline with a table of two rows."""
        topics = Kafka(self._broker.endpoint.bootstrap, f"{name}{id(self):x}")
        job = self.jobs[name] = SparkJob(self.session, topics, self._folder / name)
        table = SourceTable(topics, "items", COLUMNS).create()
        for number in (1, 2):
            table.insert({"id": number, "name": f"{name} {number}"})
        return job

    def run(self, again_seconds: float = 60.0) -> dict[str, list[dict[str, Any]]]:
        """Apply what is there now, and return the status lines by pipeline."""
        out = io.StringIO()
        outputs = SharedOutput(out)
        pipelines = []
        for name, job in self.jobs.items():
            job.kafka.settle()
            sections = self.sections.get(name, {})
            settings = job.settings(**sections).model_copy(update={"name": name})
            lines = StatusLines(outputs.of(""), name)
            pipelines.append(Pipeline(settings, lines, JobMetrics(name)))
        self.exit_code = run_pipelines(self.session, pipelines, again_seconds)
        lines_of: dict[str, list[dict[str, Any]]] = {name: [] for name in self.jobs}
        for text in out.getvalue().splitlines():
            lines_of[json.loads(text)["labels.pipeline"]].append(told(text))
        return lines_of


@pytest.fixture
def fleet(spark: SparkSession, kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[Fleet]:
    """No pipeline yet."""
    pipelines = Fleet(spark, kafka_broker, tmp_path)
    yield pipelines
    for job in pipelines.jobs.values():
        job.kafka.close()


@pytest.mark.kafka
@pytest.mark.spark
def test_pipelines_stay_apart_one_that_is_refused_stops_no_other_and_a_new_one_joins(
    fleet: Fleet,
) -> None:
    for name in (SHOP, CRM):
        fleet.add(name)
    other = Owner("other", "other", "host", 1, "2026-01-01T00:00:00+00:00", "epoch")
    mirror = fleet.jobs[CRM].folder / "mirror"
    Ownership(LocalStorage(str(mirror)), str(mirror), other).claim()
    lines = fleet.run()
    assert fleet.exit_code == 3
    assert lines[CRM][-1]["code"] == job_errors.OTHER_OWNER.code
    assert not (mirror / "shop").exists()
    assert lines[SHOP][-1]["event"] == "stopped"
    assert fleet.jobs[SHOP].rows("items") == [(1, "shop 1"), (2, "shop 2")]

    for file in (mirror / "_cdc" / "owner").iterdir():
        file.unlink()
    fleet.add(HR)
    lines = fleet.run()
    assert fleet.exit_code == 0
    for name, job in fleet.jobs.items():
        assert job.rows("items") == [(1, f"{name} 1"), (2, f"{name} 2")]
        assert {line["event"] for line in lines[name]} >= {"started", "stopped"}
    applied = [sum(one["event"] == "batch_applied" for one in lines[name]) for name in lines]
    assert (applied[0], all(applied[1:])) == (0, True), lines


@pytest.mark.kafka
@pytest.mark.spark
def test_pipelines_of_one_process_share_a_mirror(fleet: Fleet, tmp_path: Path) -> None:
    path = tmp_path / "shared"
    for name in (SHOP, CRM):
        fleet.add(name)
        shard = {"column": "company", "value": name}
        table = {"match": ["shop.*"], "name": "all.{table}", "shard": shard}
        fleet.sections[name] = {"mirror": {"path": str(path), "shared": True}, "tables": [table]}
    for _ in range(2):
        lines = fleet.run()
        assert fleet.exit_code == 0, lines
        rows = read_mirror(path / "all" / "items").select(["company", "id", "name"]).to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == [
            (name, number, f"{name} {number}") for name in (CRM, SHOP) for number in (1, 2)
        ]
