"""The output of the demo: a live table on a terminal, plain lines in a pipe.

On a terminal, messages scroll above the table. In a pipe, there are the same messages, and every
few seconds a line with the numbers of the table.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

PLAIN_EVERY_SECONDS = 5.0
PANEL_WIDTH = 90
BAR_WIDTH = 40


@dataclass(frozen=True, slots=True)
class TableLine:
    """The numbers of one table."""

    name: str
    source_rows: int
    mirror_rows: int | None  # None: no mirror is kept
    changes: int
    changes_per_second: float
    lag_seconds: float | None  # None: no mirror is kept, or the table has not changed


@dataclass(frozen=True, slots=True)
class StatusBoard:
    """All numbers that are shown at one moment."""

    title: str
    phase: str
    share: float | None  # share of the phase that is done; None: unknown
    tables: Sequence[TableLine]
    processes: Sequence[tuple[str, str]]  # name and state


class Display:
    """Shows the progress of a demo on standard output."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to `console`, by default standard output; time counts from now."""
        self._console = console or Console(highlight=False)
        self._begin = time.monotonic()
        self._live: Live | None = None
        self._plain_shown = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def say(self, text: str, style: str = "") -> None:
        """Print a message with its time."""
        moment = f"{self.seconds:6.1f} s"
        if self._console.is_terminal:
            line = Table.grid(padding=(0, 2, 0, 0))
            line.add_row(Text(moment, "dim"), Text(text, style))
            self._console.print(line)
        else:
            self._console.print(Text(f"{moment}  {text}"), soft_wrap=True)

    def print(self, text: str = "", style: str = "") -> None:
        """Print a line without a time, without markup and line breaks."""
        self._console.print(Text(text, style), soft_wrap=True)

    def print_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns: the first one is text, the others are numbers or a word."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for index, title in enumerate(header):
            table.add_column(title, justify="right" if index else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        self._console.print(table)

    @contextmanager
    def board(self) -> Iterator[None]:
        """Keep the board on the terminal while the block runs."""
        if not self._console.is_terminal:
            yield
            return
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        try:
            with self._live:
                yield
        finally:
            self._live = None

    def show(self, board: StatusBoard) -> None:
        """Show the current numbers, in a pipe every few seconds."""
        if self._live is not None:
            self._live.update(_render(board), refresh=True)
        elif not self._console.is_terminal:
            now = time.monotonic()
            if now - self._plain_shown >= PLAIN_EVERY_SECONDS:
                self._plain_shown = now
                self.say(_plain(board))


def _render(board: StatusBoard) -> Panel:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", width=12)
    for title in ("source rows", "mirror rows", "changes", "changes/s", "lag"):
        table.add_column(title, justify="right", width=12)
    for line in board.tables:
        behind = line.mirror_rows is not None and line.mirror_rows != line.source_rows
        table.add_row(
            line.name,
            f"{line.source_rows:,}",
            Text(_mirror_rows(line), "yellow" if behind else "green"),
            f"{line.changes:,}",
            f"{line.changes_per_second:,.0f}",
            _lag(line),
        )
    states = Table.grid(padding=(0, 3, 0, 0))
    for name, state in board.processes:
        states.add_row(Text(name, "bold"), state)
    head = Table.grid(padding=(0, 2, 0, 0))
    bar = (
        Text()
        if board.share is None
        else ProgressBar(
            1.0, board.share, width=BAR_WIDTH, complete_style="cyan", finished_style="cyan"
        )
    )
    head.add_row(Text(board.phase, "bold cyan"), bar)
    body = Group(head, Text(), table, Text(), states)
    return Panel(body, title=board.title, title_align="left", padding=(1, 2), width=PANEL_WIDTH)


def _plain(board: StatusBoard) -> str:
    numbers = ", ".join(
        f"{line.name} {line.source_rows:,}/{_mirror_rows(line)}"
        for line in board.tables
        if line.mirror_rows is not None
    )
    lags = [line.lag_seconds for line in board.tables if line.lag_seconds is not None]
    rate = sum(line.changes_per_second for line in board.tables)
    lag = f"{max(lags):.1f} s" if lags else "-"
    return f"{board.phase}: {rate:.0f} changes/s, lag {lag}, rows of source/mirror: {numbers}"


def _mirror_rows(line: TableLine) -> str:
    return "no key, none" if line.mirror_rows is None else f"{line.mirror_rows:,}"


def _lag(line: TableLine) -> str:
    return "-" if line.lag_seconds is None else f"{line.lag_seconds:.1f} s"
