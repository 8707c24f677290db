"""A moment of the source, by its own clock and by its log: through when a table is equal.

It is noted before a comparison reads anything. So each SELECT of the comparison sees everything
that the source had committed by then: if the table is found equal, the other side has all of it.
"""

from datetime import UTC, datetime
from threading import Event
from typing import Any, Final, NamedTuple, Self

from connector.binlog.gtid import MariadbGtid, MariadbGtidSet
from connector.stream.snapshot import watermark
from connector.stream.source.select_session import SelectSession

# Of a GTID set, so much of its end is shown to people.
_CHARACTERS: Final = 60
_US: Final = 1_000_000


class SourceMoment(NamedTuple):
    """A time of the source's clock, and what its log had; the earlier one is less."""

    time_us: int  # microseconds since 1970
    transactions: str  # the GTID set of all transactions until then; "" without GTIDs

    def to_json(self) -> dict[str, Any]:
        """Return the member of a report."""
        return {"time": self._time("milliseconds"), "transactions": self.transactions}

    @classmethod
    def of_json(cls, member: dict[str, Any]) -> Self:
        """Return what `to_json` wrote. Raises KeyError, TypeError or ValueError for others."""
        at = datetime.fromisoformat(member["time"])
        return cls(round(at.timestamp() * 1000) * 1000, member["transactions"])

    def __str__(self) -> str:
        known = f" ({short(self.transactions)})" if self.transactions else ""
        return f"{self._time('seconds')}{known}"

    def _time(self, parts: str) -> str:
        # The part that is cut off was before the moment, too.
        return datetime.fromtimestamp(self.time_us // 1000 / 1000, UTC).isoformat(timespec=parts)


def read_moment(session: SelectSession) -> SourceMoment:
    """Return the moment now. Raises the errors of a session."""
    # Without GTIDs, the end of the log may be of a transaction that no SELECT sees yet.
    found = _gtid_variable(session) or "''"
    (row,) = session.query(f"SELECT UTC_TIMESTAMP(6) AS at, {found} AS found")
    if session.identity.flavour == "mariadb":
        # The log has a transaction before a SELECT sees it.
        watermark.open_snapshot(session, watermark.log_end(session), Event())
        session.query("COMMIT")
    at = datetime.fromisoformat(row["at"] or "").replace(tzinfo=UTC)
    us = int(at.timestamp()) * _US + at.microsecond
    return SourceMoment(us, _one_line(row["found"]))


def transactions_of(session: SelectSession) -> str:
    """Return the GTID set that a server has; "" without GTIDs. Raises the errors of a session."""
    found = _gtid_variable(session)
    if found is None:
        return ""
    (row,) = session.query(f"SELECT {found} AS found")
    return _one_line(row["found"])


def _gtid_variable(session: SelectSession) -> str | None:
    """Return which variable has the GTID set of a server; None without GTIDs."""
    if session.identity.flavour == "mariadb":
        return "@@GLOBAL.gtid_binlog_pos"
    return "@@GLOBAL.gtid_executed" if session.identity.gtid else None


def _one_line(gtids: str | None) -> str:
    return (gtids or "").replace("\n", "")


def lost_part(session: SelectSession, transactions: str) -> str:
    """Return what the source surely lacks of transactions that it, or the one before it, had.

    "" if nothing is known to be lost. Raises the errors of a session.
    """
    if not transactions:
        return ""
    if session.identity.flavour == "mariadb":
        # It has the last number of each server in each domain.
        (row,) = session.query(
            "SELECT @@GLOBAL.gtid_binlog_state AS found, @@GLOBAL.gtid_current_pos AS known"
        )
        if not (row["found"] or row["known"]):
            # Its log was reset, and nothing was written since.
            return transactions
        state = [MariadbGtid.parse(text) for text in filter(None, (row["found"] or "").split(","))]
        last = {(gtid.domain_id, gtid.server_id): gtid.sequence for gtid in state}
        wanted = MariadbGtidSet.parse(transactions)
        lost = [each for each in wanted if last.get(_writer(each), each.sequence) < each.sequence]
        return ",".join(map(str, lost))
    if not session.identity.gtid:
        return ""
    known = "@@GLOBAL.gtid_executed"
    (row,) = session.query(f"SELECT GTID_SUBTRACT('{transactions}', {known}) AS lost")
    return _one_line(row["lost"])


def _writer(gtid: MariadbGtid) -> tuple[int, int]:
    return gtid.domain_id, gtid.server_id


def short(transactions: str) -> str:
    """Return the end of a GTID set, which has the newest transactions."""
    if len(transactions) <= _CHARACTERS:
        return transactions
    return f"…{transactions[-_CHARACTERS:]}"
