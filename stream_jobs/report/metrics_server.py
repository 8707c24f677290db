"""What the job says of itself over HTTP: its figures, and whether it is well and ready."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from connector.metrics import http_server
from connector.metrics.http_server import Served, turning
from stream_jobs.report.exposition import FiguresCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.report.figures import Figures


def healthz(figures: Figures) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason.

    It may wait for a batch, which may take any time.
    """
    if figures.began_at is not None:
        return True, f"well: {_running(figures.began_at)}"
    return turning(figures.turned_at, figures.turn_seconds_max)


def readyz(figures: Figures) -> tuple[bool, str]:
    """Return whether the stream is open, and what it does."""
    ready, began_at = figures.streaming, figures.began_at
    lines = ["ready" if ready else "not ready"]
    lines.append("the stream is open" if ready else "the stream is not open")
    if began_at is not None:
        lines.append(_running(began_at))
    if aside := len(figures.set_aside()):
        lines.append(f"tables that are set aside: {aside}")
    return ready, "\n".join(lines)


def _running(began_at: float) -> str:
    return f"a batch is being applied, for {time.monotonic() - began_at:.0f} s now"


@contextmanager
def serving(figures: Figures, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    served = Served(FiguresCollector(figures), partial(healthz, figures), partial(readyz, figures))
    with http_server.serving(served, listen):
        figures.watched = listen is not None
        yield
