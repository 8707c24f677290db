"""The figures over HTTP are those of the Delta log; the lag is true while nothing is applied."""

from __future__ import annotations

import re
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.metrics import IdleTables, JobMetrics, TopicMonitor
from stream_jobs.run.metrics_server import metrics_server
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.table_options import TableOptionsResolver
from tests.integration.mirror.conftest import run_in_process
from tests.integration.operation.test_metrics import free_port
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
PREFIX = "binlog_connector_mirror_"
SAMPLE = re.compile(rf"{PREFIX}(\w+)\{{(.*)\}} (\S+)")
FILES = ("*.parquet", "*.bin", "_delta_log/*")


def scraped(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        text: str = answer.read().decode()
    return text


def figures_of(port: int, table: str) -> dict[str, float]:
    """Each figure of a table by its name, and by its name and kind."""
    found = {}
    for name, labels, value in SAMPLE.findall(scraped(port)):
        if f'table="{table}"' in labels:
            kind = re.search(r'kind="(\w+)"', labels)
            found[f"{name} {kind[1]}" if kind else name] = float(value)
    return found


def look(job: Job, client: KafkaClient, **sections: Any) -> None:
    """Ask Kafka once, as the job does every few seconds."""
    services = batch_applier(job.settings(**sections), client, run_in_process, lambda: 1).services
    known = IdleTables(services, job.figures)
    skipped = TableOptionsResolver.of_settings(job.settings(**sections)).skipped
    TopicMonitor(client, job.kafka.prefix, job.figures, known, skipped).look()


def in_the_log(job: Job, table: str) -> dict[str, float]:
    """The same figures, as another program reads them from the table."""
    delta = DeltaTable(job.path(table))
    adds = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    dead = [each.get("deletion_vector.cardinality") or 0 for each in adds]
    folder = Path(job.path(table))
    return {
        "version": delta.version(),
        "files": len(adds),
        "bytes": sum(each["size_bytes"] for each in adds),
        "dead_rows": sum(dead),
        "rows": sum(each["num_records"] for each in adds) - sum(dead),
        "commit_seconds_count": delta.version() + 1,
        "written_bytes_total": sum(
            path.stat().st_size for pattern in FILES for path in folder.glob(pattern)
        ),
    }


def test_figures_are_those_of_the_delta_log(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    other = SourceTable(kafka, "others", COLUMNS).create()
    port = free_port()
    with metrics_server(job.figures, f"127.0.0.1:{port}"):
        other.insert({"id": 1, "name": "one"})
        line = {}
        for number in range(12):
            table.insert({"id": number, "name": f"item {number}"})
            table.update(
                {"id": number, "name": f"item {number}"}, {"id": number, "name": "changed"}
            )
            if number % 3 == 0:
                table.delete({"id": number, "name": "changed"})
            line = job.apply()["tables"]["shop.items"]
        found = figures_of(port, "items")
        wanted = in_the_log(job, "items")
        assert {name: found[name] for name in wanted} == wanted
        assert wanted["rows"] == 8
        for name in ("version", "rows", "dead_rows", "files", "bytes"):
            assert line[name] == wanted[name], name
        # The upkeep has compacted small files meanwhile.
        assert found["commit_seconds_count"] > 13
        assert found["changes_total upsert"] == 8
        assert found["changes_total delete"] == 4
        assert found["changes_total superseded"] == 12 + 4
        assert found["changes_total skipped"] == 0
        assert 0 < found["changed_bytes_total"] < found["written_bytes_total"]
        assert time.time() - found["last_commit_timestamp_seconds"] < 600
        assert figures_of(port, "others")["rows"] == 1


def test_the_lag_rises_while_nothing_is_applied_and_is_0_when_all_is(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    client = KafkaClient(job.settings().kafka.facts())
    port = free_port()
    try:
        with metrics_server(job.figures, f"127.0.0.1:{port}"):
            job.apply()
            look(job, client)
            assert figures_of(port, "items")["lag_seconds"] == 0
            table.insert({"id": 2, "name": "two"})
            look(job, client)
            first = figures_of(port, "items")["lag_seconds"]
            assert first > 0
            assert figures_of(port, "items")["lag_seconds"] > first
            job.apply()
            assert figures_of(port, "items")["lag_seconds"] == 0
    finally:
        client.close()


def test_a_table_that_is_set_aside_is_counted_and_lags_until_it_goes_on(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    other = SourceTable(kafka, "others", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    job.apply()
    with kafka.transaction():
        table.send("c", None, {"id": 2, "name": "two"}, headers={"cdc.op": "x"})
    other.insert({"id": 1, "name": "one"})
    port = free_port()
    client = KafkaClient(job.settings().kafka.facts())
    try:
        with metrics_server(job.figures, f"127.0.0.1:{port}"):
            job.figures.opened()
            refused = job.quarantined()
            look(job, client)
            assert f'{PREFIX}tables_set_aside{{pipeline="test"}} 1.0' in scraped(port)
            assert figures_of(port, "items")["lag_seconds"] > 0
            assert figures_of(port, "others")["lag_seconds"] == 0
            assert scraped(port, "/readyz").endswith("tables that are set aside: 1\n")
            job.resume("shop.items", skipped=[(refused["partition"], refused["offset"])])
            table.insert({"id": 3, "name": "three"})
            job.run()
            assert f'{PREFIX}tables_set_aside{{pipeline="test"}} 0.0' in scraped(port)
            look(job, client)
            assert figures_of(port, "items")["lag_seconds"] == 0
            assert figures_of(port, "items")["rows"] == 2
    finally:
        client.close()


def test_a_table_without_a_batch_since_the_start_has_figures_too(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"}, {"id": 2, "name": "two"})
    keyless = SourceTable(kafka, "log", (column("name", "varchar", length=80),)).create()
    keyless.insert({"name": "one"})
    SourceTable(kafka, "hidden", COLUMNS).create().insert({"id": 1, "name": "one"})
    chosen: dict[str, Any] = {"tables": [{"match": ["shop.hidden"], "skip": True}]}
    job.apply(**chosen)
    offsets = job.figures.offsets
    # Another process goes on.
    job.figures = JobMetrics("test")
    job.run(**chosen)
    job.figures.note_offsets(offsets)
    client = KafkaClient(job.settings().kafka.facts())
    port = free_port()
    try:
        with metrics_server(job.figures, f"127.0.0.1:{port}"):
            look(job, client, **chosen)
            found = figures_of(port, "items")
            assert figures_of(port, "hidden") == {}
    finally:
        client.close()
    wanted = in_the_log(job, "items")
    for name in ("version", "rows", "dead_rows", "files", "bytes"):
        assert found[name] == wanted[name], name
    assert (found["lag_seconds"], found["changes_total upsert"]) == (0, 0)
    assert job.figures.without_mirror == {keyless.topic}
