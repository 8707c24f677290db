"""What servers answer to a dump that they cannot serve, word for word, and what we advise."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.query import QueryEvent
from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.foundation.errors import SourceRefused
from connector.replication import server_errors
from connector.replication.log_search import log_head
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import validate_start
from tests.foundation.errors.texts import text_of
from tests.integration.source_server import Source, source_of
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.replication.dump import ReplicationStream

pytestmark = pytest.mark.server

START_AGAIN = (
    "what was not read is gone from this server: give the pipeline a new name and start over, or "
    "point it at a replica that still has the log"
)
RESET = (
    "the server's logs were reset, or their end was lost: give the pipeline a new name and start "
    "over, or point it at a server that has the transactions"
)
NOT_THERE = (
    "this server does not have what was read last: point the pipeline at the server that has it, "
    "or give it a new name and start over"
)
UNIQUE_ID = "give each replica and each pipeline a source.server_id of its own"
DAMAGED = "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog"


@pytest.fixture(scope="module", params=["mysql 5.7", "mysql 8.0", "mysql 9"])
def any_mysql(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Source]:
    """A MySQL of each version in turn, which has purged its first file."""
    version = request.param.removeprefix("mysql ")
    with local_stack.MysqlServer(tmp_path_factory.mktemp("any"), version=version) as server:
        source = source_of(server)
        source.execute("FLUSH LOGS", "PURGE BINARY LOGS TO 'binlog.000002'", "CREATE DATABASE d")
        yield source


@pytest.fixture(scope="module", params=["mariadb 10.5", "mariadb 10.11", "mariadb 11.8"])
def any_mariadb(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Source]:
    """A MariaDB of each version in turn."""
    version = request.param.removeprefix("mariadb ")
    with local_stack.MariadbServer(tmp_path_factory.mktemp("any"), version=version) as server:
        source = source_of(server)
        source.execute("CREATE DATABASE d", "CREATE DATABASE e")
        yield source


def by_gtid(gtids: str) -> StartPoint:
    return StartPoint("mysql", GtidSet.parse(gtids), "", 4)


def test_mysql_refuses_gtids_of_its_own_that_it_has_not(any_mysql: Source) -> None:
    ((uuid,),) = any_mysql.execute("SELECT @@server_uuid")
    text = refused(any_mysql, by_gtid(f"{uuid}:1-99"))
    assert re.search("(Slave|Replica) has more GTIDs than the (master|source) has", text)
    assert text.endswith(f"; {RESET}")


def test_mysql_refuses_what_it_has_purged(any_mysql: Source) -> None:
    text = refused(any_mysql, by_gtid(""))
    assert re.search("(has purged|purged required) binary logs", text)
    assert text.endswith(f"; {START_AGAIN}")


def test_mysql_refuses_a_file_that_it_has_not(any_mysql: Source) -> None:
    text = refused(any_mysql, StartPoint("mysql", None, "binlog.000099", 4))
    assert text == (
        f"{any_mysql.name}: error 1236: Could not find first log file name in binary log index "
        f"file; {START_AGAIN}"
    )


def test_mysql_refuses_positions_that_a_file_has_not(any_mysql: Source) -> None:
    behind = refused(any_mysql, StartPoint("mysql", None, "binlog.000002", 999_999))
    assert "start replication from position > file size" in behind
    assert behind.endswith("; choose a position inside the file")
    before = refused(any_mysql, StartPoint("mysql", None, "binlog.000002", 2))
    assert "start replication from position < 4" in before
    assert before.endswith("; choose a position inside the file")
    inside = refused(any_mysql, StartPoint("mysql", None, "binlog.000002", 200))
    assert inside.endswith(f"; {DAMAGED}")


def test_mysql_throws_the_older_of_two_readers_of_one_name_out(any_mysql: Source) -> None:
    text = thrown_out(any_mysql, StartPoint("mysql", None, "binlog.000002", 4))
    assert re.search(
        "error 1236: A (slave|replica) with the same server_uuid/server_id as this (slave|replica) "
        "has connected to the (master|source); ",
        text,
    )
    assert text.endswith(f"; {UNIQUE_ID}")


def test_mysql_refuses_gtids_when_it_has_them_no_more(any_mysql: Source) -> None:
    modes = ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF")
    any_mysql.execute(*(f"SET GLOBAL gtid_mode = {mode}" for mode in modes))
    try:
        text = refused(any_mysql, by_gtid(""))
    finally:
        back = ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
        any_mysql.execute(*(f"SET GLOBAL gtid_mode = {mode}" for mode in back))
    assert text == (
        f"{any_mysql.name}: error 1236: The replication sender thread cannot start in "
        "AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON; SET GLOBAL gtid_mode "
        "back to ON, or give the pipeline a new name and start over"
    )


@pytest.fixture
def soon_reset(any_mysql: Source) -> Iterator[Source]:
    """The same server, whose log is afterwards as it was at first."""
    yield any_mysql
    words = "BINARY LOGS AND GTIDS" if any_mysql.server.version >= (8, 4, 0) else "MASTER"
    any_mysql.execute(
        f"RESET {words}",
        "CREATE DATABASE before_it",
        "FLUSH LOGS",
        "PURGE BINARY LOGS TO 'binlog.000002'",
        "CREATE DATABASE after_it",
    )


def test_transactions_without_gtids_are_not_passed_over(soon_reset: Source) -> None:
    source = soon_reset
    read = begin(source, "latest")
    source.execute("CREATE DATABASE with_gtid")
    later = begin(source, "latest")
    source.execute(
        *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE")),
        "CREATE DATABASE without_gtid",
        *(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "ON")),
        "CREATE DATABASE with_another",
    )
    file, position = without_gtid(source)
    after = f"position:{file}:{position}"
    refused_start = text_of(
        server_errors.NO_GTID_NEXT, server=source.name, file=file, position=position
    )
    # A stream goes on, and one begins, where the next transaction has none.
    with MysqlServer.connect(source.settings()) as server:
        with pytest.raises(SourceRefused) as caught:
            validate_start(server, later)
        assert caught.value.text == refused_start
        assert validate_start(server, read) == read
    assert f'source.start = "{after}"' in refused(source, read)
    with pytest.raises(SourceRefused) as caught:
        begin(source, after)
    assert caught.value.text == refused_start
    # After it, nothing of it is read.
    for end in end_of(source, file):
        assert databases(source, begin(source, f"position:{file}:{end}")) == ["with_another"]
    # What all of them advise.
    source.execute("SET GLOBAL gtid_mode = ON_PERMISSIVE")
    point = begin(source, after)
    assert databases(source, point) == ["without_gtid", "with_another"]
    source.execute("SET GLOBAL gtid_mode = ON")
    assert refused(source, point).endswith(
        "; SET GLOBAL gtid_mode = ON_PERMISSIVE until the transactions without GTIDs were read"
    )


def begin(source: Source, start: str) -> StartPoint:
    """Return a point as a stream keeps it that has read up to there."""
    with MysqlServer.connect(source.settings()) as server:
        point = resolve_start(server, start)
        validate_start(server, point)
        return replace(point, file_created=log_head(server, point.file).created)


def without_gtid(source: Source) -> tuple[str, int]:
    """Return file and position of the only transaction that has none."""
    (found,) = [
        (file, event[1])
        for (file, *_) in source.execute("SHOW BINARY LOGS")
        for event in source.execute(f"SHOW BINLOG EVENTS IN '{file}'")
        if event[2] == "Anonymous_Gtid"
    ]
    return found


def end_of(source: Source, file: str) -> tuple[int, int]:
    """Return the position after the last transaction of a file, and the end of the file."""
    last = source.execute(f"SHOW BINLOG EVENTS IN '{file}'")[-1]
    assert last[2] == "Rotate"
    return last[1], last[4]


def databases(source: Source, point: StartPoint) -> list[str]:
    """Return the databases that are created after `point`."""
    decoder = EventDecoder()
    with open_stream(source.settings(), point, replica_name="read", stop_at_end=True) as stream:
        events = [decoder.decode(data) for data in iter(lambda: stream.receive(10.0), None)]
    texts = [event.body.query for event in events if isinstance(event.body, QueryEvent)]
    return re.findall(r"CREATE DATABASE (\w+)", " ".join(texts))


def test_mariadb_refuses_gtids_that_it_has_not(any_mariadb: Source) -> None:
    for gtids in ("0-1-99", "0-9-2"):
        text = refused(any_mariadb, StartPoint("mariadb", MariadbGtidSet.parse(gtids), "", 4))
        said = f"requested to start from GTID {gtids}, which is not in the master's binlog"
        assert said in text
        assert text.endswith(f"; {NOT_THERE}")


def test_mariadb_refuses_positions_that_it_has_not(any_mariadb: Source) -> None:
    file = refused(any_mariadb, StartPoint("mariadb", None, "binlog.000099", 4))
    assert file == (
        f"{any_mariadb.name}: error 1236: Could not find first log file name in binary log index "
        f"file; {START_AGAIN}"
    )
    oldest = any_mariadb.execute("SHOW BINARY LOGS")[0][0]
    for position in (2, 999_999):
        text = refused(any_mariadb, StartPoint("mariadb", None, oldest, position))
        assert "start replication from impossible position; " in text
        assert text.endswith("; choose a position inside the file")


def test_mariadb_throws_the_older_of_two_readers_of_one_number_out(any_mariadb: Source) -> None:
    # Its first log may have been purged by another test.
    ((latest,),) = any_mariadb.execute("SELECT @@GLOBAL.gtid_binlog_pos")
    text = thrown_out(any_mariadb, StartPoint("mariadb", MariadbGtidSet.parse(latest), "", 4))
    assert re.search(r"error 4052: A slave with the same server_(uuid/server_)?id ", text)
    assert text.endswith(f"; {UNIQUE_ID}")


def test_mariadb_refuses_what_it_has_purged(any_mariadb: Source) -> None:
    any_mariadb.execute("FLUSH LOGS", "CREATE DATABASE f", "FLUSH LOGS")
    any_mariadb.purge_to(any_mariadb.execute("SHOW BINARY LOGS")[-1][0])
    text = refused(any_mariadb, StartPoint("mariadb", MariadbGtidSet(), "", 4))
    assert "Could not find GTID state requested by slave in any binlog files" in text
    assert text.endswith(f"; {START_AGAIN}")


def refused(source: Source, point: StartPoint) -> str:
    """Return what comes of a dump from `point`."""
    with (
        # A server that serves it after all comes to an end, and sends no heartbeats for ever.
        open_stream(source.settings(), point, replica_name="refused", stop_at_end=True) as stream,
        pytest.raises(SourceRefused) as caught,
    ):
        read_to_its_end(stream)
    return caught.value.text


def read_to_its_end(stream: ReplicationStream) -> None:
    while stream.receive(10.0):
        pass


def thrown_out(source: Source, point: StartPoint) -> str:
    """Return what comes of a dump when another reader of the same name and number begins."""
    settings = source.settings()
    with open_stream(settings, point, replica_name="twice") as older:
        while older.receive(0.5):
            pass
        with open_stream(settings, point, replica_name="twice") as newer:
            newer.receive(5.0)
            with pytest.raises(SourceRefused) as caught:
                read_to_its_end(older)
    return caught.value.text
