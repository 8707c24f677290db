"""Reading pauses while the source is busy with other things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.errors import ConfigError

if TYPE_CHECKING:
    from threading import Event

    from connector.settings.sections import SnapshotSettings
    from connector.source.server.select_session import SelectSession

_LOOK_SECONDS = 1.0


class Throttle:
    """Looks at `snapshot.threads_running_max` and `snapshot.pause_query`."""

    def __init__(self, settings: SnapshotSettings) -> None:
        """Ask the source before each chunk, where the settings want it."""
        self._threads_running_max = settings.threads_running_max
        self._pause_query = settings.pause_query

    def wait(self, session: SelectSession, closing: Event) -> None:
        """Return once the source has time for us, or `closing` is set.

        Raises ConfigError for a query that does not return a number, and what the session raises.
        """
        told = False
        while (reason := self._reason(session)) is not None:
            if not told:
                structlog.get_logger().info("copying pauses", reason=reason)
                told = True
            if closing.wait(_LOOK_SECONDS):
                return

    def _reason(self, session: SelectSession) -> str | None:
        if self._threads_running_max:
            (row,) = session.query("SHOW GLOBAL STATUS LIKE 'Threads_running'")
            running = int(row["Value"] or 0)
            if running > self._threads_running_max:
                return f"{running} running threads, above snapshot.threads_running_max"
        if self._pause_query is not None:
            value = _first_value(session, self._pause_query)
            if value > 0:
                return f"snapshot.pause_query returns {value:g}"
        return None


def _first_value(session: SelectSession, query: str) -> float:
    rows = session.query(query)
    value = next(iter(rows[0].values()), None) if rows else None
    try:
        return float(value or 0)
    except ValueError as error:
        reason = (
            f"{session.place}: snapshot.pause_query: its first column is not a number: write a "
            "query that returns 0 while reading may go on"
        )
        raise ConfigError(reason) from error
