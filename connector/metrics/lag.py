"""Computes the lag from the source's log and the stream's position.

*Seconds.* A stream that has everything has no lag, however old the last change is. Otherwise,
the lag counts from the commit of the last delivered transaction, or from when the stream had
everything, whichever is later: the missing transactions came after both.

*Purge.* A server purges a log file once it is older than the retention, but never the file that it
writes. The current file is at least as new as the last transaction that was read from it. If GTIDs
say that everything was read, the next transaction is in the file that the server writes, however
old the current one is. If the server also limits the size of all logs, the rate of their growth
says when the current file will be the oldest one above the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from connector.binlog.framing.log_position import file_number
from connector.gtid import GtidSet, MariadbGtidSet
from connector.metrics.figures import Lag
from connector.source.server.binary_logs import binary_log_status, binary_logs, retention

if TYPE_CHECKING:
    from connector.metrics.figures import CommittedPosition
    from connector.source.server.mysql_server import MysqlServer

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


def read_source_log(server: MysqlServer) -> SourceLog:
    """Ask the server; raises SourceUnavailable or SourceRefused."""
    (clock,) = server.query("SELECT UNIX_TIMESTAMP(NOW(6)) AS now")
    status = binary_log_status(server) or {}
    gtids: GtidSet | MariadbGtidSet | None = None
    if server.identity.flavour == "mariadb":
        gtids = MariadbGtidSet.parse(server.global_value("gtid_binlog_pos") or "")
    elif server.identity.gtid:
        gtids = GtidSet.parse(str(status.get("Executed_Gtid_Set", "")))
    retention_setting, retention_seconds = retention(server)
    return SourceLog(
        server_uuid=server.identity.server_uuid,
        files=binary_logs(server),
        gtid_set=gtids,
        retention_seconds=retention_seconds,
        retention_setting=retention_setting,
        # MariaDB 11.4, and Percona's name for the same.
        bytes_max=int(
            server.variable("max_binlog_total_size") or server.variable("binlog_space_limit") or 0
        ),
        now=float(str(clock["now"])),
    )


def lag_of(
    log: SourceLog, standing: CommittedPosition, caught_up_at: float, bytes_per_second: float
) -> Lag | None:
    """Return the lag of `standing` to `log`; None if `standing` belongs to another server.

    `caught_up_at` is when the stream last had everything, on the server's clock. The log grows by
    `bytes_per_second`.
    """
    progress = standing.progress
    if progress.server_uuid != log.server_uuid:
        return None
    behind = _bytes_behind(log, progress.file, progress.position)
    transactions = _transactions_behind(log, progress.gtid_set)
    has_everything = (
        transactions == 0
        if transactions is not None
        else behind is not None and behind <= _HEAD_BYTES
    )
    committed_at = standing.committed_us / _US
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
    names = list(log.files)
    if file not in log.files:
        return None
    later = names[names.index(file) :]
    return max(0, sum(log.files[name] for name in later) - position)


def _transactions_behind(log: SourceLog, gtid_set: str | None) -> int | None:
    if gtid_set is None or log.gtid_set is None:
        return None
    if isinstance(log.gtid_set, GtidSet):
        return (log.gtid_set - GtidSet.parse(gtid_set)).count
    last = {gtid.domain_id: gtid.sequence for gtid in MariadbGtidSet.parse(gtid_set)}
    return sum(max(0, gtid.sequence - last.get(gtid.domain_id, 0)) for gtid in log.gtid_set)


def _seconds_to_purge(
    log: SourceLog, file: str, committed_at: float, bytes_per_second: float
) -> float:
    names = list(log.files)
    if not file:
        # Unknown before the first event: nothing came since the stream moved to this server.
        return inf
    if file not in log.files:
        return 0.0
    writing = file == names[-1]
    seconds = inf
    if log.retention_seconds:
        age = 0.0 if writing or not committed_at else log.now - committed_at
        seconds = max(0.0, log.retention_seconds - age)
    if log.bytes_max and not writing and bytes_per_second > 0:
        kept = sum(log.files[name] for name in names[names.index(file) :])
        seconds = min(seconds, max(0, log.bytes_max - kept) / bytes_per_second)
    return seconds
