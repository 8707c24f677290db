"""`python -m stream_jobs CONFIG` as its caller sees it: status lines and exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import mirror
from tests.stream_jobs.command import Command, write_config

if TYPE_CHECKING:
    from pathlib import Path


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
