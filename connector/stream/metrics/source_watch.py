"""Watches the end of the source's log, and computes the lag and the time to purge.

The watch has a thread and a session of its own. So the metrics also change while the source is
idle and while the stream stands still; a log line then reports the standstill. If the source does
not answer here, the stream reports it; the watch tries again.

*Seconds.* A stream that has everything has no lag, however old the last change is. Otherwise,
the lag counts from the commit of the last delivered transaction, or from when the stream had
everything, whichever is later: the missing transactions came after both.

*Purge.* A server purges a log file once it is older than the retention, but never the file that it
writes. The current file is at least as new as the last transaction that was read from it. If GTIDs
say that everything was read, the next transaction is in the file that the server writes, however
old the current one is. If the server also limits the size of all logs, the rate of their growth
says when the current file will be the oldest one above the limit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final

import structlog

from connector.binlog.gtid import GtidSet, MariadbGtidSet, contains_all, has_reached
from connector.binlog.header import file_number
from connector.foundation.errors import ConnectorError, SourceUnavailable, fields, line
from connector.foundation.metrics import CatchUpEstimate
from connector.foundation.operating_system import Background
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server import replication_status
from connector.replication.server.mysql_server import MysqlServer, name_of
from connector.replication.server.server_error_numbers import REFUSED_LOGINS
from connector.stream.metrics.pipeline_metrics import CommittedPosition, Lag, PipelineMetrics
from connector.stream.progress import progress_errors
from connector.stream.progress.progress_record import Progress
from connector.stream.sink import kafka_errors

_US = 1_000_000
# The end of a file and the header of the next one hold no transaction. If their exact size is
# unknown, less than this counts as nothing.
_HEAD_BYTES = 512
# Of a stream that lacks something, by whatever clocks: 0 means that it has everything.
_LATE_SECONDS_MIN = 0.001


@dataclass(frozen=True, slots=True)
class SourceLog:
    """The source's log at one time."""

    server_uuid: str
    files: dict[str, int]  # name to bytes, oldest first
    gtid_set: GtidSet | MariadbGtidSet | None
    retention_seconds: int  # 0 is for ever
    bytes_max: int  # limit of all files; 0 is without a limit
    now: float  # on the server's clock, seconds since the epoch
    retention_setting: str = "binlog_expire_logs_seconds"  # where the retention comes from

    @property
    def end(self) -> tuple[int, int]:
        """Number and size of the newest file."""
        name, size = next(reversed(self.files.items()))
        return file_number(name), size

    @property
    def end_text(self) -> str:
        """The end as FILE:POSITION."""
        name, size = next(reversed(self.files.items()))
        return f"{name}:{size}"

    def is_within(
        self, gtids: str | None, position: str, has_transaction: Callable[[str, int], bool]
    ) -> bool:
        """Return whether all that the log holds lies before a point of this source's stream.

        The point is the set of all transactions before it, and FILE:POSITION. The position decides
        if the source or the stream has no GTIDs, and on MariaDB if GTIDs prove nothing. A server
        that only begins new files leaves it where it is, so `has_transaction` says whether this log
        has one from a file and position on.
        """
        if isinstance(self.gtid_set, GtidSet) and gtids is not None:
            return contains_all(GtidSet.parse(gtids), self.gtid_set)
        known = None if gtids is None else MariadbGtidSet.parse(gtids)
        if has_reached(known, self.gtid_set):
            return True
        file, _, text = position.rpartition(":")
        if not file:
            return False
        offset = int(text)
        if (file_number(file), offset) >= self.end:
            return True
        return file in self.files and not has_transaction(file, offset)


# MariaDB's name since 11.4, and Percona's for the same.
_BYTES_MAX: Final = ("max_binlog_total_size", "binlog_space_limit")
_VARIABLES: Final = (*replication_status.RETENTION, *_BYTES_MAX)


def read_source_log(server: MysqlServer) -> SourceLog:
    """Ask the server; raises SourceUnavailable or SourceRefused."""
    (clock,) = server.query("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")
    status = replication_status.binary_log_status(server) or {}
    gtids: GtidSet | MariadbGtidSet | None = None
    if server.identity.flavour == "mariadb":
        gtids = MariadbGtidSet.parse(server.global_value("gtid_binlog_pos") or "")
    elif server.identity.gtid:
        gtids = GtidSet.parse(str(status.get("Executed_Gtid_Set", "")))
    with server.read_at_once(_VARIABLES):
        retention_setting, retention_seconds = replication_status.retention(server)
        bytes_max = next(filter(None, map(server.variable, _BYTES_MAX)), "0")
    return SourceLog(
        server_uuid=server.identity.server_uuid,
        files=replication_status.binary_logs(server),
        gtid_set=gtids,
        retention_seconds=retention_seconds,
        retention_setting=retention_setting,
        bytes_max=int(bytes_max),
        now=float(str(clock["now"])),
    )


