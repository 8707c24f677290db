"""The progress of a download on standard error: a bar on a terminal, lines in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN_LINE_EVERY_SECONDS = 10.0
MEGABYTE = 1_000_000


class Meter(Protocol):
    """Counts bytes as they arrive; callable from several threads."""

    def __call__(self, size: int, /) -> None:
        """Add `size` bytes."""


@contextmanager
def meter(title: str, total: int) -> Iterator[Meter]:
    """Show the progress of `title`, of `total` bytes, while the block runs."""
    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(console) as progress:
            task = progress.add_task(title, total=total)
            yield lambda size: progress.advance(task, size)
        return
    lines = _PlainLines(title, total)
    yield lines
    lines.finish()


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("fetching {task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _PlainLines:
    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._done = 0
        self._begin = self._shown = time.monotonic()
        self._lock = threading.Lock()
        _write(f"fetching {title}: {total / MEGABYTE:.1f} MB")

    def __call__(self, size: int, /) -> None:
        with self._lock:
            self._done += size
            now = time.monotonic()
            if now - self._shown < PLAIN_LINE_EVERY_SECONDS:
                return
            self._shown = now
        share = 100 * self._done // max(self._total, 1)
        _write(f"fetching {self._title}: {share} %")

    def finish(self) -> None:
        _write(f"fetched {self._title} in {time.monotonic() - self._begin:.0f} s")


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
