"""`binlog-connector-mirror CONFIG` as its caller sees it: status lines and exit codes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from stream_jobs.__main__ import main
from stream_jobs.errors import job_errors
from tests.stream_jobs.command import Command, write_config

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_java_that_does_not_run_is_told(tmp_path: Path) -> None:
    config = write_config(tmp_path, "broker:9092", "shop", 'kind = "availableNow"')
    with Command(config, java_home=tmp_path) as command:
        failed = command.line("failed")
        assert failed["code"] == job_errors.SPARK_NOT_STARTED.code
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
        # Each line of the process is JSON.
        assert command.errors() == ""


def test_looking_after_the_tables_needs_neither_java_nor_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, "127.0.0.1:1", "shop", 'kind = "availableNow"')
    monkeypatch.setenv("STREAM_JOB_KAFKA__REQUEST_TIMEOUT_SECONDS", "0.2")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    def ended(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["stream_jobs", *arguments])
        code = main()
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    code, _, errors = ended("status", str(config))
    assert code == 1
    assert errors.startswith("error: [M103] Kafka at 127.0.0.1:1: ")
    assert ended("resume", str(config), "--all") == (0, "no table is set aside\n", "")
    said = f"is not set aside; `binlog-connector-mirror status {config}` shows the tables that are"
    assert ended("resume", str(config), "shop.orders") == (
        2,
        "",
        f"error: [M604] shop.orders {said}\n",
    )
    code, _, errors = ended("status", str(tmp_path / "none.toml"))
    assert code == 2
    assert errors.startswith("error: [C")
