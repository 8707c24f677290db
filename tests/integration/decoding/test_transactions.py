"""Compressed and prepared transactions, as servers of every version write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.compression import CompressionType
from connector.binlog.events.mariadb import (
    FL_COMMIT_ALTER_E1,
    FL_START_ALTER_E1,
    MariadbGtidEvent,
)
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.transaction import XaPrepareEvent
from connector.binlog.header import HEADER_LENGTH, EventType
from local_stack import MariadbServer, MysqlServer, connect
from tests.binlog.encoders import ENCODERS, encoded
from tests.binlog.source_log import SourceLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.events.row_reader import Row

pytestmark = pytest.mark.server

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT CHARACTER SET utf8mb4)"
CHANGES = (
    "INSERT INTO t VALUES (1, REPEAT('ä', 3000)), (2, NULL), (3, 'x')",
    "UPDATE t SET v = CONCAT(v, 'y')",
    "DELETE FROM t WHERE id > 1",
    "INSERT INTO t SELECT 100 + id, REPEAT(UUID(), 2) FROM t",
    "DELETE FROM t",
)
XA = (
    "XA START 'one'",
    "INSERT INTO t VALUES (7, 'xa')",
    "XA END 'one'",
    "XA PREPARE 'one'",
)
COMPRESSED_TYPES = {
    EventType.QUERY_COMPRESSED_EVENT,
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1,
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1,
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1,
}
# Of XA PREPARE and XA COMMIT … ONE PHASE.
XA_TYPE = "XA_prepare"


def opened(server: MysqlServer | MariadbServer) -> Iterator[SourceLog]:
    with connect(server.endpoint) as connection:
        log = SourceLog(connection)
        log.execute("CREATE DATABASE transactions")
        log.execute("USE transactions")
        log.execute(TABLE)
        log.events()
        yield log
        log.execute("DROP DATABASE transactions")


@pytest.fixture(params=["mysql_server", "mysql_9"])
def mysql(request: pytest.FixtureRequest) -> Iterator[SourceLog]:
    yield from opened(request.getfixturevalue(request.param))


@pytest.fixture(scope="module", params=["10.5", "10.11", "11.8"])
def mariadb(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SourceLog]:
    settings = {"log_bin_compress": "ON", "log_bin_compress_min_len": "10"}
    folder = tmp_path_factory.mktemp("mariadb")
    with MariadbServer(folder, version=request.param, settings=settings) as server:
        yield from opened(server)


def run(log: SourceLog, *statements: str) -> list[Event]:
    for statement in statements:
        log.execute(statement)
    return log.events()


def inside(events: list[Event]) -> list[Event]:
    """Return the events with those inside payloads in place of these."""
    flat: list[Event] = []
    for event in events:
        payload = event.body
        flat += payload.events() if isinstance(payload, TransactionPayloadEvent) else [event]
    return flat


def rows_of(events: list[Event]) -> list[Row]:
    bodies = (event.body for event in inside(events))
    return [row for body in bodies if isinstance(body, RowsEvent) for row in body.rows()]


def require_same_bytes(events: list[Event]) -> int:
    """Require that what can be encoded gives its bytes; return how many events can."""
    count = 0
    for event in [*events, *inside(events)]:
        body = event.body
        # The body of a compressed statement is that of the plain one.
        if type(body) in ENCODERS and event.header.type_code != EventType.QUERY_COMPRESSED_EVENT:
            end = len(event.data) - (CHECKSUM_LENGTH if event.checksum is not None else 0)
            assert encoded(body) == event.data[HEADER_LENGTH:end], event
            count += 1
    return count


def infos(log: SourceLog, first: Event, event_type: str) -> dict[int, str]:
    """Return what SHOW BINLOG EVENTS says of events of a type from `first` on, by position."""
    shown = log.execute(f"SHOW BINLOG EVENTS IN '{first.file}' FROM {first.position}")
    return {int(str(row[1])): str(row[5]) for row in shown if row[2] == event_type}


@pytest.mark.parametrize("level", [1, 3, 22])
def test_a_compressed_transaction_holds_the_rows_of_a_plain_one(
    mysql: SourceLog, level: int
) -> None:
    changes = [statement.replace("UUID()", "'uuid'") for statement in CHANGES]
    plain = run(mysql, "SET binlog_transaction_compression = OFF", "BEGIN", *changes, "COMMIT")
    compressed = run(
        mysql,
        "SET binlog_transaction_compression = ON",
        f"SET binlog_transaction_compression_level_zstd = {level}",
        "BEGIN",
        *changes,
        "COMMIT",
    )
    _, payload = (event.body for event in compressed)
    assert isinstance(payload, TransactionPayloadEvent)
    assert payload.payload.compression is CompressionType.ZSTD
    assert payload.payload.size < payload.payload.uncompressed_size
    assert rows_of(compressed) == rows_of(plain) != []
    assert [e.header.type_code for e in inside(compressed)] == [e.header.type_code for e in plain]
    assert require_same_bytes(compressed) >= 2
    # Without the GTID event, and without a checksum each.
    sizes = [event.header.event_size - CHECKSUM_LENGTH for event in plain[1:]]
    assert payload.payload.uncompressed_size == sum(sizes)


def test_a_large_transaction_is_decoded_event_by_event(mysql: SourceLog) -> None:
    events = run(
        mysql,
        "SET binlog_transaction_compression = ON",
        "BEGIN",
        "INSERT INTO t VALUES (1, REPEAT('0123456789', 100000))",
        *(f"INSERT INTO t SELECT id + {1 << n}, v FROM t" for n in range(5)),
        "COMMIT",
        "DELETE FROM t",
    )
    payloads = [e.body for e in events if isinstance(e.body, TransactionPayloadEvent)]
    assert payloads[0].payload.uncompressed_size > 32_000_000
    found = rows_of(events)
    assert [row.after[0] for row in found[:32] if row.after] == list(range(1, 33))
    assert all(row.after and row.after[1] == "0123456789" * 100_000 for row in found[:32])
    assert len(found) == 64


def test_xa_transactions_are_named_as_the_server_names_them(mysql: SourceLog) -> None:
    events = run(
        mysql,
        "SET binlog_transaction_compression = OFF",
        *XA,
        "XA ROLLBACK 'one'",
        "XA START 'two', 'branch', 7",
        "INSERT INTO t VALUES (8, 'xa')",
        "XA END 'two', 'branch', 7",
        "XA COMMIT 'two', 'branch', 7 ONE PHASE",
        "DELETE FROM t",
    )
    prepared = {e.position: e.body for e in events if isinstance(e.body, XaPrepareEvent)}
    shown = infos(mysql, events[0], XA_TYPE)
    texts = [
        f"XA COMMIT {body.xid} ONE PHASE" if body.one_phase else f"XA PREPARE {body.xid}"
        for body in prepared.values()
    ]
    assert texts == [shown[position] for position in prepared]
    assert texts == [
        "XA PREPARE X'6f6e65',X'',1",
        "XA COMMIT X'74776f',X'6272616e6368',7 ONE PHASE",
    ]
    assert require_same_bytes(events) > len(prepared)


def test_compressed_events_of_mariadb_hold_what_plain_ones_do(mariadb: SourceLog) -> None:
    changes = [statement.replace("UUID()", "'uuid'") for statement in CHANGES]
    comment = "/* long enough to be compressed */"
    compressed = run(mariadb, *changes, f"CREATE TABLE u (id INT) {comment}", "DROP TABLE u")
    mariadb.execute("SET GLOBAL log_bin_compress = OFF")
    plain = run(mariadb, *changes, f"CREATE TABLE u (id INT) {comment}", "DROP TABLE u")
    mariadb.execute("SET GLOBAL log_bin_compress = ON")
    assert {event.header.type_code for event in compressed} >= COMPRESSED_TYPES
    assert COMPRESSED_TYPES.isdisjoint(event.header.type_code for event in plain)
    assert rows_of(compressed) == rows_of(plain) != []
    texts = [
        [e.body.query for e in of if isinstance(e.body, QueryEvent)] for of in (compressed, plain)
    ]
    assert texts[0] == texts[1]
    assert f"CREATE TABLE u (id INT) {comment}" in texts[0]
    assert require_same_bytes(plain) > 10


def test_a_prepared_transaction_of_mariadb_is_named_by_its_gtid(mariadb: SourceLog) -> None:
    events = run(mariadb, *XA, "XA ROLLBACK 'one'")
    opening, closing = (e.body for e in events if isinstance(e.body, MariadbGtidEvent))
    (prepared,) = (e.body for e in events if isinstance(e.body, XaPrepareEvent))
    assert (opening.prepared_xa, closing.completed_xa) == (True, True)
    assert opening.xid == closing.xid == prepared.xid
    shown = infos(mariadb, events[0], XA_TYPE)
    assert f"XA PREPARE {prepared.xid}" in shown.values()
    assert require_same_bytes(events) > 3


def test_gtids_of_mariadb_tell_the_session_and_the_phases_of_alter_table(
    mariadb: SourceLog,
) -> None:
    version = str(mariadb.execute("SELECT VERSION()")[0][0])
    (session,) = mariadb.execute("SELECT CONNECTION_ID()")[0]
    two_phases = "SET SESSION binlog_alter_two_phase = 1"
    statements = [] if version.startswith("10.5") else [two_phases]
    events = run(mariadb, *statements, "ALTER TABLE t ADD COLUMN c INT", "ALTER TABLE t DROP c")
    gtids = [e.body for e in events if isinstance(e.body, MariadbGtidEvent)]
    if not statements:
        assert [(gtid.flags_extra, gtid.thread_id) for gtid in gtids] == [(0, None)] * 2
        return
    first, second, *_ = gtids
    assert first.flags_extra & FL_START_ALTER_E1
    assert second.flags_extra & FL_COMMIT_ALTER_E1
    assert second.sa_seq_no == first.gtid.sequence
    assert first.thread_id == (session if version.startswith("11.8") else None)
    assert require_same_bytes(events) >= len(gtids)
