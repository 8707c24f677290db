"""Watches the end of the source's log beside the stream, in a thread and session of its own.

So the figures also change while the source is idle and while the stream stands still; a log line
then reports the standstill. If the source does not answer here, the stream reports it; the watch
tries again.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from math import isinf
from typing import TYPE_CHECKING

import structlog

from connector.errors import (
    ConnectorError,
    SourceUnavailable,
    fields,
    kafka_limits,
    line,
    stream_positions,
)
from connector.metrics.catch_up import CatchUp
from connector.metrics.lag import lag_of, read_source_log
from connector.source.server.binary_logs import RDS_RETENTION, set_rds_retention
from connector.source.server.mysql_server import MysqlServer, name_of
from connector.source.server.server_errors import REFUSED_LOGINS

if TYPE_CHECKING:
    from connector.metrics.figures import CommittedPosition, Figures, Lag
    from connector.metrics.lag import SourceLog
    from connector.progress.progress_record import Progress
    from connector.settings.sections import SourceSettings

# Between two heartbeats.
_PING_SECONDS = 1.0
# With the pause before it, a loss is known within 5 seconds.
_ANSWER_SECONDS = 3.0
# So many heartbeats between two looks at the log.
_WATCHED_PINGS = 5
# If nobody reads the figures: often enough to notice a reset, and to warn of a purge in time.
_UNWATCHED_PINGS = 10
# If the logs' size is limited, warn of a purge within this time.
_NEAR_SECONDS = 60.0
# The stream stands still if it commits nothing for so long although the source has more.
_STILL_SECONDS = 60.0
# Warn of a purge if less than this part of the retention is left.
_WARN_PART = 0.25


class SourceWatch:
    """Updates `figures.lag` until it is closed."""

    def __init__(self, settings: SourceSettings, figures: Figures) -> None:
        """Ask the server of `settings`, often if somebody reads the figures."""
        self._settings = settings
        self._figures = figures
        self._pings = _WATCHED_PINGS if figures.watched else _UNWATCHED_PINGS
        self._caught_up_at = 0.0
        self._catch_up = CatchUp()
        self._first: SourceLog | None = None
        self._warned = False
        # As of the last look, so before the current one.
        self._looked_at: SourceLog | None = None
        self._committed: Progress | None = None
        # Since when the end is the same, on the server's clock, or when that was last reported.
        self._standing: CommittedPosition | None = None
        self._still_since = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="source-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; it may wait for a response, so it is not joined."""
        self._closed.set()
        self._figures.lag = None

    def _watch(self) -> None:
        while not self._closed.is_set():
            try:
                with MysqlServer.connect(self._settings) as server:
                    while not self._closed.is_set():
                        self.look(read_source_log(server))
                        self._wait(server)
            except ConnectorError as error:
                if self._closed.is_set():
                    return
                structlog.get_logger().debug("the source's log cannot be watched", **fields(error))
                # The old figures would look like a stream that keeps up.
                self._figures.lag = None
                if error.code in REFUSED_LOGINS:
                    # Why the stream is not open, it says itself.
                    self._figures.source_answered()
                elif isinstance(error, SourceUnavailable) and not error.answered:
                    self._figures.source_unanswered(error)
                self._closed.wait(_PING_SECONDS)

    def _wait(self, server: MysqlServer) -> None:
        """Wait for the next look, and check meanwhile whether the server answers."""
        for _ in range(self._pings):
            if self._closed.is_set():
                return
            self._figures.source_answered()
            self._closed.wait(_PING_SECONDS)
            server.ping(_ANSWER_SECONDS)

    def look(self, log: SourceLog) -> None:
        """Ask the source for its log, and update the figures."""
        standing = self._figures.standing
        if standing is None or self._closed.is_set():
            return
        if self._first is None or self._first.server_uuid != log.server_uuid:
            self._first = log
        self._figures.doubt = self._figures.doubt or self._doubt(log)
        self._looked_at, self._committed = log, standing.progress
        since = self._caught_up_at
        if not (standing.committed_us or since):
            # Before the first transaction, the lag counts from the first look.
            since = self._first.now
        now = lag_of(log, standing, since, self._bytes_per_second(log))
        if now is not None and now.seconds == 0:
            self._caught_up_at = log.now
        if now is not None and now.bytes is not None:
            left = now.bytes if now.seconds else 0
            now = replace(now, catch_up_seconds=self._catch_up.note(log.now, left))
        self._figures.lag = now
        if self._closed.is_set():
            # It changes while the source is asked.
            self._figures.lag = None
        elif now is not None:
            self._warn(log, now)
            self._tell_of_standstill(log, now, standing)

    def _doubt(self, log: SourceLog) -> SourceUnavailable | None:
        """Return a sign that the logs were reset, else None; the next run checks it.

        A server whose logs are reset does not tell an open stream: it sends heartbeats, and
        continues with the file that it begins next.
        """
        before, progress = self._looked_at, self._committed
        if before is not None and before.server_uuid == log.server_uuid and log.end < before.end:
            return SourceUnavailable(
                stream_positions.LOG_WENT_BACK,
                answered=True,
                server=name_of(self._settings),
                end=log.end_text,
                before=before.end_text,
            )
        if progress is not None and progress.server_uuid == log.server_uuid:
            size = log.files.get(progress.file)
            if size is not None and size < progress.position:
                return SourceUnavailable(
                    stream_positions.FILE_SHRANK,
                    answered=True,
                    server=name_of(self._settings),
                    file=progress.file,
                    size=size,
                    position=progress.position,
                )
        return None

    def _bytes_per_second(self, log: SourceLog) -> float:
        """Return how fast the log has grown; files that were purged meanwhile do not count."""
        first = self._first
        if first is None or log.now <= first.now:
            return 0.0
        grown = sum(size - first.files.get(name, 0) for name, size in log.files.items())
        return max(0, grown) / (log.now - first.now)

    def _warn(self, log: SourceLog, now: Lag) -> None:
        if isinf(now.to_purge_seconds) or not log.retention_seconds:
            near = not isinf(now.to_purge_seconds) and now.to_purge_seconds < _NEAR_SECONDS
        else:
            near = now.to_purge_seconds < _WARN_PART * log.retention_seconds
        if near and not self._warned:
            structlog.get_logger().warning(
                "the source will soon drop log files that were not read",
                time_to_purge_seconds=round(now.to_purge_seconds),
                lag_bytes=now.bytes,
                fix=f"keep logs longer: {_keeping(log)}",
            )
        self._warned = near

    def _tell_of_standstill(self, log: SourceLog, now: Lag, standing: CommittedPosition) -> None:
        """Report, once a minute, that nothing is committed although the source has more."""
        if now.seconds == 0 or standing is not self._standing:
            self._standing, self._still_since = standing, log.now
        elif log.now - self._still_since >= _STILL_SECONDS:
            self._still_since = log.now
            if self._figures.kafka.lost:
                structlog.get_logger().warning(
                    "Kafka is still away, and the source has more",
                    away_seconds=round(self._figures.kafka.away_seconds),
                    lag_seconds=round(now.seconds),
                    lag_bytes=now.bytes,
                    lag_transactions=now.transactions,
                )
                return
            structlog.get_logger().warning(
                **line(kafka_limits.STANDSTILL),
                lag_seconds=round(now.seconds),
                lag_bytes=now.bytes,
                lag_transactions=now.transactions,
            )


def _keeping(log: SourceLog) -> str:
    if log.retention_setting == RDS_RETENTION:
        return set_rds_retention("hours")
    return "binlog_expire_logs_seconds, or expire_logs_days"
