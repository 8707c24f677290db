"""Pauses of the readers while the source is busy with other work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.errors import ConfigError, copies, fields, pipeline_settings
from connector.errors.message import Message

if TYPE_CHECKING:
    from threading import Event

    from connector.settings.sections import SnapshotSettings
    from connector.source.server.select_session import SelectSession

_LOOK_SECONDS = 1.0


class Throttle:
    """Checks `snapshot.threads_running_max` and `snapshot.pause_query`."""

    def __init__(self, settings: SnapshotSettings) -> None:
        """Query the source before each chunk, if the settings say so."""
        self._threads_running_max = settings.threads_running_max
        self._pause_query = settings.pause_query

    def wait(self, session: SelectSession, closing: Event) -> None:
        """Return when the source is no longer busy, or `closing` is set.

        Raises ConfigError for a query that does not return a number, and the errors of the session.
        """
        told = False
        while (busy := self._busy(session)) is not None:
            if not told:
                structlog.get_logger().info("copying pauses", **fields(busy))
                told = True
            if closing.wait(_LOOK_SECONDS):
                return

    def _busy(self, session: SelectSession) -> Message | None:
        """Return why the source is busy; None if it is not."""
        if self._threads_running_max:
            (row,) = session.query("SHOW GLOBAL STATUS LIKE 'Threads_running'")
            running = int(row["Value"] or 0)
            if running > self._threads_running_max:
                return Message(copies.THREADS_RUNNING, {"running": running})
        if self._pause_query is not None:
            value = _first_value(session, self._pause_query)
            if value > 0:
                return Message(copies.PAUSE_WANTED, {"value": value})
        return None


def _first_value(session: SelectSession, query: str) -> float:
    rows = session.query(query)
    value = next(iter(rows[0].values()), None) if rows else None
    try:
        return float(value or 0)
    except ValueError as error:
        raise ConfigError(pipeline_settings.PAUSE_QUERY, server=session.name) from error
