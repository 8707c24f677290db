"""What a comparison without end says of itself over HTTP: figures, and whether it is well."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from connector.metrics import http_server
from connector.metrics.http_server import Served, turning
from verification.exposition import FiguresCollector

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from verification.figures import Figures

# Keys that change all the time are looked at 20 times, and each time the pipeline is waited for.
_LOOKS: Final = 20
_TURN_SECONDS: Final = 600.0


def healthz(figures: Figures, patience_seconds: float) -> tuple[bool, str]:
    """Return whether the process goes on, and the reason."""
    return turning(figures.turned_at, _TURN_SECONDS + _LOOKS * patience_seconds)


def readyz(figures: Figures) -> tuple[bool, str]:
    """Return whether source and Kafka answer, and what is known of the tables."""
    ready = figures.is_connected
    lines = ["ready" if ready else "not ready"]
    if not ready:
        reason = figures.interrupted_by or "nothing has been compared yet"
        lines.append(f"source or Kafka does not answer: {reason}")
    if figures.current:
        lines.append(f"table {figures.current} is being compared")
    tables = figures.compared()
    different = sum(bool(table.differences) for table in tables)
    unfinished = sum(not table.is_finished for table in tables)
    lines.append(f"tables: {len(tables)}, different: {different}, not finished: {unfinished}")
    return ready, "\n".join(lines)


def serving(
    figures: Figures, listen: str | None, patience_seconds: float
) -> AbstractContextManager[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    served = Served(
        FiguresCollector(figures),
        partial(healthz, figures, patience_seconds),
        partial(readyz, figures),
    )
    return http_server.serving(served, listen)
