"""`binlog-connector-mirror CONFIG` over a broker, as its caller sees it."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from connector.foundation.ecs import facts_of
from local_stack import KafkaBroker
from stream_jobs.errors import job_errors
from tests.integration.harness import wait_until
from tests.integration.mirror.test_figures import figures_of, scraped
from tests.integration.operation.test_metrics import free_port
from tests.length import full_only
from tests.stream_jobs.command import Command, write_config
from tests.stream_jobs.topics import Kafka, SourceTable, column

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


@full_only
@pytest.mark.kafka
@pytest.mark.spark
def test_it_waits_for_topics_applies_them_says_that_it_is_idle_and_stops_on_sigterm(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Lines of Spark's own, from the first one on.
    monkeypatch.setenv("STREAM_JOB_SPARK__LOG_LEVEL", "INFO")
    port = free_port()
    trigger = f'interval_seconds = 0.5\n[metrics]\nlisten = "127.0.0.1:{port}"'
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, trigger)
    with Command(config) as command:
        started = command.line("started")
        assert started["topics"] == rf"^{kafka.prefix}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"
        assert command.line("idle")["end_offsets"] == {}

        table = SourceTable(kafka, "items", COLUMNS).create()
        table.insert({"id": 1, "name": "one"})
        report = command.applied("shop.items")
        assert report["upserts"] == 1
        end_offsets = {table.topic: kafka.end_offsets(table.topic)}
        while command.told_offsets != end_offsets:
            command.line("idle")

        assert scraped(port, "/readyz") == "ready\nthe stream is open\n"
        assert scraped(port, "/healthz").startswith("well: the main loop turned ")
        found = figures_of(port, "items")
        assert found["changes_total upsert"] == 1
        for name in ("version", "rows", "dead_rows", "files", "bytes"):
            assert found[name] == report[name], name

        command.stop()
        # Nothing has moved since.
        assert command.line("stopped")["end_offsets"] == {}
        assert command.end() == 0
        # Java itself warns in words.
        texts = [line for line in command.errors().splitlines() if "incubator modules" not in line]
        lines = [facts_of(json.loads(text)) for text in texts]
        assert any(line["logger"].startswith("org.apache.spark.") for line in lines)
        for line in lines:
            assert line["level"] in ("info", "warning")
            assert line["labels.pipeline"] == "command"


@full_only
@pytest.mark.kafka
@pytest.mark.spark
def test_a_table_that_is_set_aside_is_told_and_is_no_failure(kafka: Kafka, tmp_path: Path) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "one"}, headers={"cdc.op": "x"})
    with Command(
        write_config(tmp_path, kafka.bootstrap, kafka.prefix, 'kind = "availableNow"')
    ) as command:
        line = command.line("table_quarantined")
        assert ": the header cdc.op is not c, u, d, r or t; " in line["error"]
        assert line["code"] == "M225"
        command.line("stopped")
        assert command.end() == 0


@pytest.mark.spark
@full_only
def test_a_broker_that_does_not_answer_is_named(tmp_path: Path) -> None:
    config = write_config(tmp_path, "127.0.0.1:1", "shop", 'kind = "availableNow"')
    text = config.read_text(encoding="utf-8")
    config.write_text(
        text.replace("[kafka]", "[kafka]\nrequest_timeout_seconds = 0.5"), encoding="utf-8"
    )
    with Command(config) as command:
        failed = command.line("failed")
        assert failed["code"] == job_errors.KAFKA_FAILED.code
        assert failed["error"] == (
            "Kafka at 127.0.0.1:1: KafkaTimeoutError: KafkaTimeoutError: Unable to bootstrap from "
            "['127.0.0.1:1']; check [kafka] in the configuration of the job, and that the brokers "
            "answer"
        )
        assert command.end() == 1


@pytest.mark.kafka
@pytest.mark.spark
@full_only
def test_it_begins_again_if_a_python_process_of_spark_is_late(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1, "name": "one"})
    python = tmp_path / "python"
    python.write_text(
        f"""#!/bin/sh
case "$*" in *python_streaming_source_runner*)
    mkdir {shlex.quote(str(tmp_path / "late"))} 2> /dev/null && sleep 11;;
esac
exec {shlex.quote(sys.executable)} "$@"
"""
    )
    python.chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, "interval_seconds = 0.5")
    with Command(config) as command:
        assert command.line("interrupted")["code"] == job_errors.WORKER_LATE.code
        assert command.applied("shop.items")["upserts"] == 1
        command.stop()
        assert command.end() == 0


@pytest.mark.kafka
@pytest.mark.spark
@full_only
def test_it_waits_for_a_broker_that_is_started_again(tmp_path: Path) -> None:
    config = write_config(tmp_path, "127.0.0.1:1", "shop", "interval_seconds = 0.5")
    with KafkaBroker(tmp_path / "kafka") as broker:
        text = config.read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:1", broker.endpoint.bootstrap)
        config.write_text(
            text.replace("[kafka]", "[kafka]\nrequest_timeout_seconds = 2"), encoding="utf-8"
        )
        with closing(Kafka(broker.endpoint.bootstrap, "shop")) as kafka:
            table = SourceTable(kafka, "items", COLUMNS).create()
            table.insert({"id": 1, "name": "one"})
        with Command(config) as command:
            assert command.applied("shop.items")["upserts"] == 1
            broker.kill()
            assert command.line("interrupted")["code"] == job_errors.KAFKA_FAILED.code
            broker.start()
            command.line("started")
            with closing(Kafka(broker.endpoint.bootstrap, "shop")) as kafka:
                again = SourceTable(kafka, "more", COLUMNS).create()
                again.insert({"id": 2, "name": "two"})
            assert command.applied("shop.more")["upserts"] == 1
            command.stop()
            assert command.end() == 0


@pytest.mark.spark
@pytest.mark.parametrize("seconds", [0.2, 1.5])
def test_it_stops_at_once_while_spark_starts_and_leaves_no_process(
    seconds: float, tmp_path: Path
) -> None:
    config = write_config(tmp_path, "127.0.0.1:1", "shop", "interval_seconds = 0.5")
    with Command(config) as command:
        command.line("starting")
        time.sleep(seconds)
        command.process.send_signal(signal.SIGTERM)
        # It would have said `failed` next, because there is no broker.
        assert command.line("stopped")["end_offsets"] == {}
        assert command.end() == 0
        group = str(command.process.pid)
        wait_until(lambda: not _processes_of(group), lambda: f"left: {_processes_of(group)}")
    assert not (tmp_path / "mirror").exists()


def _processes_of(group: str) -> list[str]:
    """The command lines of the processes in a group; a zombie has none."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # After the name, which may hold anything: state, parent, group.
            if (folder / "stat").read_text().rpartition(")")[2].split()[2] == group:
                lines.append((folder / "cmdline").read_text())
    return [line for line in lines if line]
