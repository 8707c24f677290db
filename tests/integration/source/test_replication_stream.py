"""What arrives is compared with the server's own files, byte for byte."""

from __future__ import annotations

import os
import signal
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from connector.binlog.gtid import GtidSet, MariadbGtidSet
from connector.binlog.log_errors import ProtocolError
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.replication import dump_errors
from connector.replication.dump import ReplicationStream
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import StartPoint
from connector.replication.start_setting import resolve_start
from tests.foundation.errors.patterns import fits
from tests.foundation.errors.texts import text_of
from tests.integration.harness import wait_until
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

FORMAT_DESCRIPTION, ROTATE, HEARTBEAT, XID = 15, 4, 27, 16
NEVER = 0  # no server sends UNKNOWN_EVENT
WRITE_ROWS = {23, 30}
GTID_TYPES = {33, 162}
ANNOTATE_ROWS = 160
NAME = "pipeline-1"


def point_of(source: Source, start: str) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        return resolve_start(server, start)


def open_at(source: Source, start: str) -> ReplicationStream:
    return open_stream(source.settings(), point_of(source, start), replica_name=NAME)


def next_event(stream: ReplicationStream) -> bytes:
    while (event := stream.receive(5.0)) is None:
        pass
    return event


def read_until(stream: ReplicationStream, event_type: int, count: int = 1) -> list[bytes]:
    """Read up to the `count`th event of a type; every checksum is verified."""
    events = []
    while count:
        event = next_event(stream)
        assert int.from_bytes(event[9:13], "little") == len(event)
        is_format_description = event[4] == FORMAT_DESCRIPTION
        if not is_format_description and event[4] != ROTATE:
            assert crc32(event[:-4]) == int.from_bytes(event[-4:], "little")
        events.append(event)
        count -= event[4] == event_type
    return events


def events_of_log(source: Source) -> list[bytes]:
    """Return the events of every log file on disk that belong to transactions."""
    events = []
    for name, *_ in source.execute("SHOW BINARY LOGS"):
        data = (source.server.directory / "data" / name).read_bytes()
        offset = 4
        while offset < len(data):
            size = int.from_bytes(data[offset + 9 : offset + 13], "little")
            events.append(data[offset : offset + size])
            offset += size
    return of_transactions(events)


def of_transactions(events: list[bytes]) -> list[bytes]:
    """Leave out what a dump makes up, or sends again: types of files rather than of changes."""
    own = {FORMAT_DESCRIPTION, ROTATE, HEARTBEAT, 3, 35, 160, 161, 163}
    return [event for event in events if event[4] not in own]


def test_earliest_streams_the_whole_log_as_it_is_on_disk(source: Source, schema: str) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v LONGBLOB)",
        f"INSERT INTO {schema}.t VALUES (1, 'a'), (2, NULL)",
        "FLUSH LOGS",
        f"UPDATE {schema}.t SET v = REPEAT('x', 100000)",
        f"DELETE FROM {schema}.t",
    )
    expected = events_of_log(source)
    events: list[bytes] = []
    # Other tests have written much before.
    missing = len(expected)
    with open_at(source, "earliest") as stream:
        while missing:
            events.append(next_event(stream))
            missing -= len(of_transactions(events[-1:]))
    # First of all: which file this is, and how its events look.
    assert [event[4] for event in events[:2]] == [ROTATE, FORMAT_DESCRIPTION]
    assert of_transactions(events) == expected


def test_a_stream_after_gtids_has_only_what_follows(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)")
    source.execute(f"INSERT INTO {schema}.t VALUES (1)")
    behind_first = point_of(source, "latest").gtid_set
    source.execute(f"INSERT INTO {schema}.t VALUES (2)")
    assert behind_first
    with open_at(source, f"gtid:{behind_first}") as stream:
        events = read_until(stream, XID)
    rows = [event for event in events if event[4] in WRITE_ROWS]
    assert [row[-8:-4] for row in rows] == [(2).to_bytes(4, "little")]
    assert sum(event[4] in GTID_TYPES for event in events) == 1


def test_a_stream_follows_what_happens_next(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)")
    with open_at(source, "latest") as stream:
        while stream.receive(0.2) is not None:
            pass
        assert not stream.buffered
        for number in range(5):
            source.execute(f"INSERT INTO {schema}.t VALUES ({number})")
        events = read_until(stream, XID, 5)
    assert sum(event[4] in WRITE_ROWS for event in events) == 5


