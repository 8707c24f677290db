"""What a pipeline says of itself over HTTP: its figures, and whether it is well and ready."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from connector.metrics import http_server
from connector.metrics.exposition import FiguresCollector
from connector.metrics.http_server import Served, turning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from connector.metrics.figures import Figures
    from connector.metrics.http_server import Page
    from connector.metrics.posts import Answer, Posted


def healthz(figures: Figures) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason."""
    return turning(figures.turned_at, figures.turn_seconds_max)


def readyz(figures: Figures) -> tuple[bool, str]:
    """Return whether the stream is open and both peers answer, and the reason."""
    lines = [figures.source.words(), figures.kafka.words()]
    if figures.paused:
        lines.append("the stream is paused, because somebody asked for it")
    elif figures.streaming:
        lines.append("the stream is open")
    elif figures.interrupted_by is not None:
        lines.append(f"the stream is not open: {figures.interrupted_by}")
    else:
        lines.append("the stream is not open yet")
    ready = figures.connected
    return ready, "\n".join(["ready" if ready else "not ready", *lines])


@contextmanager
def serving(
    figures: Figures,
    listen: str | None,
    pages: Mapping[str, Callable[[], Page]],
    actions: Mapping[str, Callable[[Posted], Answer]],
) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    `pages` and `actions` are found by their paths.

    Raises ConfigError if the address cannot be used.
    """
    served = Served(
        FiguresCollector(figures),
        partial(healthz, figures),
        partial(readyz, figures),
        pages,
        actions,
    )
    with http_server.serving(served, listen):
        figures.watched = listen is not None
        yield
