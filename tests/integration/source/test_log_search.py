"""The first transaction at or behind a time, on real servers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.replication.log_search import log_head
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import validate_start
from tests.foundation.errors.patterns import fits
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.replication.start_point import StartPoint
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


@pytest.fixture(params=["own_mysql", "own_mariadb", "without_gtids"])
def logging_source(request: pytest.FixtureRequest) -> Iterator[Source]:
    """A server whose log is the test's alone, with and without GTIDs."""
    source: Source = request.getfixturevalue(request.param)
    # The one without GTIDs is that of other tests as well.
    source.execute("DROP DATABASE IF EXISTS d", "RESET MASTER")
    yield source
    source.execute("DROP DATABASE IF EXISTS d")


def found(source: Source, text: str) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        return validate_start(server, resolve_start(server, f"timestamp:{text}"))


def refusal(source: Source, text: str) -> str:
    with pytest.raises(SourceRefused) as caught:
        found(source, text)
    return caught.value.text


def latest(source: Source) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        return resolve_start(server, "latest")


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def pause() -> float:
    """Return a time that lies seconds from what was committed before, and from what comes."""
    time.sleep(1.2)
    now = time.time()
    time.sleep(1.2)
    return now


def written_in_order(source: Source) -> list[tuple[StartPoint, float]]:
    """Commit in several files; return the place behind each commit, and a time at which it was."""
    places = []
    source.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    for number in range(4):
        places.append((latest(source), pause()))
        source.execute(f"INSERT INTO d.t VALUES ({number})")
        if number % 2:
            source.execute("FLUSH LOGS")
    return places


def test_a_time_becomes_the_position_of_the_next_transaction(logging_source: Source) -> None:
    for place, moment in written_in_order(logging_source):
        point = found(logging_source, iso(moment))
        assert point.gtid_set == place.gtid_set
        # Behind a rotation, either end of it is the same place.
        files = {place.file, f"binlog.{int(place.file[-6:]) + 1:06}"}
        assert point.file in files
        events = logging_source.execute(
            f"SHOW BINLOG EVENTS IN '{point.file}' FROM {point.position} LIMIT 1"
        )
        assert events[0][2] in ("Gtid", "Anonymous_Gtid")
        settings = logging_source.settings()
        with open_stream(settings, point, replica_name="p", stop_at_end=True) as stream:
            assert stream.receive(10.0)


def test_after_the_last_transaction_a_time_is_the_end_of_the_log(logging_source: Source) -> None:
    logging_source.execute("CREATE DATABASE d")
    end = latest(logging_source)
    point = found(logging_source, iso(pause()))
    assert (point.gtid_set, point.file, point.position) == (end.gtid_set, end.file, end.position)


def test_a_time_may_be_given_in_any_zone(own_mysql: Source) -> None:
    own_mysql.execute("CREATE DATABASE d")
    moment = pause()
    own_mysql.execute("DROP DATABASE d")
    there = datetime.fromtimestamp(moment, timezone(timedelta(hours=5, minutes=30)))
    assert found(own_mysql, there.isoformat()) == found(own_mysql, iso(moment))


def test_a_time_before_the_oldest_log_is_refused(own_mysql: Source) -> None:
    moment = time.time()
    pause()
    own_mysql.execute("FLUSH LOGS", "PURGE BINARY LOGS TO 'binlog.000002'")
    with MysqlServer.connect(own_mysql.settings()) as server:
        begins = datetime.fromtimestamp(log_head(server, "binlog.000002").created, UTC)
    assert refusal(own_mysql, iso(moment)) == (
        f"{own_mysql.name}: source.start timestamp:{iso(moment)} lies before the oldest log, "
        f"binlog.000002, which begins at {begins:%Y-%m-%dT%H:%M:%SZ}; choose a time from then on, "
        "or set source.start to earliest"
    )


def test_a_time_in_the_future_is_refused(mysql: Source) -> None:
    said = refusal(mysql, "2999-01-01T00:00:00Z")
    assert fits(said, dump_errors.FUTURE, server=mysql.name, time="2999-01-01T00:00:00Z")


@pytest.mark.parametrize("text", ["2026-11-21T10:00:00", "2026-11-21", "2026-13-01T00:00:00Z"])
def test_a_time_without_its_zone_is_refused(mysql: Source, text: str) -> None:
    assert refusal(mysql, text) == (
        f"source.start timestamp:{text} is not a time with its zone; write it like "
        "timestamp:2026-11-21T10:00:00Z"
    )
