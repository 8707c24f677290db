"""What the source says of its log, and where the stream stands, to how far it is behind.

*Seconds.* A stream that has everything is 0 seconds behind, however long ago that was written. Else
it is behind since the last transaction that it delivered was committed, or since it had everything,
whichever is later: the transactions that it lacks have come since.

*Purge.* A server drops a log file once the file is older than the retention, and never the one that
it writes. The file at hand is at least as young as the last transaction that was read from it; and
where GTIDs tell that everything was read, what comes next is in the file that is written, however
old the one at hand is.
Where the server also bounds the size of all logs, the rate at which they grow tells when the file
at hand is the oldest beyond the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from connector.gtid import GtidSet, MariadbGtidSet
from connector.metrics.figures import Lag
from connector.progress.order import file_number
from connector.source.server.binary_logs import binary_log_status, binary_logs, retention

if TYPE_CHECKING:
    from connector.metrics.figures import CommittedPosition
    from connector.source.server.mysql_server import MysqlServer

_US = 1_000_000
# The end of a file and the head of the next one, which hold no transaction: where those cannot be
# counted, less is nothing.
_HEAD_BYTES = 512


@dataclass(frozen=True, slots=True)
class SourceLog:
    """The source's log at one time."""

    server_uuid: str
    files: dict[str, int]  # name to bytes, oldest first
    gtid_set: GtidSet | MariadbGtidSet | None
    retention_seconds: int  # 0 is for ever
    bytes_max: int  # of all files; 0 is without bound
    now: float  # on the server's clock, seconds since the epoch
    retention_setting: str = "binlog_expire_logs_seconds"  # that the retention comes from

    @property
    def end(self) -> tuple[int, int]:
        """Number and size of the newest file."""
        name, size = next(reversed(self.files.items()))
        return file_number(name), size

    @property
    def end_text(self) -> str:
        """FILE:POSITION of the end."""
        name, size = next(reversed(self.files.items()))
        return f"{name}:{size}"


def read_source_log(server: MysqlServer) -> SourceLog:
    """Ask the server.

    Raises SourceUnavailable or SourceRefused.
    """
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
    """Return how far `standing` is behind `log`; None where it is a place of another server.

    `caught_up_at` is when nothing was left to read last, on the server's clock; the log grows by
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
    seconds = 0.0 if has_everything else max(0.0, log.now - max(committed_at, caught_up_at))
    if transactions == 0:
        to_purge_seconds = log.retention_seconds or inf
    else:
        to_purge_seconds = _seconds_to_purge(log, progress.file, committed_at, bytes_per_second)
    return Lag(
        bytes=behind,
        transactions=transactions,
        seconds=seconds,
        to_purge_seconds=to_purge_seconds,
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
        # The server has not named it yet: nothing came since the stream went over to it.
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
