"""The options of `verify`: those of tables, and those of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from connector.foundation.errors import verification
from tests.application import app
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("", verification.WHAT),
        ("--topics --mirror job.toml", verification.WHAT),
        ("--topics --replica job.toml", verification.WHAT),
        ("--mirror job.toml --replica job.toml", verification.WHAT),
        ("--mirror job.toml --replica job.toml --topics", verification.WHAT),
        ("--topics shop.orders", verification.NEEDS_MIRROR),
        ("--topics --repair", verification.NEEDS_MIRROR),
        ("--replica job.toml --from binlog.000001:4", verification.NEEDS_TOPICS),
        ("--mirror job.toml --from binlog.000001:4", verification.NEEDS_TOPICS),
        ("--topics --forever", verification.FOREVER),
        ("--mirror job.toml --forever --json", verification.FOREVER),
        ("--mirror job.toml --forever --no-values", verification.FOREVER),
        ("--replica job.toml --forever --json", verification.FOREVER),
        ("--topics --since 42", verification.NEEDS_MIRROR),
        ("--replica job.toml --since 42", verification.NEEDS_MIRROR),
        ("--mirror job.toml --forever --since 42", verification.FOREVER),
        ("--mirror job.toml --since 42 --sample 10", verification.ONE_PART),
        ("--mirror job.toml --since 42 --state file", verification.ONE_PART),
        ("--topics --state file", verification.NEEDS_MIRROR),
        ("--mirror job.toml --forever --state file", verification.FOREVER),
    ],
)
def test_mirrors_or_topics_are_compared_each_with_options_of_its_own(
    arguments: str, code: ErrorCode
) -> None:
    done = CliRunner().invoke(app, ["verify", "my.toml", *arguments.split()])
    assert (done.exit_code, done.stderr) == (2, f"error: {shown(code)}\n")
