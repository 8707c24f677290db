"""What MariaDB sends to a replica that does not say that it knows MariaDB's events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.query import QueryEvent
from connector.binlog.header import EventType
from connector.binlog.table_filter import TableFilter
from connector.replication.dump import ReplicationStream
from connector.replication.protocol.commands import ComBinlogDump, DumpFlags
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.changes.transaction import RowsChange
from tests.stream.changes.received import changes_of

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


def read_as(source: Source, capability: int) -> list[Event]:
    """Return the events of the first log as a replica of that capability gets them."""
    decoder = EventDecoder()
    server = MysqlServer.connect(source.settings())
    server.query("SET @master_binlog_checksum = 'CRC32'")
    server.query(f"SET @mariadb_slave_capability = {capability}")
    annotated = DumpFlags.MARIADB_SEND_ANNOTATE_ROWS_EVENT
    dumping = server.start_dump(ComBinlogDump(4002, "binlog.000001", 4, annotated))
    events: list[Event] = []
    with ReplicationStream(dumping, server.name, 10.0) as stream:
        while not events or events[-1].header.type_code != EventType.XID_EVENT:
            data = stream.receive(10.0)
            assert data is not None
            events.append(decoder.decode(data))
    return events


def test_dummies_keep_the_positions_of_what_they_stand_for_and_change_nothing(
    own_mariadb: Source,
) -> None:
    own_mariadb.execute(
        "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)"
    )
    whole = read_as(own_mariadb, 4)
    seen = read_as(own_mariadb, 0)
    dummies = [e.body.query for e in seen if isinstance(e.body, QueryEvent) and "#" in e.body.query]
    assert dummies[:2] == ["# D", "# Dum"]
    assert EventType.GTID_EVENT not in {e.header.type_code for e in seen}
    # A list of GTIDs is too short for a comment, so a variable takes its place.
    assert EventType.USER_VAR_EVENT in {e.header.type_code for e in seen}
    assert [e.position for e in whole if e.next_position > e.position] == [
        e.position for e in seen if e.next_position > e.position
    ]
    changes = changes_of(seen, TableFilter(["d.*"], []))
    (rows,) = (change for change in changes if isinstance(change, RowsChange))
    assert [row.after for row in rows.rows.rows()] == [[1]]
