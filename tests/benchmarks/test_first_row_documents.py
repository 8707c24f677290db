"""The recording of the two commands in a document."""

from __future__ import annotations

from typing import Any

from benchmarks.first_row_documents import BEGIN, END, first_row_text
from benchmarks.targets import first_row_target

FOUND: dict[str, Any] = {
    "at": "2026-01-31T08:15:00+00:00",
    "cpu": "a processor",
    "cores": 2,
    "memory_gib": 24,
    "kernel": "6.1",
    "python": "CPython 3.11.7",
    "compiled": True,
    "environment_s": 3.2,
    "install_s": 25.4,
    "up_s": 8.3,
    "recording": ["$ pip install it", "$ run it", "● streaming"],
}


def test_the_terminal_and_each_step_are_shown() -> None:
    lines = first_row_text(FOUND).splitlines()
    assert (lines[0], lines[-1]) == (BEGIN, END)
    begin = lines.index("```")
    assert lines[begin + 1 : begin + 5] == [*FOUND["recording"], "```"]
    assert "| `pip install` | 25 s |" in lines
    assert "| both commands | 34 s |" in lines


def test_making_the_environment_is_none_of_the_two_commands() -> None:
    assert first_row_target(FOUND).measured == 33.7
    assert first_row_target(FOUND).met
