"""Where an event is does not depend on how it was read: whole file, from the start, or resumed.

The position of a transaction's first event orders changes, so it must be the same on every read.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.transaction import GtidEvent
from connector.binlog.gtid import GtidSet, MariadbGtid, MariadbGtidSet
from connector.foundation.settings.sections import SourceSettings
from connector.replication.start_point import StartPoint
from tests.binlog.source_log import SourceLog, split
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from local_stack import Endpoint, MariadbServer, MysqlServer

pytestmark = pytest.mark.server

# file, position, next position, type
Place = tuple[str, int, int, int]


def write_transactions(log: SourceLog) -> None:
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    for n in range(6):
        if n == 3:
            log.execute("FLUSH BINARY LOGS")
        log.execute("BEGIN")
        log.execute(f"INSERT INTO t VALUES ({n}, REPEAT('x', {n * 100}))")
        log.execute(f"UPDATE t SET v = 'y' WHERE id = {n}")
        log.execute("COMMIT")


def place(event: Event) -> Place:
    return event.file, event.position, event.next_position, event.header.type_code


def exact(events: list[Event]) -> list[Place]:
    """The places that headers give; MariaDB gives none inside a transaction."""
    return [place(e) for e in events if e.header.log_pos]


def gtid_events(events: list[Event]) -> list[Event]:
    return [e for e in events if isinstance(e.body, (GtidEvent, MariadbGtidEvent))]


def from_files(log: SourceLog) -> list[Event]:
    """Every event of every file of the server."""
    base = Path(str(log.execute("SELECT @@log_bin_basename")[0][0]))
    events = []
    for name, *_ in log.execute("SHOW BINARY LOGS"):
        decoder = EventDecoder(file=str(name))
        events += [decoder.decode(e) for e in split(base.with_name(str(name)).read_bytes())]
    return events


def from_server(endpoint: Endpoint, point: StartPoint, last: Place) -> list[Event]:
    """Every event that has a place, from `point` up to the one at `last`."""
    settings = SourceSettings(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=SecretStr(endpoint.password),
        server_id=4000,
    )
    decoder = EventDecoder()
    events: list[Event] = []
    with open_stream(settings, point, replica_name="places") as stream:
        while not events or place(events[-1]) != last:
            data = stream.receive(30.0)
            assert data is not None
            event = decoder.decode(data)
            if event.next_position != event.position:
                events.append(event)
    return events


def assert_same_places_behind(
    log: SourceLog, endpoint: Endpoint, points: list[tuple[Event, StartPoint]]
) -> None:
    whole = from_files(log)
    last = place(whole[-1])
    for first, point in points:
        resumed = from_server(endpoint, point, last)
        expected = whole[whole.index(first) :]
        # A server that starts in the middle of a file repeats what every file starts with.
        start = next(n for n, e in enumerate(resumed) if place(e) == place(first))
        assert exact(resumed[start:]) == exact(expected)
        assert [e.body for e in gtid_events(resumed)] == [e.body for e in gtid_events(expected)]


def test_the_events_of_a_file_lie_end_to_end(source_log: SourceLog) -> None:
    write_transactions(source_log)
    for before, after in pairwise(from_files(source_log)):
        assert after.position == (before.next_position if after.file == before.file else 4)


def test_mysql_resumes_at_the_positions_of_the_first_read(
    mysql_log: SourceLog, mysql_server: MysqlServer
) -> None:
    write_transactions(mysql_log)
    whole = gtid_events(from_files(mysql_log))
    executed = str(mysql_log.execute("SELECT @@GLOBAL.gtid_executed")[0][0])
    points = []
    for first in whole[-5:]:
        done = GtidSet.parse(executed)
        for later in whole[whole.index(first) :]:
            assert isinstance(later.body, GtidEvent)
            done = done - GtidSet.parse(str(later.body.gtid))
        points.append((first, StartPoint("mysql", done, "", 4)))
        points.append((first, StartPoint("mysql", None, first.file, first.position)))
    assert_same_places_behind(mysql_log, mysql_server.endpoint, points)


def test_mariadb_resumes_at_the_positions_of_the_first_read(
    mariadb_log: SourceLog, mariadb_server: MariadbServer
) -> None:
    write_transactions(mariadb_log)
    whole = gtid_events(from_files(mariadb_log))
    points = []
    for before, first in pairwise(whole[-6:]):
        assert isinstance(before.body, MariadbGtidEvent)
        done = MariadbGtidSet()
        done.add(MariadbGtid.parse(str(before.body.gtid)))
        points.append((first, StartPoint("mariadb", done, "", 4)))
        points.append((first, StartPoint("mariadb", None, first.file, first.position)))
    assert_same_places_behind(mariadb_log, mariadb_server.endpoint, points)
