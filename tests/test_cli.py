"""The command line: what it says and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
import structlog
from typer.testing import CliRunner

from connector import compiled
from connector.cli import app
from connector.cli.logs import configure_logging
from connector.config import LogSettings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_version_is_the_packages() -> None:
    done = CliRunner().invoke(app, ["--version"])
    how = compiled.description()
    expected = f"binlog-connector {version('binlog-connector')} ({how})\n"
    assert (done.exit_code, done.output) == (0, expected)


@pytest.mark.parametrize("threads", [0, 1])
def test_libraries_are_not_taken_down_under_threads_that_use_them(threads: int) -> None:
    program = f"""
import atexit, sys, threading
from connector.cli import main
for _ in range({threads}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
atexit.register(print, "taken down")
sys.argv[1:] = ["quarantine", "list", "/absent.toml"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: /absent.toml: cannot read the configuration")
    assert done.stdout == ("" if threads else "taken down\n")


def test_help_lists_the_commands() -> None:
    output = CliRunner().invoke(app, ["--help"]).output
    for command in ("run", "check", "snapshot", "demo", "dump", "stat", "flashback"):
        assert f"│ {command} " in output


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_missing_configuration_is_named(command: str, tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    done = subprocess.run(
        [sys.executable, "-m", "connector", command, str(absent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        (
            f"error: {absent}: cannot read the configuration: No such file or directory: give the "
            "path of a file such as `binlog-connector config` prints\n"
        ),
    )


def test_a_log_for_machines_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings(level="info", format="json"))
    try:
        structlog.get_logger().info("streaming", source="db:3306")
        structlog.get_logger().debug("not shown")
    finally:
        structlog.reset_defaults()
    (line,) = capsys.readouterr().err.splitlines()
    logged = json.loads(line)
    assert (logged["event"], logged["source"], logged["level"]) == ("streaming", "db:3306", "info")


def test_a_log_for_people_has_no_colours_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings())
    try:
        structlog.get_logger().warning("interrupted", error="gone")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "interrupted" in said
    assert "error=gone" in said
    assert "\x1b" not in said
