"""Watermarks: whether a SELECT sees everything that the stream has delivered.

A server sends events before its engine has committed them. So a SELECT may not yet see what the
stream has delivered. And the server commits while a chunk is read. So a SELECT may see what the
stream has not yet delivered. `read_after_delivered` handles both: it reads after everything is
visible that was delivered when the chunk's window opened. It also returns the position that the
stream must reach before the rows may be written.

*MySQL with GTIDs.* A GTID joins gtid_executed when its transaction is visible. *MySQL without.* A
transaction that is in the log and not yet visible holds the locks on its rows, so a locking read
waits for it. *MariaDB.* A consistent snapshot has its position in the log.

The end of the log is read afterwards: a transaction is in the log before it is visible.

https://mariadb.com/docs/server/server-management/variables-and-modes/server-status-variables#binlog_snapshot_position
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple, Self, TypeVar

from connector.binlog.header import file_number
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.replication import dump_errors
from connector.replication.server.replication_status import status_query
from connector.stream.source.select_session import SelectSession

_WAIT_SECONDS = 1
_LOOK_SECONDS = 0.005

_Read = TypeVar("_Read")

_FOR_SHARE = " LOCK IN SHARE MODE"
_SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


class LogPosition(NamedTuple):
    """The first byte after something in the log of one server; compares in the order of the log."""

    file: int  # the number at the end of the file's name
    position: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read FILE:POSITION; None if it names no file, as before the first event of a server."""
        file, _, position = text.rpartition(":")
        return cls(file_number(file), int(position)) if file else None


@dataclass(frozen=True, slots=True)
class DeliveredPosition:
    """What the stream had delivered at some time, between two transactions."""

    gtid_set: str | None  # for MySQL with GTIDs
    position: LogPosition | None  # None before the first event of this server


def read_after_delivered(
    session: SelectSession,
    delivered: DeliveredPosition,
    read: Callable[[str], _Read],
    closing: Event,
    *,
    transactional: bool,
) -> tuple[_Read, LogPosition]:
    """Return the result of `read`, and the position that the stream must reach before it is used.

    `read` gets the clause for the end of its SELECT. `transactional` says whether the table's
    engine has consistent snapshots. Raises the errors of the session.
    """
    identity = session.identity
    if identity.flavour == "mariadb":
        least = delivered.position or log_end(session)
        seen = open_snapshot(session, least, closing)
        try:
            result = read("")
        except (SourceUnavailable, SourceRefused) as error:
            if error.number:
                # The server's own error ends the statement, and neither the transaction nor its
                # metadata lock: a statement that waits for it would stop all who read the table.
                session.query("ROLLBACK")
            raise
        session.query("COMMIT")
        return result, seen if transactional else log_end(session)
    if delivered.gtid_set is None:
        return read(_FOR_SHARE), log_end(session)
    wait_until_visible(session, delivered.gtid_set)
    return read(""), log_end(session)


def wait_until_visible(session: SelectSession, gtid_set: str) -> None:
    """Wait until every transaction of a set is visible; raises if the session is closed."""
    sql = f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtid_set}', {_WAIT_SECONDS}) AS timed_out"
    while session.query(sql)[0]["timed_out"] != "0":
        pass


def log_end(session: SelectSession) -> LogPosition:
    """Return the end of the server's log.

    Raises SourceRefused if the log is off.
    """
    rows = session.query(status_query(session.identity))
    if not rows:
        raise SourceRefused(dump_errors.LOG_OFF, server=session.name)
    return LogPosition(file_number(rows[0]["File"] or ""), int(rows[0]["Position"] or 0))


def snapshot_position(session: SelectSession) -> LogPosition:
    """Return the position in the log of the open snapshot of a MariaDB session."""
    status = {
        (row["Variable_name"] or "").lower(): row["Value"] or ""
        for row in session.query("SHOW STATUS LIKE 'binlog_snapshot_%'")
    }
    return LogPosition(
        file_number(status["binlog_snapshot_file"]), int(status["binlog_snapshot_position"])
    )


def open_snapshot(session: SelectSession, least: LogPosition, closing: Event) -> LogPosition:
    """Begin a transaction on MariaDB that sees everything up to `least`; return its position."""
    while True:
        session.query(_SNAPSHOT)
        seen = snapshot_position(session)
        if seen >= least:
            return seen
        session.query("COMMIT")
        closing.wait(_LOOK_SECONDS)
