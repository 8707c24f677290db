"""What the command line says of itself: help, examples, completion, names that do not exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from connector.cli import command_errors, examples
from connector.cli.config import Reference
from connector.foundation.errors.message import Message
from tests.application import app

ROOT = Path(__file__).parents[2]
COMMANDS = (
    "run", "check", "status", "config", "import-debezium", "snapshot", "verify", "demo", "dump",
    "stat", "flashback", "rules",
    "quarantine", "quarantine list", "quarantine show", "quarantine replay",
)  # fmt: skip
EXAMPLES = sorted(
    {
        example
        for text in vars(examples).values()
        if isinstance(text, str)
        for example in re.findall(r"`binlog-connector (.*)`", text)
    }
)


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_each_command_helps_by_examples(command: str, option: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), option])
    assert done.exit_code == 0
    _, _, shown = done.output.partition("Examples")
    assert f"binlog-connector {command}" in shown


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_command_with_options_that_exist(example: str) -> None:
    arguments = shlex.split(re.sub(r" > [\w.]+$", "", example))
    command: Any = typer.main.get_command(app)
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    if hasattr(command, "commands"):
        assert any(arguments == option.opts for option in command.params)
    else:
        # Parses, and does not run it.
        assert command.make_context("binlog-connector", arguments).params


KNOWN = [
    "run",
    "check",
    "status",
    "config",
    "import-debezium",
    "snapshot",
    "verify",
    "explain",
    "rules",
    "demo",
    "dump",
    "stat",
    "flashback",
    "quarantine",
]


def test_a_command_that_does_not_exist_is_answered_by_those_that_do() -> None:
    done = CliRunner().invoke(app, ["restart"], terminal_width=200)
    said = " ".join(done.stderr.replace("│", " ").split())
    assert done.exit_code == 2
    assert str(Message(command_errors.UNKNOWN_COMMAND, {"name": "restart", "known": KNOWN})) in said


@pytest.mark.parametrize(
    ("typed", "meant", "known"),
    [
        (["snapshoot"], "snapshot", KNOWN),
        (["statu"], "status", KNOWN),
        (["quarantine", "lst"], "list", ["list", "show", "replay"]),
    ],
)
def test_a_mistyped_command_is_answered_by_the_nearest(
    typed: list[str], meant: str, known: list[str]
) -> None:
    done = CliRunner().invoke(app, typed)
    said = " ".join(done.stderr.replace("│", " ").split())
    assert done.exit_code == 2
    facts = {"name": typed[-1], "meant": meant, "known": known}
    assert str(Message(command_errors.UNKNOWN_COMMAND_MEANT, facts)) in said


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ([], "connector.toml"),
        (["connector.toml"], "connector.toml"),
        (["stream_job.toml"], "stream_job.toml"),
        (["grants.sql"], "mysql/grants.sql"),
        (["source.cnf"], "mysql/source.cnf"),
        (["mariadb.cnf"], "mysql/mariadb.cnf"),
    ],
)
def test_reference_files_are_printed(name: list[str], file: str) -> None:
    done = CliRunner().invoke(app, ["config", *name])
    assert (done.exit_code, done.output) == (0, (ROOT / "configs" / file).read_text("utf-8"))


def test_reference_files_are_data_of_the_package() -> None:
    """A wheel holds what the patterns of pyproject.toml match; `connector/configs` is a link."""
    configs = ROOT / "connector" / "configs"
    assert configs.resolve() == ROOT / "configs"
    packed = [*configs.glob("*.toml"), *(configs / "mysql").glob("*")]
    assert {each.name for each in packed} == set(Reference)
    assert '"configs/*.toml", "configs/mysql/*"' in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(shell: str) -> None:
    asked = {
        "_BINLOG_CONNECTOR_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "binlog-connector quar",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "binlog-connector quar",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    program = "import sys; sys.argv = ['binlog-connector']; from connector.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "quarantine" in done.stdout) == (0, True), done.stderr
