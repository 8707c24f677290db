"""A source that says nothing: is it idle, or is the connection dead?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import SourceUnavailable, stream_positions
from connector.metrics.figures import SILENT_SECONDS

if TYPE_CHECKING:
    from connector.metrics.figures import Figures


def check_silence(silent_seconds: float, figures: Figures, address: str) -> None:
    """Note in `figures` that the source at `address` is silent for too long.

    Raises SourceUnavailable if other sessions hear it, so that only this connection is dead.
    """
    if silent_seconds <= SILENT_SECONDS:
        return
    if figures.watched_at > figures.heard_at + SILENT_SECONDS:
        raise SourceUnavailable(stream_positions.DEAD, address=address, seconds=silent_seconds)
    figures.miss(SourceUnavailable(stream_positions.QUIET, address=address, seconds=silent_seconds))
