"""The options of `verify`: those of tables, and those of topics."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from connector.cli import command_errors
from tests.application import invoke
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("", command_errors.WHAT),
        ("--topics --mirror job.toml", command_errors.WHAT),
        ("--topics --replica job.toml", command_errors.WHAT),
        ("--mirror job.toml --replica job.toml", command_errors.WHAT),
        ("--mirror job.toml --replica job.toml --topics", command_errors.WHAT),
        ("--topics shop.orders", command_errors.NEEDS_MIRROR),
        ("--topics --repair", command_errors.NEEDS_MIRROR),
        ("--replica job.toml --from binlog.000001:4", command_errors.NEEDS_TOPICS),
        ("--mirror job.toml --from binlog.000001:4", command_errors.NEEDS_TOPICS),
        ("--topics --forever", command_errors.FOREVER),
        ("--mirror job.toml --forever --json", command_errors.FOREVER),
        ("--mirror job.toml --forever --no-values", command_errors.FOREVER),
        ("--replica job.toml --forever --json", command_errors.FOREVER),
        ("--topics --since 42", command_errors.NEEDS_MIRROR),
        ("--replica job.toml --since 42", command_errors.NEEDS_MIRROR),
        ("--mirror job.toml --forever --since 42", command_errors.FOREVER),
        ("--mirror job.toml --since 42 --sample 10", command_errors.ONE_PART),
        ("--mirror job.toml --since 42 --state file", command_errors.ONE_PART),
        ("--topics --state file", command_errors.NEEDS_MIRROR),
        ("--replica job.toml --forever --state file", command_errors.FOREVER),
        ("--certificate file", command_errors.CERTIFICATE),
        ("--replica job.toml --certificate file", command_errors.CERTIFICATE),
        ("--mirror job.toml --certificate file --check file", command_errors.CERTIFICATE),
        ("--mirror job.toml --certificate file --since 42", command_errors.CERTIFICATE),
        ("--mirror job.toml --certificate file --no-values", command_errors.CERTIFICATE),
        ("--table a.b=delta:c --certificate file --repair", command_errors.CERTIFICATE),
        ("--table a.b=delta:c --certificate file shop.orders", command_errors.FOREIGN_ALONE),
        ("--table a.b=delta:c --certificate file --mirror job.toml", command_errors.FOREIGN_ALONE),
        ("--table a.b=delta:c --check file", command_errors.CHECK),
        ("shop.orders --check file", command_errors.CHECK),
        ("--mirror job.toml --check file", command_errors.CHECK),
        ("--check file --to binlog.000001:4", command_errors.CHECK),
        ("--mirror job.toml --sign-key file", command_errors.KEYS),
        ("--mirror job.toml --certificate file --public-key file", command_errors.KEYS),
    ],
)
def test_mirrors_or_topics_are_compared_each_with_options_of_its_own(
    arguments: str, code: ErrorCode
) -> None:
    done = invoke(["verify", "my.toml", *arguments.split()])
    assert (done.exit_code, done.stderr) == (2, f"error: {shown(code)}\n")


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
