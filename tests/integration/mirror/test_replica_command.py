"""The command follows the cuts of a mirror, says what it does, and ends as it is told."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from stream_jobs.replica.loop import ReplicaLines, ReplicaLoop
from tests.integration.harness import wait_until
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import go_on
from tests.stream_jobs.told import told
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

COLUMNS = (column("id", "int", key=1), column("amount", "int"))


@pytest.fixture
def target(job: Job, mysql_server: Any) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, mysql_server.endpoint)


@pytest.fixture
def orders(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "orders", COLUMNS).create()


def lines_of(text: str) -> list[dict[str, Any]]:
    return [told(line) for line in text.splitlines()]


def command(target: ReplicaTarget, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = target.settings()
    config = target.job.folder / "replica.toml"
    config.write_text(
        f"""
name = "{settings.name}"
[log]
format = "json"
[kafka]
bootstrap_servers = ["{settings.kafka.bootstrap_servers[0]}"]
topic_prefix = "{settings.kafka.topic_prefix}"
[mirror]
path = "{settings.mirror.path}"
[replica]
url = "{target.url}"
database = "{settings.replica.database}"
"""
    )
    secret = {"STREAM_JOB_REPLICA__PASSWORD": target.endpoint.password}
    return subprocess.run(
        [sys.executable, "-m", "stream_jobs", "replica", str(config), *arguments],
        env=os.environ | secret,
        capture_output=True,
        text=True,
        check=False,
    )


def test_once_applies_the_newest_cut_and_ends(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    done = command(target, "--once")
    path = job.folder / "mirror"
    assert (done.returncode, done.stderr) == (1, "")
    *_, failed = lines_of(done.stdout)
    assert failed == {
        "event": "failed",
        "code": "M807",
        "error": (
            f"the mirror at {path} has no cut yet; `binlog-connector-mirror cuts CONFIG` shows the "
            "cuts that there are; a new mirror has its first cut when it has come to the end of "
            "the topics"
        ),
    }
    orders.insert({"id": 1, "amount": 1}, {"id": 2, "amount": 2})
    go_on(kafka)
    job.apply()
    done = command(target, "--once")
    assert (done.returncode, done.stderr) == (0, "")
    started, applied, stopped = lines_of(done.stdout)
    assert started == {
        "event": "started",
        "name": target.prefix,
        "mirror": str(path),
        "target": f"127.0.0.1:{target.endpoint.port}",
    }
    assert applied.pop("seconds") > 0
    assert applied.pop("lag_seconds") > 0
    assert applied == {
        "event": "cut_applied",
        "cut": 1,
        "tables": 1,
        "loaded": ["shop.orders"],
        "deleted": 0,
        "inserted": 2,
        "source_time_ms": 1_700_000_000_000,
        "left_out": {},
    }
    assert stopped == {"event": "stopped", "cut": 1}


def test_it_follows_cuts_waits_for_the_target_and_ends_when_it_is_replaced(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    out, stopped = io.StringIO(), threading.Event()
    loop = ReplicaLoop(target.settings(), ReplicaLines(out, "json"), stopped)
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(loop.run(once=False)), daemon=True)
    thread.start()
    orders.insert({"id": 1, "amount": 1})
    go_on(kafka)
    job.apply()
    wait_until(lambda: '"idle", "cdc.cut": 1,' in out.getvalue(), out.getvalue)
    assert figure(loop, target, "cut") == 1
    assert figure(loop, target, "cuts_total") == 1
    assert figure(loop, target, "rows_total", op="insert") == 1
    assert figure(loop, target, "up") == 1

    # Only one test at a time uses a server.
    sessions = (
        "SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() "
        "AND command = 'Sleep'"
    )
    target.sql(*(f"KILL {number}" for (number,) in target.sql(sessions)))
    orders.insert({"id": 2, "amount": 2})
    go_on(kafka)
    job.apply()
    wait_until(lambda: '"idle", "cdc.cut": 2,' in out.getvalue(), out.getvalue)

    newer = target.new()
    newer.apply_newest()
    newer.close()
    orders.insert({"id": 3, "amount": 3})
    go_on(kafka)
    job.apply()
    thread.join()
    assert codes == [3]
    events = [line["event"] for line in lines_of(out.getvalue()) if line["event"] != "idle"]
    # The session was idle, so the first statement of the next cut has met its end.
    assert events == ["started", "cut_applied", "waiting", "cut_applied", "failed"]
    assert lines_of(out.getvalue())[-1]["code"] == "M905"


def test_it_stops_on_request(target: ReplicaTarget) -> None:
    out, stopped = io.StringIO(), threading.Event()
    stopped.set()
    assert ReplicaLoop(target.settings(), ReplicaLines(out, "json"), stopped).run(once=False) == 0
    assert lines_of(out.getvalue())[-1] == {"event": "stopped"}


def figure(loop: ReplicaLoop, target: ReplicaTarget, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(loop.metrics)
    own = {"pipeline": target.prefix, **labels}
    return registry.get_sample_value(f"binlog_connector_replica_{name}", own)