def test_a_source_without_gtids_streams_by_position(without_gtids: Source) -> None:
    source = without_gtids
    source.execute("CREATE DATABASE IF NOT EXISTS d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    point = point_of(source, "latest")
    assert point.gtid_set is None
    source.execute("INSERT INTO d.t VALUES (7)", "DROP TABLE d.t")
    with open_at(source, f"position:{point.file}:{point.position}") as stream:
        events = read_until(stream, XID)
    assert int.from_bytes(events[0][19:27], "little") == point.position
    assert [event[-8:-4] for event in events if event[4] in WRITE_ROWS] == [b"\7\0\0\0"]


@pytest.mark.parametrize("by", ["gtid", "position"])
def test_a_stream_ends_at_the_end_of_the_log_where_that_was_asked_for(
    source: Source, schema: str, by: str
) -> None:
    point = point_of(source, "latest")
    if by == "position":
        point = replace(point, gtid_set=None)
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)")
    for number in range(3):
        source.execute(f"INSERT INTO {schema}.t VALUES ({number})")
    with (
        open_at(source, "latest") as replica,
        open_stream(source.settings(), point, replica_name=NAME, stop_at_end=True) as stream,
    ):
        events = []
        while (event := stream.receive(5.0)) is not None:
            events.append(event)
            assert not stream.ended
        assert stream.ended
        assert stream.receive(0.0) is None
        # It was no replica: the one with the same name goes on.
        # The server may still list that of another test for a moment.
        wait_until(
            lambda: len(source.execute("SHOW SLAVE HOSTS")) == 1, lambda: "both are replicas"
        )
        assert next_event(replica)[4] == ROTATE
    assert sum(event[4] in WRITE_ROWS for event in events) == 3
    assert sum(event[4] == ANNOTATE_ROWS for event in events) == (3 if source.is_mariadb else 0)


@pytest.mark.parametrize("event_bytes", [2**24 - 2, 2**24 - 1, 2**24, 17_000_000])
def test_an_event_of_16_mib_and_more_arrives_whole(
    source: Source, schema: str, event_bytes: int
) -> None:
    source.execute(
        "SET GLOBAL max_allowed_packet = 67108864",
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v LONGBLOB)",
    )
    with open_at(source, "latest") as stream:
        source.execute(f"INSERT INTO {schema}.t VALUES (1, '')")
        (probe,) = (e for e in read_until(stream, XID) if e[4] in WRITE_ROWS)
        length = event_bytes - len(probe)
        source.execute(f"INSERT INTO {schema}.t VALUES (2, REPEAT('z', {length}))")
        (event,) = (e for e in read_until(stream, XID) if e[4] in WRITE_ROWS)
        # What follows is in step again.
        source.execute(f"INSERT INTO {schema}.t VALUES (3, '')")
        read_until(stream, XID)
    assert len(event) == event_bytes
    assert event[-4 - length : -4] == b"z" * length


def test_a_stream_is_the_same_under_tls(source: Source, schema: str) -> None:
    source.execute(
        "SET GLOBAL max_allowed_packet = 67108864",
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v LONGBLOB)",
    )
    point = point_of(source, "latest")
    source.execute(f"INSERT INTO {schema}.t VALUES (1, REPEAT('z', 20000000))")
    read = []
    for mode in ("required", "disabled"):
        settings = source.settings(tls={"mode": mode})
        with open_stream(settings, point, replica_name=NAME) as stream:
            read.append(of_transactions(read_until(stream, XID)))
    assert read[0] == read[1]


def test_an_idle_stream_has_heartbeats(source: Source) -> None:
    settings = source.settings(read_timeout_seconds=1)
    with open_stream(settings, point_of(source, "latest"), replica_name=NAME) as stream:
        events = read_until(stream, HEARTBEAT, 5)
    assert [event[4] for event in events[-3:]] == [HEARTBEAT] * 3


def test_a_replica_is_shown_to_the_administrator_of_the_source(source: Source) -> None:
    with open_at(source, "latest") as stream:
        next_event(stream)
        (row,) = source.execute("SHOW SLAVE HOSTS")
    assert (row[0], row[1]) == (4001, NAME)
    if not source.is_mariadb:
        # Stable: made of the name and the server_id.
        assert row[4] == "65c03558-45e1-527d-8f00-216c38c0e14e"


