"""`python -m stream_jobs CONFIG` as its caller sees it: status lines and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

import pytest

from connector.errors import mirror
from local_stack import java_runtime, spark_jars
from tests.integration.mirror.conftest import SPARK_SETTINGS
from tests.stream_jobs.source import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stream_jobs.source import Kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


class Command:
    """A running `python -m stream_jobs`."""

    def __init__(self, config: Path, java_home: Path | None = None) -> None:
        self._log = config.parent / "stderr.log"
        self._errors = self._log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stream_jobs", str(config)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | {"JAVA_HOME": str(java_home or java_runtime().parents[1])},
            text=True,
        )

    def line(self, event: str) -> dict[str, Any]:
        """The next line that tells of `event`; every line before it is whole JSON, too."""
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line: dict[str, Any] = json.loads(text)
            if line["event"] == event:
                return line
        pytest.fail(f"the job ended without a line {event}")

    def applied(self, table: str) -> dict[str, Any]:
        """What the next batch that has changes of `table` says of it."""
        while True:
            # A batch may hold nothing but the end of a transaction.
            tables: dict[str, dict[str, Any]] = self.line("batch_applied")["tables"]
            if table in tables:
                return tables[table]

    def end(self) -> int:
        return self.process.wait()

    def errors(self) -> str:
        """Standard error so far."""
        return self._log.read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()


def write_config(folder: Path, bootstrap: str, prefix: str, trigger: str) -> Path:
    config = folder / "job.toml"
    jars = json.dumps([str(jar) for jar in spark_jars()])
    settings = "\n".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in SPARK_SETTINGS.items())
    config.write_text(
        f"""
name = "command"
[kafka]
bootstrap_servers = ["{bootstrap}"]
topic_prefix = "{prefix}"
[mirror]
path = "{folder}/mirror"
checkpoint = "{folder}/checkpoint"
[trigger]
{trigger}
[spark]
jars = {jars}
[spark.settings]
{settings}
""",
        encoding="utf-8",
    )
    return config


@pytest.mark.kafka
@pytest.mark.spark
def test_it_waits_for_topics_applies_them_says_that_it_is_idle_and_stops_on_sigterm(
    kafka: Kafka, tmp_path: Path
) -> None:
    config = write_config(tmp_path, kafka.bootstrap, kafka.prefix, "interval_seconds = 0.5")
    with Command(config) as command:
        started = command.line("started")
        assert started["topics"] == rf"^{kafka.prefix}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"
        assert command.line("idle")["end_offsets"] == {}

        table = SourceTable(kafka, "items", COLUMNS).create()
        table.insert({"id": 1, "name": "one"})
        assert command.applied("shop.items")["upserts"] == 1
        end_offsets = {table.topic: kafka.end_offsets(table.topic)}
        while (idle := command.line("idle"))["end_offsets"] != end_offsets:
            assert idle["event"] == "idle"

        command.process.send_signal(signal.SIGTERM)
        assert command.line("stopped")["end_offsets"] == end_offsets
        assert command.end() == 0


@pytest.mark.kafka
@pytest.mark.spark
def test_a_failure_is_the_last_line_and_the_exit_code_is_1(kafka: Kafka, tmp_path: Path) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "one"}, headers={"cdc.op": "x"})
    with Command(
        write_config(tmp_path, kafka.bootstrap, kafka.prefix, 'kind = "availableNow"')
    ) as command:
        failed = command.line("failed")
        assert ": the header cdc.op is not c, u, d, r or t; " in failed["error"]
        assert failed["code"] == "M206"
        assert command.end() == 1
        assert command.errors().endswith(f"error: [M206] {failed['error']}\n")


@pytest.mark.spark
def test_a_broker_that_does_not_answer_is_named(tmp_path: Path) -> None:
    config = write_config(tmp_path, "127.0.0.1:1", "shop", 'kind = "availableNow"')
    options = '[kafka.options]\n"request.timeout.ms" = "500"\n"default.api.timeout.ms" = "600"\n'
    config.write_text(config.read_text(encoding="utf-8") + options, encoding="utf-8")
    with Command(config) as command:
        failed = command.line("failed")
        assert failed["code"] == mirror.KAFKA_FAILED.code
        assert failed["error"] == (
            "Kafka at 127.0.0.1:1: TimeoutException: Timed out waiting for a node assignment. "
            "Call: listTopics; check kafka.bootstrap_servers and kafka.options, and that the "
            "brokers answer"
        )
        assert command.end() == 1


def test_a_java_that_does_not_run_is_told(tmp_path: Path) -> None:
    config = write_config(tmp_path, "broker:9092", "shop", 'kind = "availableNow"')
    with Command(config, java_home=tmp_path) as command:
        failed = command.line("failed")
        assert failed["code"] == mirror.SPARK_NOT_STARTED.code
        assert failed["error"].startswith("Spark did not start: ")
        assert command.end() == 1


def test_a_wrong_configuration_is_told_before_spark_starts_and_the_exit_code_is_2(
    tmp_path: Path,
) -> None:
    config = write_config(tmp_path, "broker:9092", "shop", 'kind = "sometimes"')
    with Command(config) as command:
        failed = command.line("failed")
        assert (failed["code"], failed["error"]) == (
            "C106",
            (
                f"{config}: trigger.kind: Input should be 'processingTime' or 'availableNow'; "
                "`binlog-connector config stream_job.toml` explains the key"
            ),
        )
        assert command.end() == 2
        assert command.errors() == f"error: [C106] {failed['error']}\n"
