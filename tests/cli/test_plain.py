"""What is read without typer means the same to typer, and everything else is left to it."""

from __future__ import annotations

import subprocess
import sys
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from connector.cli.application import application
from connector.cli.arguments import plain_call

if TYPE_CHECKING:
    from connector.cli.arguments import Grouped

PLAIN = (
    "dump",
    "dump a.000001 b.000002",
    "dump - --format events",
    "dump --format json --apply-diffs --table shop.orders a.000001 --table shop.items",
    "dump --hexdump --format text --no-verify-checksum a.000001 --verify-checksum",
    "dump --recover --type QUERY --type XID --database shop --topic-prefix p a.000001",
    "dump --stop-never a.000001 --include-gtids 0-1-2 --exclude-gtids 0-1-1",
    "dump --non-block a.000001",
    "stat a.000001",
    "stat --format json --no-verify-checksum a.000001 b.000002",
    "flashback --table shop.orders --omit-column shop.orders.total a.000001",
)
LEFT = (
    "",
    "--help",
    "check my.toml",
    "dump --help",
    "dump -h",
    "dump --format=json a.000001",
    "dump --format yaml a.000001",
    "dump --format",
    "dump --table --hexdump a.000001",
    "dump --tables shop.orders a.000001",
    "dump -- a.000001",
    "dump --start-position 4 a.000001",
    "dump --start-datetime 2026-01-01 a.000001",
    "dump --output file a.000001",
    "dump --server-id 1 a.000001",
    "stat --source mysql://repl@db",
)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments with which commands are called instead of running."""
    calls: list[dict[str, Any]] = []
    for name in ("dump", "stat", "flashback"):
        command: Grouped = getattr(import_module(f"connector.cli.{name}"), name)
        inner = command._command

        @wraps(inner)
        def record(inner: Any = inner, **arguments: Any) -> None:
            calls.append((inner.__kwdefaults__ or {}) | arguments)

        # `wraps` leaves the defaults out.
        monkeypatch.setattr(record, "__kwdefaults__", inner.__kwdefaults__)
        monkeypatch.setattr(command, "_command", record)
    return calls


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_command_line_means_the_same_to_typer(
    line: str, called: list[dict[str, Any]]
) -> None:
    arguments = line.split()
    call = plain_call(arguments)
    assert call is not None
    call()
    assert CliRunner().invoke(application(arguments), arguments).exit_code == 0
    plain, by_typer = called
    assert plain == by_typer


@pytest.mark.parametrize("line", LEFT)
def test_every_other_command_line_is_left_to_typer(line: str) -> None:
    assert plain_call(line.split()) is None


def test_the_version_is_the_same_with_and_without_typer() -> None:
    plain = subprocess.run(
        [sys.executable, "-m", "connector", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    by_typer = CliRunner().invoke(application(["--version"]), ["--version"])
    assert plain.stdout == by_typer.output
