"""`status` tells of each table, without Spark and while the job is down."""

from __future__ import annotations

import io
import json
import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from kafka.cluster import ClusterMetadata
from kafka.structs import TopicPartition

from connector.foundation.table_view import TableView
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, job_errors, record_errors
from stream_jobs.pipeline_folder import Owner
from stream_jobs.run.job_state import Ownership
from stream_jobs.run.metrics_server import readyz
from stream_jobs.run.status import show_status
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def status(job: Job, **sections: Any) -> tuple[int, dict[str, dict[str, Any]], str]:
    """The exit code, the tables by name, and what people see."""
    out, shown = io.StringIO(), io.StringIO()
    config = job.folder / "job.toml"
    settings = job.settings(**sections)
    code = show_status(settings, config, out, as_json=True)
    assert show_status(settings, config, shown, as_json=False) == code
    tables = {table["table"]: table for table in json.loads(out.getvalue())["tables"]}
    return code, tables, shown.getvalue()


def test_it_tells_what_each_table_has_and_what_waits(kafka: Kafka, job: Job) -> None:
    assert status(job) == (0, {}, "no table has arrived in Kafka yet\n")
    items = SourceTable(kafka, "items", COLUMNS).create()
    SourceTable(kafka, "log", COLUMNS[1:]).create().insert({"name": "x"})
    SourceTable(kafka, "empty", COLUMNS).create()
    items.insert({"id": 1, "name": "one"}, {"id": 2, "name": "two"})
    job.apply()
    items.delete({"id": 1, "name": "one"})
    job.apply()
    code, tables, shown = status(job)
    assert code == 0
    assert list(tables) == ["shop.empty", "shop.items", "shop.log"]
    found = tables["shop.items"]
    size = sum(file.stat().st_size for file in job.folder.glob("mirror/shop/items/*.parquet"))
    assert 0 < found["bytes"] <= size
    versions = len(list(job.folder.glob("mirror/shop/items/_delta_log/*.json")))
    assert {name: found[name] for name in ("state", "mode", "version", "waiting", "lost")} == {
        "state": "current",
        "mode": "current",
        "version": versions - 1,
        "waiting": 0,
        "lost": False,
    }
    assert (found["rows"], found["last_change"]) == (1, "2023-11-14T22:13:20+00:00")
    assert found["last_commit"] > "2026"
    assert (tables["shop.log"]["state"], tables["shop.log"]["waiting"]) == ("no key", None)
    assert (tables["shop.empty"]["state"], tables["shop.empty"]["waiting"]) == ("no mirror", 0)
    assert shown.startswith(f"job test runs as process {os.getpid()} on ")
    assert "shop.items  current" in shown
    assert tables["shop.items"]["offsets"] == kafka.end_offsets(items.topic)
    out = io.StringIO()
    show_status(job.settings(), job.folder, out, as_json=True, view=TableView("*.[a-i]*"))
    assert [each["table"] for each in json.loads(out.getvalue())["tables"]] == [
        "shop.empty", "shop.items",
    ]  # fmt: skip
    items.insert({"id": 3, "name": "three"})
    began = datetime.now(UTC) - timedelta(seconds=5)
    found = status(job)[1]["shop.items"]
    assert (found["state"], found["waiting"]) == ("records wait", 2)
    assert began < datetime.fromisoformat(found["waiting_since"]) < datetime.now(UTC)


def test_markers_and_records_that_were_rolled_back_do_not_wait(kafka: Kafka, job: Job) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    items.insert({"id": 1, "name": "one"})
    job.apply()
    with kafka.transaction(commit=False):
        items.send("c", None, {"id": 2, "name": "two"})
        items.send("c", None, {"id": 3, "name": "three"})
    kafka.settle()
    found = status(job)[1]["shop.items"]
    assert (found["state"], found["waiting"], found["waiting_since"]) == ("current", 0, None)