def lag_of(
    log: SourceLog, position: CommittedPosition, caught_up_at: float, bytes_per_second: float
) -> Lag | None:
    """Return the lag of `position` to `log`; None if `position` belongs to another server.

    `caught_up_at` is when the stream last had everything, on the server's clock. The log grows by
    `bytes_per_second`.
    """
    progress = position.progress
    if progress.server_uuid != log.server_uuid:
        return None
    behind = _bytes_behind(log, progress.file, progress.position)
    transactions = _transactions_behind(log, progress.gtid_set)
    has_everything = (
        transactions == 0
        if transactions is not None
        else behind is not None and behind <= _HEAD_BYTES
    )
    committed_at = position.committed_us / _US
    late = max(_LATE_SECONDS_MIN, log.now - max(committed_at, caught_up_at))
    seconds = 0.0 if has_everything else late
    if transactions == 0:
        to_purge_seconds = log.retention_seconds or inf
    else:
        to_purge_seconds = _seconds_to_purge(log, progress.file, committed_at, bytes_per_second)
    return Lag(
        bytes=behind,
        transactions=transactions,
        seconds=seconds,
        to_purge_seconds=to_purge_seconds,
        retention_seconds=log.retention_seconds,
    )


def _bytes_behind(log: SourceLog, file: str, position: int) -> int | None:
    return max(0, _bytes_from(log, file) - position) if file in log.files else None


def _bytes_from(log: SourceLog, file: str) -> int:
    """Return the bytes of a file and of those after it."""
    names = list(log.files)
    return sum(log.files[name] for name in names[names.index(file) :])


def _transactions_behind(log: SourceLog, gtid_set: str | None) -> int | None:
    if gtid_set is None or log.gtid_set is None:
        return None
    if isinstance(log.gtid_set, GtidSet):
        return (log.gtid_set - GtidSet.parse(gtid_set)).count
    known = MariadbGtidSet.parse(gtid_set)
    last = {gtid.domain_id: gtid.sequence for gtid in known}
    count = sum(max(0, gtid.sequence - last.get(gtid.domain_id, 0)) for gtid in log.gtid_set)
    # The numbers of two servers do not say that there is none.
    return count if count or has_reached(known, log.gtid_set) else None


def _seconds_to_purge(
    log: SourceLog, file: str, committed_at: float, bytes_per_second: float
) -> float:
    if not file:
        # Unknown before the first event: nothing came since the stream moved to this server.
        return inf
    if file not in log.files:
        return 0.0
    writing = file == next(reversed(log.files))
    seconds = inf
    if log.retention_seconds:
        age = 0.0 if writing or not committed_at else log.now - committed_at
        seconds = max(0.0, log.retention_seconds - age)
    if log.bytes_max and not writing and bytes_per_second > 0:
        left = max(0, log.bytes_max - _bytes_from(log, file))
        seconds = min(seconds, left / bytes_per_second)
    return seconds


# Between two pings.
_PING_SECONDS = 1.0
# With the pause before it, a loss is known within 5 seconds.
_ANSWER_SECONDS = 3.0
# So many pings between two looks at the log.
_WATCHED_PINGS = 5
# If nobody reads the metrics: often enough to notice a reset, and to warn of a purge in time.
_UNWATCHED_PINGS = 10
# The stream stands still if it commits nothing for so long although the source has more.
_STILL_SECONDS = 60.0


