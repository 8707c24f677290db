"""The names of the facts of a log line, in ECS."""

from __future__ import annotations

import json
import os
import re
import socket
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from connector.cli.configuration import configure_logging
from connector.foundation.ecs import NAMES
from connector.foundation.errors import SourceUnavailable, fields
from connector.foundation.settings.sections import LogSettings
from connector.stream.run import run_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
ERROR = SourceUnavailable(run_errors.QUIET, address="db1:3306", seconds=4.0)


@pytest.fixture(autouse=True)
def _default_log() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def logged(capsys: pytest.CaptureFixture[str], pipeline: str | None = "shop") -> dict[str, Any]:
    """Return the line of a warning."""
    configure_logging(LogSettings(format="json"), command="run", pipeline=pipeline)
    structlog.get_logger().warning(
        "interrupted", **fields(ERROR), source="db1:3306", table="größe", gtid=None
    )
    line: dict[str, Any] = json.loads(capsys.readouterr().err)
    return line


def test_facts_have_the_names_of_ecs_and_ours_a_prefix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = logged(capsys)
    assert list(line)[:3] == ["@timestamp", "log.level", "message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line.pop("@timestamp"))
    assert line == {
        "log.level": "warning",
        "message": "interrupted",
        "error.code": run_errors.QUIET.code,
        "error.message": ERROR.text,
        "cdc.source": "db1:3306",
        "cdc.table": "größe",
        "labels.pipeline": "shop",
        "service.name": "binlog-connector",
        "service.version": version("binlog-connector"),
        "event.dataset": "binlog-connector.run",
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
        "ecs.version": "8.11.0",
    }


def test_a_pipeline_without_a_known_name_has_no_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert "labels.pipeline" not in logged(capsys, None)


def test_a_line_has_no_name_that_is_also_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """A store that takes `error.code` for a member of `error` refuses a value `error`."""
    names = set(logged(capsys))
    assert [name for name in names if any(each.startswith(f"{name}.") for each in names)] == []


def test_the_page_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.read_text("utf-8").partition("\n## Log\n")[2].partition("\n## ")[0]
    cells = re.findall(r"(?m)^\| (`[^|]+`) \|", section)
    table = {name for cell in cells for name in re.findall("`([^`]+)`", cell)}
    assert {*NAMES.values()} <= table
    assert {name for name in logged(capsys) if not name.startswith("cdc.")} <= table
