"""Text of a server is shown without what steers a terminal or begins a line."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import structlog

from connector.cli.configuration import configure_logging
from connector.foundation.errors import SourceRefused
from connector.foundation.errors.message import (
    visible,
    visible_bytes,
    visible_fields,
    visible_lines,
)
from connector.foundation.settings.sections import LogSettings
from connector.replication import answer_errors

if TYPE_CHECKING:
    import pytest

HOSTILE = "t\x1b[2J\x07\n2026-01-01 [info] all is well \u202e\x9b"
SHOWN = "t\\u001b[2J\\u0007 2026-01-01 [info] all is well \\u202e\\u009b"


def test_a_text_is_one_line_without_controls() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("naïve → 表") == "naïve → 表"


def test_lines_stay_lines() -> None:
    assert visible_lines("a\x1b\n  b\x07") == "a\\u001b\n  b\\u0007"


def test_bytes_keep_tabs_and_line_ends() -> None:
    assert visible_bytes("a\tb\n\x1b\x7f\x9bé".encode()) == "a\tb\n\\x1b\\x7f\\x9bé".encode()


def test_bytes_do_not_turn_the_direction_of_writing() -> None:
    marks = "\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"
    shown = "".join(f"\\u{ord(mark):04x}" for mark in marks)
    assert visible_bytes(f"a{marks}→表\u2011".encode()) == f"a{shown}→表\u2011".encode()


def test_fields_are_made_visible_wherever_they_are() -> None:
    fields = {"table": HOSTILE, "tables": {HOSTILE: [HOSTILE, 1]}, "error": "one\ntwo", "n": 1}
    assert visible_fields(fields) == {
        "table": SHOWN,
        "tables": {SHOWN: [SHOWN, 1]},
        "error": "one\ntwo",
        "n": 1,
    }


def test_an_error_shows_the_texts_of_others_in_one_line() -> None:
    error = SourceRefused(answer_errors.UNKNOWN, server="source db1:3306", number=9, said=HOSTILE)
    assert SHOWN in str(error)
    assert "\n" not in str(error)


def test_a_line_of_the_log_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    try:
        configure_logging(LogSettings())
        structlog.get_logger().info("copying", table=HOSTILE, tables=[HOSTILE])
    finally:
        structlog.reset_defaults()
    (line,) = out.getvalue().splitlines()
    assert line.count("2026-01-01 [info] all is well") == 2
    assert line.isprintable()
