"""`python -m stream_jobs CONFIG` over a broker, as its caller sees it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from connector.errors import mirror
from tests.stream_jobs.command import Command, write_config
from tests.stream_jobs.source import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stream_jobs.source import Kafka


COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


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
    text = config.read_text(encoding="utf-8")
    config.write_text(
        text.replace("[kafka]", "[kafka]\nrequest_timeout_seconds = 0.5"), encoding="utf-8"
    )
    with Command(config) as command:
        failed = command.line("failed")
        assert failed["code"] == mirror.KAFKA_FAILED.code
        assert failed["error"] == (
            "Kafka at 127.0.0.1:1: KafkaTimeoutError: KafkaTimeoutError: Unable to bootstrap from "
            "['127.0.0.1:1']; check [kafka] in the configuration of the job, and that the brokers "
            "answer"
        )
        assert command.end() == 1