def test_a_table_whose_records_wait_for_a_minute_is_late(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    items.insert({"id": 1, "name": "one"})
    kafka.settle()
    assert status(job)[0] == 0
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert status(job)[0] == 1


def test_the_job_is_told_of_while_kafka_is_away(job: Job) -> None:
    settings = job.settings(
        kafka={"bootstrap_servers": ["127.0.0.1:9"], "request_timeout_seconds": 1.0}
    )
    path = settings.mirror.path
    here = Owner.here(settings.name, settings.kafka.topic_prefix)
    Ownership(storage_of(path), path, here).claim()
    shown = io.StringIO()
    with pytest.raises(MirrorError) as caught:
        show_status(settings, job.folder / "job.toml", shown, as_json=False)
    assert caught.value.message.code is job_errors.KAFKA_FAILED
    assert shown.getvalue().startswith(f"job test runs as process {os.getpid()} on ")


def test_topics_are_asked_for_again_while_a_cluster_knows_no_broker(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    SourceTable(kafka, "items", COLUMNS).create().insert({"id": 1, "name": "one"})
    update, without_brokers = ClusterMetadata.update_metadata, iter(range(3))

    def answer(cluster: ClusterMetadata, metadata: Any) -> None:
        # As a broker that was started a moment ago.
        if next(without_brokers, None) is not None:
            metadata.brokers = []
        update(cluster, metadata)

    monkeypatch.setattr(ClusterMetadata, "update_metadata", answer)
    assert list(status(job)[1]) == ["shop.items"]


@pytest.mark.spark
def test_a_job_that_failed_leaves_the_reason_in_the_mirror(
    kafka: Kafka, spark_job: SparkJob
) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    items.insert({"id": 1, "name": "one"})
    in_the_way = spark_job.folder / "mirror" / "shop"
    in_the_way.parent.mkdir()
    in_the_way.write_bytes(b"")
    failed = spark_job.run()[-1]
    assert (spark_job.exit_code, failed["event"]) == (1, "failed")
    code, _, shown = status(spark_job)
    reason = f"[{failed['code']}] {failed['error']}"
    assert code == 4
    assert shown.splitlines()[0].startswith("job test failed at 20")
    assert shown.splitlines()[1] == reason
    ready = readyz(spark_job.figures)[1]
    assert ready.endswith(reason)

    # The state cannot be written either: then it is that of the run before.
    folder = spark_job.folder / "mirror" / "_cdc" / "run"
    folder.rename(folder.with_name("away"))
    folder.write_bytes(b"")
    lines = spark_job.run()
    assert [line["event"] for line in lines][-2:] == ["failed", "not_kept"]
    assert lines[-1]["code"] == job_errors.END_NOT_KEPT.code
    folder.unlink()
    folder.with_name("away").rename(folder)

    in_the_way.unlink()
    spark_job.run()
    code, _, shown = status(spark_job)
    assert code == 0, "a job that applies what there is may end"
    assert shown.splitlines()[0].startswith("job test was stopped at 20")
    assert shown.splitlines()[1].endswith(f": {reason}")


def test_a_table_that_is_set_aside_has_a_reason_and_the_exit_code_is_3(
    kafka: Kafka, job: Job
) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    kafka.keep_for(items.topic, timedelta(days=7))
    with kafka.transaction():
        items.send("c", None, {"id": 1}, value=b"?", partition=0)
    reason = job.reason()
    code, tables, shown = status(job)
    found = tables["shop.items"]
    assert code == 3
    assert (found["state"], found["code"], found["reason"]) == (
        "set aside",
        record_errors.NOT_JSON.code,
        reason,
    )
    assert (found["partition"], found["offset"], found["waiting"]) == (0, 0, 2)
    kept = datetime.fromisoformat(found["kept_until"]) - datetime.fromisoformat(found["since"])
    assert abs(kept - timedelta(days=7)) < timedelta(minutes=10)
    assert shown.endswith(
        f"shop.items: set aside since {found['since']}, [M225] {reason}; Kafka keeps "
        f"what it needs until {found['kept_until']}\n"
        f"`binlog-connector-mirror resume {job.folder / 'job.toml'} TABLE` tries a table again\n"
    )
    job.resume("shop.items", skipped=[(0, 0)])
    assert (status(job)[0], status(job)[1]["shop.items"]["state"]) == (3, "to be resumed")
    job.run()
    assert status(job)[0] == 0


def test_it_tells_when_kafka_has_deleted_what_a_mirror_lacks(kafka: Kafka, job: Job) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    items.insert({"id": 1, "name": "one"})
    job.apply()
    items.insert(*({"id": number, "name": "x"} for number in range(2, 9)))
    ends = kafka.end_offsets(items.topic)
    kafka._admin.delete_records({TopicPartition(items.topic, int(n)): e for n, e in ends.items()})
    code, tables, shown = status(job)
    assert (code, tables["shop.items"]["lost"]) == (3, True)
    assert "Kafka has deleted records that it needs: let the connector copy the table" in shown


def test_a_mirror_that_cannot_be_read_is_told_before_the_job_meets_it(
    kafka: Kafka, job: Job
) -> None:
    items = SourceTable(kafka, "items", COLUMNS).create()
    items.insert({"id": 1, "name": "one"})
    job.apply()
    for file in job.folder.glob("mirror/shop/items/_delta_log/*00.json"):
        file.write_bytes(b"{")
    code, tables, _ = status(job)
    assert (code, tables["shop.items"]["state"]) == (3, "unreadable")


def test_what_was_chosen_for_a_table_is_followed(kafka: Kafka, job: Job) -> None:
    for name in ("items", "audit"):
        SourceTable(kafka, name, COLUMNS).create().insert({"id": 1, "name": "one"})
    chosen = [
        {"match": ["shop.audit"], "skip": True},
        {"match": ["shop.*"], "name": "lake.of_{table}"},
    ]
    job.apply(tables=chosen)
    code, tables, _ = status(job, tables=chosen)
    states = {name: (each["state"], each["rows"]) for name, each in tables.items()}
    assert (code, states) == (0, {"shop.audit": ("skipped", None), "shop.items": ("current", 1)})
