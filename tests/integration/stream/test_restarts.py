"""A stream that dies at any event goes on as if it had not, whatever its log holds."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest
from pymysql import OperationalError

from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.harness import wait_until
from tests.integration.restarts import CrashingStream, shown
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pymysql.cursors import Cursor

    from local_stack import Endpoint, Server

pytestmark = pytest.mark.server

WITHOUT_GTIDS = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
SERVERS: dict[str, Callable[[Path], Server]] = {
    "mysql 9": lambda folder: MysqlServer(folder, version="9"),
    "mysql 8.0 by position": lambda folder: MysqlServer(folder, settings=WITHOUT_GTIDS),
    "mariadb 11.8 without a GTID index": lambda folder: MariadbServer(
        folder, settings={"binlog_gtid_index": "OFF"}
    ),
    "mariadb 11.8": MariadbServer,
    "mariadb 10.5": lambda folder: MariadbServer(folder, version="10.5"),
    "mariadb 10.11": lambda folder: MariadbServer(folder, version="10.11"),
}

# More than waits for the end of a transaction that has no savepoint.
LONG = [f"INSERT INTO t VALUES ({n}, REPEAT('x', 400000))" for n in range(40, 43)]

XAER_NOTA: Final = 1397

Row = tuple[int, str]


def xa_prepare(xid: str, *statements: str) -> list[str]:
    return [f"XA START {xid}", *statements, f"XA END {xid}", f"XA PREPARE {xid}"]


def insert(*ids: int, table: str = "t") -> str:
    return f"INSERT INTO {table} VALUES " + ", ".join(f"({n}, 'v{n}')" for n in ids)


# Each list by a session of its own: MySQL and MariaDB let no session go on while it has prepared.
SESSIONS = [
    [insert(1, 2)],
    xa_prepare("'a'", insert(10), "UPDATE t SET v = 'x' WHERE id = 1", insert(1, table="other")),
    [insert(3), "UPDATE t SET v = 'y' WHERE id = 2"],
    xa_prepare("'b', 'branch', 7", insert(11, 12)),
    xa_prepare("'unrelated'", insert(2, table="other")),
    ["FLUSH BINARY LOGS"],
    [insert(4)],
    ["XA COMMIT 'b', 'branch', 7"],
    xa_prepare("'c'", insert(13)),
    ["XA ROLLBACK 'c'"],
    # The same name again.
    xa_prepare("'b', 'branch', 7", insert(14), "SAVEPOINT s"),
    [insert(5)],
    ["XA COMMIT 'unrelated'"],
    ["FLUSH BINARY LOGS"],
    ["XA START 'one'", insert(16), "XA END 'one'", "XA COMMIT 'one' ONE PHASE"],
    ["XA COMMIT 'a'"],
    # Rolled back behind its rows, where a server logs it.
    ["BEGIN", insert(20), "CREATE TEMPORARY TABLE x (a INT)", insert(21), "ROLLBACK"],
    [
        "BEGIN",
        insert(22),
        "SAVEPOINT s",
        insert(23),
        "CREATE TEMPORARY TABLE x (a INT)",
        "ROLLBACK TO s",
        insert(24),
        "COMMIT",
    ],
    ["BEGIN", *LONG, "CREATE TEMPORARY TABLE x (a INT)", "ROLLBACK"],
    ["DELETE FROM t WHERE id = 3"],
    ["XA COMMIT 'b', 'branch', 7"],
    xa_prepare("'long'", *LONG),
    xa_prepare("'waits'", insert(30)),
    ["XA COMMIT 'long'"],
    [insert(6)],
]


@pytest.fixture(scope="module", params=list(SERVERS)[: length(short=3, full=6)])
def source(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    """A server with the log of all sessions."""
    with SERVERS[request.param](tmp_path_factory.mktemp("source")) as server:
        execute(server.endpoint, "CREATE DATABASE d")
        for table in ("t", "other"):
            execute(server.endpoint, f"CREATE TABLE d.{table} (id INT PRIMARY KEY, v MEDIUMTEXT)")
        for session in SESSIONS:
            execute(server.endpoint, *session, database="d")
        yield server.endpoint


def execute(source: Endpoint, *statements: str, database: str | None = None) -> list[Row]:
    with connect(source, database) as connection, connection.cursor() as cursor:
        cursor.execute("SET innodb_lock_wait_timeout = 3")
        for statement in statements:
            if statement.startswith(("XA COMMIT", "XA ROLLBACK")):
                wait_until(partial(_is_done, cursor, statement), partial(str, statement))
            else:
                cursor.execute(statement)
        return list(cursor.fetchall())


def _is_done(cursor: Cursor, statement: str) -> bool:
    """Try to end a transaction: it is not known as long as the session before has not ended."""
    try:
        cursor.execute(statement)
    except OperationalError as error:
        if error.args[0] != XAER_NOTA:
            raise
        return False
    return True


@pytest.fixture(scope="module")
def whole(source: Endpoint) -> CrashingStream:
    """A stream that did not die."""
    stream = CrashingStream(source, "earliest", "d.t")
    stream.run()
    return stream


def folded(stream: CrashingStream) -> list[Row]:
    rows: dict[bytes, Row] = {}
    for record in stream.committed:
        if record.topic != "p.d.t" or record.value is None or record.key is None:
            continue
        after = json.loads(record.value)["after"]
        if after is None:
            del rows[record.key]
        else:
            rows[record.key] = (after["id"], after["v"])
    return sorted(rows.values())


def test_what_is_delivered_is_what_the_server_has(source: Endpoint, whole: CrashingStream) -> None:
    assert folded(whole) == execute(source, "SELECT id, v FROM d.t ORDER BY id")
    sequences = [dict(r.headers)["cdc.seq"] for r in whole.committed if r.topic == "p.d.t"]
    assert sequences == sorted(sequences)
    assert whole.progress is not None
    assert [record["xid"] for record in whole.progress.prepared] == ["X'7761697473',X'',1"]


def test_a_stream_that_dies_at_any_event_goes_on_as_if_it_had_not(
    source: Endpoint, whole: CrashingStream
) -> None:
    expected = shown(whole.committed)
    assert len(whole.states) > 20
    waiting = 0
    for committed, progress in whole.states:
        stream = CrashingStream(source, "earliest", "d.t")
        stream.committed, stream.progress = list(committed), progress
        stream.run()
        assert shown(stream.committed) == expected, progress
        assert stream.progress == whole.progress, progress
        waiting = max(waiting, len(progress.prepared))
    assert waiting == 3


def test_a_long_transaction_that_is_rolled_back_is_read_again_where_the_server_logs_it(
    source: Endpoint, whole: CrashingStream
) -> None:
    (version,) = execute(source, "SELECT VERSION()")
    assert len(whole.rolled_back) == ("MariaDB" in str(version))
