"""Watches the end of the source's log beside the stream, from a thread and a session of its own.

The figures keep moving while the source is idle, and while the stream is stuck. A source that does
not answer here is the stream's to report: the watch tries again.
"""

from __future__ import annotations

import threading
from math import isinf
from typing import TYPE_CHECKING

import structlog

from connector.errors import ConnectorError
from connector.metrics.distance import distance, read_source_log
from connector.source.mysql_server import MysqlServer

if TYPE_CHECKING:
    from connector.config import SourceSettings
    from connector.metrics.distance import SourceLog
    from connector.metrics.figures import Distance, Figures

_WATCHED_SECONDS = 5.0
# Nobody looks: often enough to warn of a purge in time.
_UNWATCHED_SECONDS = 60.0
# A purge is warned of when less than this part of the retention is left.
_WARN_PART = 0.25


class SourceWatch:
    """Keeps `figures.distance` up to date until it is closed."""

    def __init__(self, settings: SourceSettings, figures: Figures) -> None:
        """Ask the server of `settings`, often where somebody reads the figures."""
        self._settings = settings
        self._figures = figures
        self._pause_seconds = _WATCHED_SECONDS if figures.watched else _UNWATCHED_SECONDS
        self._caught_up_at = 0.0
        self._first: SourceLog | None = None
        self._warned = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="source-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, which may wait for an answer; it is not waited for."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.is_set():
            try:
                with MysqlServer.connect(self._settings) as server:
                    while not self._closed.is_set():
                        self.look(read_source_log(server))
                        self._closed.wait(self._pause_seconds)
            except ConnectorError as error:
                structlog.get_logger().debug("the source's log cannot be watched", error=str(error))
                self._closed.wait(self._pause_seconds)

    def look(self, log: SourceLog) -> None:
        """Take note of what the source says of its log."""
        standing = self._figures.standing
        if standing is None or self._closed.is_set():
            return
        if self._first is None or self._first.server_uuid != log.server_uuid:
            self._first = log
        now = distance(log, standing, self._caught_up_at, self._bytes_per_second(log))
        if now is not None and now.seconds == 0:
            self._caught_up_at = log.now
        self._figures.distance = now
        if now is not None:
            self._warn(log, now)

    def _bytes_per_second(self, log: SourceLog) -> float:
        """Return how fast the log has grown; files that were purged meanwhile are left out."""
        first = self._first
        if first is None or log.now <= first.now:
            return 0.0
        grown = sum(size - first.files.get(name, 0) for name, size in log.files.items())
        return max(0, grown) / (log.now - first.now)

    def _warn(self, log: SourceLog, now: Distance) -> None:
        if isinf(now.to_purge_seconds) or not log.retention_seconds:
            near = not isinf(now.to_purge_seconds) and now.to_purge_seconds < _UNWATCHED_SECONDS
        else:
            near = now.to_purge_seconds < _WARN_PART * log.retention_seconds
        if near and not self._warned:
            structlog.get_logger().warning(
                "the source will soon drop log files that were not read",
                time_to_purge_seconds=round(now.to_purge_seconds),
                lag_bytes=now.bytes,
                fix="keep logs longer: binlog_expire_logs_seconds, or expire_logs_days",
            )
        self._warned = near
