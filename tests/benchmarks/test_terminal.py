"""What a program shows in a terminal, as text."""

from __future__ import annotations

import sys
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live

from benchmarks.terminal import Terminal, shown_lines

if TYPE_CHECKING:
    from pathlib import Path

ASKS = """\
import getpass, time
try:
    print(getpass.getpass("Password: ") == "opensesame", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("stopped")
"""


def test_of_a_picture_that_changes_the_last_one_is_text() -> None:
    output = StringIO()
    console = Console(file=output, force_terminal=True, width=40, highlight=False)
    console.print("before")
    with Live(console=console, auto_refresh=False, transient=True) as live:
        live.update("one\ntwo", refresh=True)
        live.update("[bold]three[/]\nfour\nfive", refresh=True)
    console.print("after")
    lines = shown_lines(output.getvalue())
    assert [line for line in lines if line] == ["before", "three", "four", "five", "after"]


def test_a_program_asks_in_its_terminal_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", ASKS], tmp_path, {}) as terminal:
        terminal.answer("Password: ", "opensesame")
        terminal.await_text("True")
        terminal.interrupt()
    lines = [line for line in terminal.lines() if line]
    assert lines == ["Password:", "True", "^Cstopped"]
