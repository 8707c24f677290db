"""The options of `verify`: each has an effect, or is refused."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import connector.cli
from connector.cli import command_errors
from connector.cli.verify import EFFECTIVE, refuse_without_effect
from connector.foundation.errors import ConfigError
from tests.application import invoke, parser
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    import argparse

    from connector.foundation.errors.code import ErrorCode


# What chooses each way of comparing.
WAYS = {
    "--mirror": "my.toml --mirror job.toml",
    "--mirror and --forever": "my.toml --mirror job.toml --forever",
    "--mirror and --certificate": "my.toml --mirror job.toml --certificate file",
    "--replica": "my.toml --replica job.toml",
    "--replica and --forever": "my.toml --replica job.toml --forever",
    "--topics": "my.toml --topics",
    "--table": "mysql://audit@db1 --table a.b=delta:c",
    "--table and --forever": "mysql://audit@db1 --table a.b=delta:c --forever",
    "--table and --certificate": "mysql://audit@db1 --table a.b=delta:c --certificate file",
    "--check": "--check file",
    "--check and CONFIG": "my.toml --check file",
    "--check and a URL": "mysql://audit@db1 --check file",
}
# The function that compares in each way.
FUNCTIONS = {
    "verify_mirror": {"--mirror", "--replica"},
    "verify_forever": {"--mirror and --forever", "--replica and --forever"},
    "make_certificate": {"--mirror and --certificate"},
    "verify_topics": {"--topics"},
    "verify_foreign": {"--table"},
    "verify_foreign_forever": {"--table and --forever"},
    "make_foreign_certificate": {"--table and --certificate"},
    "check_certificate": {"--check", "--check and CONFIG", "--check and a URL"},
}
# Options that only choose the function.
CHOOSING = {"forever", "topics"}
# What chooses another way, if it is given, too.
OTHER_WAYS = {
    ("--mirror", "forever"),
    ("--mirror", "certificate"),
    ("--mirror and --forever", "certificate"),
    ("--replica", "forever"),
    ("--table", "certificate"),
    ("--table", "forever"),
    ("--table and --forever", "certificate"),
    # Its first word is CONFIG.
    ("--check", "tables"),
} | {
    (way, name)
    for way in WAYS
    for name in ("mirror", "replica", "topics", "table", "file_of_tables", "check")
}
VALUES = {
    "sample": "10", "lag": "1", "seed": "1", "rows_per_second": "1", "max_differences": "1",
    "patience": "1", "pace": "full", "table": "a.b=delta:c",
}  # fmt: skip


def words_of(action: argparse.Action) -> list[str]:
    """The words of an argument; the seed is of a sample."""
    if not action.option_strings:
        return ["shop.orders"]
    value = [] if action.nargs == 0 else [VALUES.get(action.dest, "text")]
    more = ["--sample", "10"] if action.dest == "seed" else []
    return [action.option_strings[0], *value, *more]


def refusal(words: list[str]) -> str:
    """Why the words do not go together; nothing if they do."""
    try:
        refuse_without_effect(parser("verify").read(words))
    except ConfigError as error:
        return str(error)
    return ""


ARGUMENTS = [
    action
    for action in [*parser("verify").positionals(), *parser("verify").options().values()]
    if action.dest not in ("help", "config")
]


@pytest.mark.parametrize("way", WAYS)
def test_each_argument_has_an_effect_or_is_refused(way: str) -> None:
    assert refusal(WAYS[way].split()) == ""
    for action in ARGUMENTS:
        if action.dest in EFFECTIVE[way]:
            assert refusal([*WAYS[way].split(), *words_of(action)]) == "", action.dest
        elif (way, action.dest) not in OTHER_WAYS:
            name = action.option_strings[0] if action.option_strings else "TABLE"
            ignored = [name, "--sample"] if action.dest == "seed" else [name]
            text = shown(command_errors.NO_EFFECT, way=way, ignored=ignored)
            assert refusal([*WAYS[way].split(), *words_of(action)]) == text


def arguments_read(function: str) -> set[str]:
    """The names of arguments that a function, and those that it gives its arguments, read."""
    found: set[str] = set()
    for part in ast.walk(CODE[function]):
        if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "arguments":
            found.add(part.attr)
        if isinstance(part, ast.Call) and "arguments" in map(ast.unparse, part.args):
            called = ast.unparse(part.func)
            found |= arguments_read(called) if called in CODE else set()
    return found


CODE = {
    part.name: part
    for path in (Path(connector.cli.__file__).parent).glob("verify_*.py")
    for part in ast.parse(path.read_text("utf-8")).body
    if isinstance(part, ast.FunctionDef)
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_has_an_effect_is_what_a_comparison_reads(function: str) -> None:
    effective = set[str]().union(*(EFFECTIVE[way] for way in FUNCTIONS[function]))
    assert effective - CHOOSING == arguments_read(function) - {"config"}


def test_a_new_argument_needs_a_way_in_which_it_has_an_effect() -> None:
    effective = set[str]().union(*EFFECTIVE.values())
    assert effective == {action.dest for action in ARGUMENTS}
    assert {way for ways in FUNCTIONS.values() for way in ways} == set(WAYS) == set(EFFECTIVE)


@pytest.mark.parametrize(
    ("arguments", "code", "facts"),
    [
        ("", command_errors.WHAT, {}),
        ("--certificate file", command_errors.WHAT, {}),
        ("--topics --mirror job.toml", command_errors.WHAT, {}),
        ("--topics --replica job.toml", command_errors.WHAT, {}),
        ("--mirror job.toml --replica job.toml", command_errors.WHAT, {}),
        ("--mirror job.toml --replica job.toml --topics", command_errors.WHAT, {}),
        ("--mirror job.toml --seed 1", command_errors.NEEDS_SAMPLE, {}),
        ("--mirror job.toml --since 42 --sample 10", command_errors.ONE_PART, {}),
        ("--mirror job.toml --since 42 --state file", command_errors.ONE_PART, {}),
        # A value that is the default one is refused, too.
        (
            "--topics --patience 60 shop.orders",
            command_errors.NO_EFFECT,
            {"way": "--topics", "ignored": ["--patience", "TABLE"]},
        ),
        (
            "--mirror job.toml --certificate file --check file",
            command_errors.NO_EFFECT,
            {"way": "--check and CONFIG", "ignored": ["--mirror", "--certificate"]},
        ),
        (
            "--mirror job.toml --certificate file --forever",
            command_errors.NO_EFFECT,
            {"way": "--mirror and --certificate", "ignored": ["--forever"]},
        ),
        (
            "--check file shop.orders",
            command_errors.NO_EFFECT,
            {"way": "--check and CONFIG", "ignored": ["TABLE"]},
        ),
        (
            "--replica job.toml --certificate file",
            command_errors.NO_EFFECT,
            {"way": "--replica", "ignored": ["--certificate"]},
        ),
        (
            "--table a.b=delta:c --mirror job.toml --topics",
            command_errors.NO_EFFECT,
            {"way": "--table", "ignored": ["--mirror", "--topics"]},
        ),
    ],
)
def test_what_is_compared_says_which_options_go_together(
    arguments: str, code: ErrorCode, facts: dict[str, object]
) -> None:
    done = invoke(["verify", "my.toml", *arguments.split()])
    assert (done.exit_code, done.stderr) == (2, f"error: {shown(code, **facts)}\n")


def test_only_a_check_of_the_mirror_does_without_a_source() -> None:
    done = invoke(["verify", "--mirror", "job.toml"])
    assert (done.exit_code, done.stderr) == (2, f"error: {shown(command_errors.NO_CONFIG)}\n")


# Whatever a command finds: the log of a library is written at its end.
PROGRAM = """
import atexit
import structlog
from connector.cli import commands
atexit.register(lambda: structlog.get_logger().info("reading is held back"))
commands.execute(["verify", "my.toml", "--mirror", "job.toml"])
"""


def test_what_verify_logs_is_no_part_of_its_report() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert "reading is held back" in done.stderr
