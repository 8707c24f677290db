"""What the job says of itself over HTTP: its figures, whether it is well and ready, and why not."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Final

from connector.metrics import http_server
from connector.metrics.http_server import Page, Served, turning
from stream_jobs.report.exposition import FiguresCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.report.figures import Figures

STATUS_PATH: Final = "/status.json"


def healthz(figures: Figures) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason.

    It may wait for a batch, which may take any time.
    """
    if figures.began_at is not None:
        return True, f"well: {_running(figures.began_at)}"
    return turning(figures.turned_at, figures.turn_seconds_max)


def readyz(figures: Figures) -> tuple[bool, str]:
    """Return whether the stream is open, and what it does."""
    ready, began_at, why = figures.streaming, figures.began_at, figures.interrupted_by
    lines = ["ready" if ready else "not ready"]
    not_open = "the stream is not open" if why is None else f"the stream is not open: {why}"
    lines.append("the stream is open" if ready else not_open)
    if began_at is not None:
        lines.append(_running(began_at))
    if aside := len(figures.set_aside()):
        lines.append(f"tables that are set aside: {aside}")
    if (failure := figures.failure) is not None:
        lines.append(f"last failure at {failure.at}: [{failure.code}] {failure.error}")
    return ready, "\n".join(lines)


def status_page(figures: Figures) -> Page:
    """Return `/status.json`: whether the stream is open, what it waits for, the last failure."""
    failure = None if figures.failure is None else asdict(figures.failure)
    why = figures.interrupted_by
    body = {
        "pipeline": figures.pipeline,
        "streaming": figures.streaming,
        "interrupted_by": None if why is None else {"code": why.shown_code.code, "error": why.text},
        "last_failure": failure,
    }
    return Page("application/json", json.dumps(body).encode())


def _running(began_at: float) -> str:
    return f"a batch is being applied, for {time.monotonic() - began_at:.0f} s now"


@contextmanager
def serving(figures: Figures, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    served = Served(
        FiguresCollector(figures),
        partial(healthz, figures),
        partial(readyz, figures),
        {STATUS_PATH: partial(status_page, figures)},
    )
    with http_server.serving(served, listen):
        figures.watched = listen is not None
        yield