class SourceWatch(Background):
    """Updates `metrics.lag` until it is closed."""

    def __init__(self, settings: SourceSettings, metrics: PipelineMetrics) -> None:
        """Ask the server of `settings`, often if somebody reads the metrics."""
        super().__init__("source-watch")
        self._settings = settings
        self._metrics = metrics
        self._pings = _WATCHED_PINGS if metrics.watched else _UNWATCHED_PINGS
        self._catch_up = CatchUpEstimate()
        self._first: SourceLog | None = None
        self._warned = False
        # As of the last look, so before the current one.
        self._looked_at: SourceLog | None = None
        self._committed: Progress | None = None
        # Since when the end is the same, on the server's clock, or when that was last reported.
        self._position: CommittedPosition | None = None
        self._still_since = 0.0
        self.start()

    def close(self) -> None:
        """Stop the thread; it may wait for a response, so it is not joined."""
        self._closed.set()
        self._metrics.lag = None

    def _run(self) -> None:
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
                # The old metrics would look like a stream that keeps up.
                self._metrics.lag = None
                if error.code in REFUSED_LOGINS:
                    # Why the stream is not open, it says itself.
                    self._metrics.source_answered()
                elif isinstance(error, SourceUnavailable) and not error.answered:
                    self._metrics.source_unanswered(error)
                self._closed.wait(_PING_SECONDS)

    def _wait(self, server: MysqlServer) -> None:
        """Wait for the next look, and check meanwhile whether the server answers."""
        for _ in range(self._pings):
            if self._closed.is_set():
                return
            self._metrics.source_answered()
            self._closed.wait(_PING_SECONDS)
            server.ping(_ANSWER_SECONDS)

    def look(self, log: SourceLog) -> None:
        """Ask the source for its log, and update the metrics."""
        position = self._metrics.position
        if position is None or self._closed.is_set():
            return
        if self._first is None or self._first.server_uuid != log.server_uuid:
            self._first = log
        self._metrics.control.suspect(self._doubt(log))
        self._looked_at, self._committed = log, position.progress
        since = self._metrics.caught_up_at
        if not (position.committed_us or since):
            # If no time is known yet, the lag counts from the first look.
            since = self._first.now
        now = lag_of(log, position, since, self._bytes_per_second(log))
        if now is not None and now.seconds == 0:
            self._metrics.caught_up_at = log.now
        if now is not None and now.bytes is not None:
            left = now.bytes if now.seconds else 0
            now = replace(now, catch_up_seconds=self._catch_up.note(log.now, left))
        self._metrics.lag = now
        if self._closed.is_set():
            # It changes while the source is asked.
            self._metrics.lag = None
        elif now is not None:
            self._warn(log, now)
            self._report_standstill(log, now, position)

    def _doubt(self, log: SourceLog) -> SourceUnavailable | None:
        """Return a sign that the logs were reset, else None; the next run checks it.

        A server whose logs are reset does not tell an open stream: it sends heartbeats, and
        continues with the file that it begins next.
        """
        before, progress = self._looked_at, self._committed
        if before is not None and before.server_uuid == log.server_uuid and log.end < before.end:
            return SourceUnavailable(
                progress_errors.LOG_WENT_BACK,
                answered=True,
                server=name_of(self._settings),
                end=log.end_text,
                before=before.end_text,
            )
        if progress is not None and progress.server_uuid == log.server_uuid:
            size = log.files.get(progress.file)
            if size is not None and size < progress.position:
                return SourceUnavailable(
                    progress_errors.FILE_SHRANK,
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
        if now.is_purged_soon and not self._warned:
            structlog.get_logger().warning(
                "the source will soon drop log files that were not read",
                time_to_purge_seconds=round(now.to_purge_seconds),
                lag_bytes=now.bytes,
                fix=f"keep logs longer: {_keeping(log)}",
            )
        self._warned = now.is_purged_soon

    def _report_standstill(self, log: SourceLog, now: Lag, position: CommittedPosition) -> None:
        """Report, once a minute, that nothing is committed although the source has more."""
        if now.seconds == 0 or position is not self._position:
            self._position, self._still_since = position, log.now
        elif log.now - self._still_since >= _STILL_SECONDS:
            self._still_since = log.now
            report: dict[str, Any] = line(kafka_errors.STANDSTILL)
            kafka = self._metrics.kafka
            if kafka.lost:
                report = {"event": "Kafka is still away, and the source has more"}
                report["away_seconds"] = round(kafka.away_seconds)
            structlog.get_logger().warning(
                **report,
                lag_seconds=round(now.seconds),
                lag_bytes=now.bytes,
                lag_transactions=now.transactions,
            )


def _keeping(log: SourceLog) -> str:
    if log.retention_setting == replication_status.RDS_RETENTION:
        return replication_status.set_rds_retention("hours")
    return "binlog_expire_logs_seconds, or expire_logs_days"
