"""A moment of the source has what was committed before it, as the server itself tells."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from connector.binlog.gtid import contains_all, parse_gtid_set
from connector.stream.source.select_session import SelectSession
from verification.source_moment import SourceMoment, read_moment

if TYPE_CHECKING:
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


def known_to(server: Source) -> tuple[str, float]:
    """Return the transactions and the time that the server has."""
    name = "gtid_binlog_pos" if server.is_mariadb else "gtid_executed"
    ((transactions, at),) = server.execute(f"SELECT @@GLOBAL.{name}, UTC_TIMESTAMP(6)")
    return transactions.replace("\n", ""), at.replace(tzinfo=UTC).timestamp()


def test_a_moment_has_the_transactions_and_the_time_of_the_server(
    server: Source, place: str
) -> None:
    flavour = "mariadb" if server.is_mariadb else "mysql"
    settings = server.settings(user=server.create_account("SELECT, REPLICATION CLIENT"))
    server.execute(f"CREATE TABLE {place}.t (id INT PRIMARY KEY)")
    transactions, began = known_to(server)
    with SelectSession(settings) as session:
        moment = read_moment(session)
        server.execute(f"INSERT INTO {place}.t VALUES (1)")
        later = read_moment(session)
        # No transaction stays open: the session sees what comes.
        (row,) = session.query(f"SELECT COUNT(*) AS found FROM {place}.t")
    assert row["found"] == "1"
    assert began <= moment.time_us / 1e6 <= later.time_us / 1e6 <= known_to(server)[1]
    if session.identity.flavour == "mysql" and not session.identity.gtid:
        assert (moment.transactions, later.transactions) == ("", "")
        return
    first, second = (parse_gtid_set(each.transactions, flavour) for each in (moment, later))
    assert contains_all(first, parse_gtid_set(transactions, flavour))
    assert contains_all(second, first)
    assert not contains_all(first, second)


def test_a_moment_that_was_written_is_not_later() -> None:
    at = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000 + 999_999
    moment = SourceMoment(at, "0-1-7")
    again = SourceMoment.of_json(moment.to_json())
    assert again == SourceMoment(at - 999, "0-1-7")
    assert str(again) == "2026-03-01T12:00:00+00:00 (0-1-7)"
    assert str(SourceMoment(at, "")) == "2026-03-01T12:00:00+00:00"
    assert str(SourceMoment(at, f"{'a' * 70}:1-5")).endswith(f"(…{'a' * 56}:1-5)")