def test_nothing_in_time_is_none(source: Source) -> None:
    with open_at(source, "latest") as stream:
        while stream.receive(0.2) is not None:
            pass
        assert stream.receive(0.0) is None


def test_a_closed_stream_says_so_and_closing_twice_is_fine(source: Source) -> None:
    stream = open_at(source, "latest")
    stream.close()
    stream.close()
    with pytest.raises(SourceUnavailable) as caught:
        stream.receive(5.0)
    assert caught.value.text == f"{source.name}: the stream was closed here"


@pytest.mark.parametrize("mode", ["required", "disabled"])
def test_another_thread_can_end_a_receive(source: Source, mode: str) -> None:
    settings = source.settings(tls={"mode": mode})
    stream = open_stream(settings, point_of(source, "latest"), replica_name=NAME)
    caught: list[SourceUnavailable] = []

    def receive() -> None:
        try:
            while True:
                stream.receive(60.0)
        except SourceUnavailable as error:
            caught.append(error)

    thread = threading.Thread(target=receive)
    thread.start()
    stream.close()
    thread.join()
    assert [error.text for error in caught] == [f"{source.name}: the stream was closed here"]


def test_a_killed_connection_is_unavailable(source: Source) -> None:
    with open_at(source, "latest") as stream:
        next_event(stream)
        for row in source.execute("SHOW PROCESSLIST"):
            if row[1] == source.user and row[4].startswith("Binlog Dump"):
                source.execute(f"KILL {row[0]}")
        with pytest.raises(SourceUnavailable):
            read_until(stream, NEVER)


def test_a_killed_server_is_unavailable_and_streams_again_after_its_restart(
    without_gtids: Source,
) -> None:
    point = point_of(without_gtids, "latest")
    with open_stream(without_gtids.settings(), point, replica_name=NAME) as stream:
        next_event(stream)
        without_gtids.server.kill()
        with pytest.raises(SourceUnavailable) as caught:
            read_until(stream, NEVER)
    assert caught.value.text in {
        f"{without_gtids.name}: the server closed the connection",
        f"{without_gtids.name}: the connection broke: Connection reset by peer",
    }
    with pytest.raises(SourceUnavailable, match="cannot connect: Connection refused"):
        open_stream(without_gtids.settings(), point, replica_name=NAME)
    without_gtids.server.restart()
    with open_stream(without_gtids.settings(), point, replica_name=NAME) as stream:
        assert next_event(stream)[4] == ROTATE


def test_a_stopped_server_is_unavailable(without_gtids: Source) -> None:
    with open_at(without_gtids, "latest") as stream:
        next_event(stream)
        without_gtids.server.stop()
        with pytest.raises(SourceUnavailable):
            read_until(stream, NEVER)
    without_gtids.server.restart()


