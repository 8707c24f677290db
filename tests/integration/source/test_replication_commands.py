"""What a replica says beside the dump itself, spoken to real servers."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from connector.binlog.decoder import EventDecoder
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.replication.protocol.commands import ComTableDump
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_setting import resolve_start
from local_stack import MariadbServer
from local_stack import MysqlServer as LocalMysqlServer
from tests.integration.source_server import Source, source_of
from tests.integration.unchecked_stream import open_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.replication.dump import ReplicationStream
    from connector.replication.start_point import StartPoint

pytestmark = pytest.mark.server

XID = 16
_SWITCH_ON = {
    "mysql 9": [
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "SET GLOBAL rpl_semi_sync_source_enabled = ON",
        "SET GLOBAL rpl_semi_sync_source_timeout = 60000",
    ],
    "mariadb 10.5": [
        "SET GLOBAL rpl_semi_sync_master_enabled = ON",
        "SET GLOBAL rpl_semi_sync_master_timeout = 60000",
    ],
    "mariadb 11.8": [
        "SET GLOBAL rpl_semi_sync_master_enabled = ON",
        "SET GLOBAL rpl_semi_sync_master_timeout = 60000",
    ],
}


def latest(source: Source) -> StartPoint:
    with MysqlServer.connect(source.settings()) as server:
        return resolve_start(server, "latest")


def test_a_table_dump_is_answered_with_an_error_that_is_shown(source: Source) -> None:
    with (
        MysqlServer.connect(source.settings()) as server,
        pytest.raises(SourceRefused) as caught,
    ):
        server.execute(ComTableDump("mysql", "user"))
    assert caught.value.text == (
        f"{source.name}: error 1047: Unknown command; "
        "look the number up in the server's error reference"
    )


def test_semi_sync_that_is_off_is_refused_with_the_statements_that_turn_it_on(
    source: Source,
) -> None:
    with pytest.raises(SourceRefused) as caught:
        open_stream(source.settings(), latest(source), replica_name="p", semi_sync=True)
    assert caught.value.text == (
        f"{source.name}: semi-synchronous replication is off; SET GLOBAL "
        "rpl_semi_sync_master_enabled = ON on MariaDB; on MySQL INSTALL PLUGIN "
        "rpl_semi_sync_source SONAME 'semisync_source.so' and SET GLOBAL "
        "rpl_semi_sync_source_enabled = ON"
    )


@pytest.fixture(scope="module", params=list(_SWITCH_ON))
def semi_sync(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Source]:
    """A server whose commits wait for a replica, for a minute."""
    product, version = request.param.split()
    kind = MariadbServer if product == "mariadb" else LocalMysqlServer
    with kind(tmp_path_factory.mktemp("semi-sync"), version=version) as server:
        source = source_of(server)
        # Before: without a replica each commit waits for the whole minute.
        source.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
        source.execute(*_SWITCH_ON[request.param])
        yield source


def read_to_ack(stream: ReplicationStream, decoder: EventDecoder) -> list[Event]:
    """Return the events up to the one that a commit waits for."""
    events = []
    while not stream.ack_wanted:
        data = stream.receive(5.0)
        if data is not None:
            events.append(decoder.decode(data))
    return events


def test_a_commit_waits_for_the_ack_and_goes_on(semi_sync: Source) -> None:
    decoder = EventDecoder()
    with open_stream(
        semi_sync.settings(), latest(semi_sync), replica_name="p", semi_sync=True
    ) as stream:
        for number in range(3):
            statement = f"INSERT INTO d.t VALUES ({number})"
            commit = threading.Thread(target=semi_sync.execute, args=(statement,))
            commit.start()
            events = read_to_ack(stream, decoder)
            assert events[-1].header.type_code == XID
            time.sleep(0.2)
            assert commit.is_alive()
            stream.acknowledge(events[-1].file, events[-1].next_position)
            commit.join(30)
            assert not commit.is_alive()
        (row,) = semi_sync.execute("SHOW STATUS LIKE 'Rpl_semi_sync_%_yes_tx'")
        assert row[1] == "3"


def test_an_ack_over_a_broken_connection_is_unavailable(semi_sync: Source) -> None:
    stream = open_stream(semi_sync.settings(), latest(semi_sync), replica_name="p", semi_sync=True)
    stream.close()
    with pytest.raises(SourceUnavailable) as caught:
        stream.acknowledge("binlog.000001", 4)
    assert caught.value.text == f"{semi_sync.name}: the stream was closed here"
