"""The progress bar of commands that read long logs."""

import os
import time
from typing import Self

from rich import progress
from rich.console import Console

from connector.foundation.errors.message import visible

# Reading that ends sooner needs no bar.
_PATIENCE_SECONDS = 2.0
_REFRESH_SECONDS = 0.1


class ReadingProgress:
    """A bar that appears if reading takes long, and disappears at the end."""

    def __init__(self, console: Console) -> None:
        """Draw on `console`, or nothing without one."""
        self._console = console
        self._progress: progress.Progress | None = None
        self._due = time.monotonic() + _PATIENCE_SECONDS

    def show(self, log: str, position: int, size: int | None) -> None:
        """Show that `log`, of `size` bytes if known, is read up to `position`."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _REFRESH_SECONDS
        name = visible(os.path.basename(log))  # noqa: PTH119 # may be the name of a server's log
        if self._progress is None:
            self._progress = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.DownloadColumn(),
                progress.TransferSpeedColumn(),
                progress.TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._progress.add_task(name, total=size)
            self._progress.start()
        self._progress.update(self._task, description=name, completed=position, total=size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()
