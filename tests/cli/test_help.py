"""What the command line says of itself: help, examples, completion, names that do not exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from connector.cli import command_errors
from connector.cli.commands import COMMANDS as TOP
from connector.cli.commands import command_of
from connector.cli.config import Reference
from connector.foundation.errors.message import Message
from tests.application import commands, invoke, parser

ROOT = Path(__file__).parents[2]
COMMANDS = [" ".join(names) for names, _ in commands()]
EXAMPLES = sorted(
    {
        example.command
        for names in ["", "quarantine", *COMMANDS]
        for example in parser(*names.split()).examples
    }
)


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", ["", "quarantine", *COMMANDS])
def test_each_command_helps_by_examples(command: str, option: str) -> None:
    done = invoke([*command.split(), option])
    assert done.exit_code == 0
    _, _, shown = done.stdout.partition("Examples")
    assert f"binlog-connector {command}" in shown


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_command_with_options_that_exist(example: str) -> None:
    words = shlex.split(re.sub(r" > [\w.]+$", "", example))
    names, command, rest = command_of(words)
    if command.commands:
        assert set(rest) <= parser(*names).options().keys()
    else:
        # Reads them, and does not run it.
        assert vars(parser(*names).read(rest))


KNOWN = list(TOP)


def test_a_command_that_does_not_exist_is_answered_by_those_that_do() -> None:
    done = invoke(["restart"])
    said = " ".join(done.stderr.split())
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
    done = invoke(typed)
    said = " ".join(done.stderr.split())
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
    done = invoke(["config", *name])
    assert (done.exit_code, done.stdout) == (0, (ROOT / "configs" / file).read_text("utf-8"))


def test_reference_files_are_data_of_the_package() -> None:
    """A wheel holds what the patterns of pyproject.toml match; `connector/configs` is a link."""
    configs = ROOT / "connector" / "configs"
    assert configs.resolve() == ROOT / "configs"
    packed = [*configs.glob("*.toml"), *(configs / "mysql").glob("*")]
    assert {each.name for each in packed} == set(Reference)
    assert '"configs/*.toml", "configs/mysql/*"' in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("quar", "quarantine"),
        ("quarantine re", "replay"),
        ("dump --start-p", "--start-position"),
        ("dump binlog.000042 --format ", "envelope"),
        ("config g", "grants.sql"),
        ("--ins", "--install-completion"),
    ],
)
def test_a_shell_completes_commands_options_and_values(
    shell: str, typed: str, completed: str
) -> None:
    done = asked(shell, typed)
    assert (done.returncode, completed in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("typed", ["run ", "dump --output ", "verify my.toml --mirror st"])
def test_names_of_files_are_left_to_the_shell(typed: str) -> None:
    assert asked("bash", typed).stdout == "\n"
    assert asked("zsh", typed).stdout == "_files\n"
    assert asked("fish", typed, action="is-args").returncode == 1
    assert asked("fish", "dump --f", action="is-args").returncode == 0


def asked(shell: str, typed: str, action: str = "get-args") -> subprocess.CompletedProcess[str]:
    """Ask as the script of a shell does."""
    words = typed.split(" ")
    return run_program(
        _BINLOG_CONNECTOR_COMPLETE=f"complete_{shell}",
        COMP_WORDS=f"binlog-connector {typed}",
        COMP_CWORD=str(len(words)),
        _TYPER_COMPLETE_ARGS=f"binlog-connector {typed}",
        _TYPER_COMPLETE_FISH_ACTION=action,
    )


def run_program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "connector", *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("shell", "files"),
    [
        ("bash", {".bashrc", ".bash_completions/binlog-connector.sh"}),
        ("zsh", {".zshrc", ".zfunc/_binlog-connector"}),
        ("fish", {".config/fish/completions/binlog-connector.fish"}),
    ],
)
def test_completion_is_installed_once_for_the_shell_that_asks(
    shell: str, files: set[str], tmp_path: Path
) -> None:
    # A program with the name of the shell is the parent.
    parent = tmp_path / "bin" / shell
    parent.parent.mkdir()
    parent.symlink_to("/bin/sh")
    home = tmp_path / "home"
    home.mkdir()
    program = f"{sys.executable} -m connector --install-completion; true"
    for _ in range(2):
        done = subprocess.run(
            [parent, "-c", program],
            env=os.environ | {"HOME": str(home), "SHELL": "/bin/none"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith(f"{shell} completion installed in {home}/"), done.stderr
    written = {path: path.read_text() for path in home.rglob("*") if path.is_file()}
    assert {path.relative_to(home).as_posix() for path in written} == files
    script = run_program(_BINLOG_CONNECTOR_COMPLETE=f"source_{shell}").stdout
    assert script in written.values()
    for path, text in written.items():
        if path.parent == home:
            lines = [line for line in text.splitlines() if line]
            assert len(set(lines)) == len(lines)


def test_bash_completes_by_the_script(tmp_path: Path) -> None:
    program = tmp_path / "binlog-connector"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m connector "$@"\n')
    program.chmod(0o755)
    script = run_program(_BINLOG_CONNECTOR_COMPLETE="source_bash").stdout
    command = """
COMP_WORDS=(binlog-connector quarantine re) COMP_CWORD=2
_binlog_connector_completion binlog-connector
echo "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        ["/bin/bash", "-c", script + command],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("replay\n", "")