def test_a_server_that_hangs_is_noticed_by_its_silence(without_gtids: Source) -> None:
    settings = without_gtids.settings(read_timeout_seconds=1)
    with open_stream(settings, point_of(without_gtids, "latest"), replica_name=NAME) as stream:
        next_event(stream)
        os.kill(without_gtids.server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(SourceUnavailable) as caught:
                read_until(stream, NEVER)
        finally:
            os.kill(without_gtids.server.pid, signal.SIGCONT)
    assert fits(caught.value.text, dump_errors.SILENT, server=without_gtids.name, limit=1)


@pytest.mark.parametrize("grants", ["", "REPLICATION CLIENT"])
def test_an_account_without_the_grant_is_told_which(source: Source, grants: str) -> None:
    user = source.create_account(grants)
    with pytest.raises(SourceRefused) as caught:
        open_stream(source.settings(user=user), point_of(source, "latest"), replica_name=NAME)
    assert caught.value.text == (
        f"{source.name}: error 1045: Access denied for user '{user}'@'%' (using password: YES); "
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account of source.user; see "
        "`binlog-connector config grants.sql`"
    )


def test_of_two_replicas_with_one_server_id_the_older_is_told(source: Source) -> None:
    with open_at(source, "latest") as older:
        next_event(older)
        with open_at(source, "latest") as newer:
            next_event(newer)
            with pytest.raises(SourceRefused) as caught:
                read_until(older, NEVER)
    number = 4052 if source.is_mariadb else 1236
    assert caught.value.text.startswith(f"{source.name}: error {number}: A slave with the same ")
    assert caught.value.text.endswith(
        "; give each replica and each pipeline a source.server_id of its own"
    )


def refusal(source: Source, point: StartPoint) -> str:
    with (
        open_stream(source.settings(), point, replica_name=NAME) as stream,
        pytest.raises(SourceRefused) as caught,
    ):
        read_until(stream, NEVER)
    return caught.value.text


def test_a_dump_of_purged_transactions_is_refused(own_mysql: Source) -> None:
    own_mysql.execute("CREATE DATABASE d", "FLUSH LOGS", "PURGE BINARY LOGS TO 'binlog.000002'")
    said = refusal(own_mysql, StartPoint("mysql", GtidSet(), "", 4))
    assert said.startswith(f"{own_mysql.name}: error 1236: Cannot replicate because the master ")
    assert said.endswith("or point it at a replica that still has the log")
    said = refusal(own_mysql, StartPoint("mysql", None, "binlog.000001", 4))
    assert said == (
        f"{own_mysql.name}: error 1236: Could not find first log file name in binary log index "
        "file; what was not read is gone from this server: give the pipeline a new name and start "
        "over, or point it at a replica that still has the log"
    )


def test_a_mariadb_dump_of_purged_transactions_is_refused(own_mariadb: Source) -> None:
    own_mariadb.execute("CREATE DATABASE d", "FLUSH LOGS", "DROP DATABASE d", "FLUSH LOGS")
    own_mariadb.purge_to("binlog.000003")
    said = refusal(own_mariadb, StartPoint("mariadb", MariadbGtidSet(), "", 4))
    assert said.startswith(f"{own_mariadb.name}: error 1236: Could not find GTID state requested")
    assert said.endswith("or point it at a replica that still has the log")


@pytest.fixture
def peer() -> Iterator[tuple[socket.socket, ReplicationStream]]:
    """The server's end of a stream, to write bytes that no server would."""
    server, client = socket.socketpair()
    with server, ReplicationStream(client, "source db:3306", 10.0) as stream:
        yield server, stream


def test_bytes_that_are_no_dump_are_refused_with_the_position(
    peer: tuple[socket.socket, ReplicationStream],
) -> None:
    server, stream = peer
    server.sendall(b"\x03\x00\x00\x01\x4a\x00\x00")
    with pytest.raises(ProtocolError) as caught:
        stream.receive(5.0)
    assert caught.value.text == text_of(
        dump_errors.STREAM_FIRST_BYTE, server="source db:3306", length=3, first=0x4A
    )


def test_the_end_of_the_dump_is_unavailable(
    peer: tuple[socket.socket, ReplicationStream],
) -> None:
    server, stream = peer
    server.sendall(b"\x05\x00\x00\x01\xfe\x00\x00\x02\x00")
    with pytest.raises(SourceUnavailable) as caught:
        stream.receive(5.0)
    assert caught.value.text == "source db:3306: the server ended the dump"


def test_what_lies_in_the_buffer_is_known_before_it_is_received(
    peer: tuple[socket.socket, ReplicationStream],
) -> None:
    server, stream = peer
    seen: list[bool | bytes | None] = [stream.buffered]
    server.sendall(b"\x02\0\0\x01\0a" + b"\x02\0\0\x02\0b" + b"\x02\0\0")
    seen += [stream.receive(5.0), stream.buffered, stream.receive(0.0), stream.buffered]
    seen.append(stream.receive(0.0))
    assert seen == [False, b"a", True, b"b", False, None]


def test_a_connection_cut_inside_an_event_is_unavailable(
    peer: tuple[socket.socket, ReplicationStream],
) -> None:
    server, stream = peer
    server.sendall(b"\x09\x00\x00\x01\x00half")
    server.close()
    with pytest.raises(SourceUnavailable) as caught:
        stream.receive(5.0)
    assert caught.value.text == "source db:3306: the server closed the connection"


def test_a_position_above_4_gib_cannot_be_asked_for_without_gtids(without_gtids: Source) -> None:
    point = StartPoint("mysql", None, "binlog.000001", 2**32)
    with pytest.raises(SourceRefused) as caught:
        open_stream(without_gtids.settings(), point, replica_name=NAME)
    assert caught.value.text == (
        f"{without_gtids.name}: binlog.000001:4294967296 lies above 4 GiB, where a dump cannot "
        "start without GTIDs; start at position 4 of the next file"
    )
