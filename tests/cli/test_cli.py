"""The command line: what it says and how it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import structlog

from connector.binlog import argument_errors
from connector.cli import command_errors
from connector.cli.commands import COMMANDS
from connector.cli.configuration import configure_logging
from connector.cli.exit_codes import fail
from connector.cli.run import run_exit_codes
from connector.foundation import compiled
from connector.foundation.errors.code import ErrorCode
from connector.foundation.operating_system import StoppedHard
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings
from tests.application import invoke
from tests.foundation.errors.texts import shown


def test_the_version_is_the_packages() -> None:
    done = invoke(["--version"])
    how = compiled.description()
    expected = f"binlog-connector {version('binlog-connector')} ({how})\n"
    assert (done.exit_code, done.stdout) == (0, expected)


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
    assert done.stderr.startswith("error: [C101] /absent.toml: cannot read the configuration")
    assert done.stdout == ""


def test_output_that_cannot_be_written_at_the_end_is_told() -> None:
    program = """
import sys
from connector.cli import main
print("kept until the end")
sys.argv[1:] = ["quarantine", "list", "/absent.toml"]
main()
"""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONUNBUFFERED": ""},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 120
    assert "No space left on device" in done.stderr


def test_help_lists_the_commands() -> None:
    shown = invoke(["--help"]).stdout
    for command in COMMANDS:
        assert f"\n  {command} " in shown


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
            f"error: [C101] {absent}: cannot read the configuration: No such file or directory; "
            "give the path of a file such as `binlog-connector config` prints\n"
        ),
    )


@pytest.mark.parametrize(
    ("command", "code", "facts"),
    [
        ("check", settings_errors.URL, {"reference": "binlog-connector config"}),
        ("dump", argument_errors.URL, {}),
    ],
)
def test_a_url_in_the_place_of_a_file_is_not_shown(
    command: str, code: ErrorCode, facts: dict[str, str]
) -> None:
    said = invoke([command, "mysql://cdc:secret@db"]).stderr
    assert said == f"error: {shown(code, **facts)}\n"


def test_a_log_for_machines_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings(level="info", format="json"))
    try:
        structlog.get_logger().info("streaming", source="db:3306")
        structlog.get_logger().debug("not shown")
    finally:
        structlog.reset_defaults()
    (line,) = capsys.readouterr().err.splitlines()
    logged = json.loads(line)
    assert [logged[name] for name in ("message", "cdc.source", "log.level")] == [
        "streaming",
        "db:3306",
        "info",
    ]


FAILED = ("message", "log.level", "process.exit_code", "error.code", "error.message")
BROKEN = """
[log]
format = "json"
"""


def test_the_last_line_of_a_log_for_machines_is_the_failure(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(BROKEN)
    done = ran("run", str(config))
    (line,) = done.stderr.splitlines()
    failed = json.loads(line)
    assert (done.returncode, done.stdout) == (2, "")
    # The rest is the same in each line.
    assert {name: value for name, value in failed.items() if name in FAILED} == {
        "message": "failed",
        "log.level": "error",
        "process.exit_code": 2,
        "error.code": "C107",
        "error.message": f"{config}: 3 settings are wrong:"
        + "".join(
            f"\n  [C105] {config}: {key} is required; give it there, or set "
            f"BINLOG_CONNECTOR_{key.upper()}"
            for key in ("name", "source", "kafka")
        ),
    }


def test_a_command_for_people_fails_in_words_whatever_the_log_is(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(BROKEN)
    said = ran("check", str(config)).stderr
    assert said.startswith("error: ")
    assert f"\n  [C105] {config}: name is required; " in said


GIVES_UP = """
name = "shop"
[source]
port = {port}
password = "secret"
server_id = 5800
[kafka]
bootstrap_servers = ["127.0.0.1:{port}"]
topic_prefix = "shop"
request_timeout_seconds = 0.5
[retry]
attempts_max = 1
[log]
format = "{form}"
"""


@pytest.mark.parametrize("verbose", [True, False])
def test_a_verbose_run_tells_what_the_client_of_kafka_does(tmp_path: Path, verbose: bool) -> None:
    config = giving_up(tmp_path, "json")
    done = ran("run", *(["-v"] if verbose else []), str(config))
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 1
    assert (lines[-1]["message"], lines[-1]["process.exit_code"]) == ("failed", 1)
    of_client = [line for line in lines if line.get("log.logger", "").startswith("kafka")]
    assert bool(of_client) == verbose
    assert {line["log.level"] for line in of_client} <= {"debug"}
    assert "secret" not in done.stderr


def test_a_password_in_a_file_that_all_may_read_is_told(tmp_path: Path) -> None:
    config = giving_up(tmp_path, "json")
    config.chmod(0o644)
    said = (
        f"{config}: every user of this machine may read source.password there; chmod o-r {config}"
    )
    first, *_ = ran("run", str(config)).stderr.splitlines()
    warned = json.loads(first)
    assert (warned["message"], warned["log.level"]) == ("readable password", "warning")
    assert (warned["error.message"], warned["error.code"]) == (said, "C112")
    assert ran("quarantine", "list", str(config)).stderr.splitlines()[0] == f"warning: {said}"


def giving_up(folder: Path, form: str) -> Path:
    """Write a configuration of servers that do not run."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = folder / "c.toml"
    config.touch(mode=0o600)
    config.write_text(GIVES_UP.format(port=port, form=form))
    return config


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "connector", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_that_is_stopped_hard_says_what_becomes_of_the_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended, run_exit_codes(fail):
        raise StoppedHard
    assert ended.value.code == 130
    assert capsys.readouterr().err == f"error: {shown(command_errors.STOPPED_HARD)}\n"


def test_a_log_for_people_has_no_colours_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogSettings())
    try:
        structlog.get_logger().warning("interrupted", error="gone", position=None)
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "interrupted" in said
    assert "error=gone" in said
    # What is not known is not there.
    assert "position" not in said
    assert "\x1b" not in said
