"""Rows behind XA PREPARE are in Kafka once XA COMMIT is, whatever dies between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.stream.source import setup_errors
from local_stack import MariadbServer, MysqlServer, connect
from tests.foundation.errors.patterns import fits
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end, wait_until_settled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

SERVERS = {"mysql": MysqlServer, "mariadb": MariadbServer}
PREPARE = ["XA START 'x'", "INSERT INTO t VALUES (10)", "XA END 'x'", "XA PREPARE 'x'"]


@pytest.fixture(params=SERVERS)
def own(
    request: pytest.FixtureRequest, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[tuple[Stream, MysqlServer | MariadbServer]]:
    """Follow a server whose logs this test may purge."""
    with SERVERS[request.param](tmp_path / "source") as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        yield stream, server


def ids(stream: Stream) -> list[int]:
    wait_until_settled(stream.broker, stream.prefix)
    return [change.key["id"] for change in stream.changes()]


def test_prepared_rows_are_delivered_when_they_are_committed(
    own: tuple[Stream, MysqlServer | MariadbServer],
) -> None:
    stream, server = own
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        stream.execute(*PREPARE)
        stream.execute("INSERT INTO t VALUES (2)")
        assert [change.key["id"] for change in stream.wait_for_changes(2, connector)] == [1, 2]
        connector.kill()
    # Both ends of the log are read again by other processes than those that knew them.
    server.restart()
    stream.execute("INSERT INTO t VALUES (3)", "FLUSH BINARY LOGS")
    with stream.connector() as connector:
        assert [c.key["id"] for c in stream.wait_for_changes(3, connector)] == [1, 2, 3]
        connector.kill()
    stream.execute("XA COMMIT 'x'", "INSERT INTO t VALUES (4)")
    with stream.connector() as connector:
        changes = stream.wait_for_changes(5, connector)
        assert connector.terminate() == 0
    assert ids(stream) == [1, 2, 3, 10, 4]
    committed = changes[3]
    assert committed.headers["cdc.txn"] == committed.value["source"]["gtid"]
    # Where it is in the log: before what was committed meanwhile.
    positions = [(c.value["source"]["file"], c.value["source"]["pos"]) for c in changes]
    assert positions[0] < positions[3] < positions[1]


def test_logs_that_were_purged_under_a_prepared_transaction_are_named(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    # MariaDB does not purge a log while a transaction that was prepared in it waits.
    stream, _ = private_mysql_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        stream.execute(*PREPARE)
        stream.execute("FLUSH BINARY LOGS", "INSERT INTO t VALUES (2)")
        stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    newest = last_log(stream)
    stream.execute(f"PURGE BINARY LOGS TO '{newest}'")
    code, output = run_to_end(stream.config())
    assert code == 3
    said = failure_of(output)
    assert fits(said, setup_errors.PREPARED_GONE, xids="X'78',X'',1"), said
    assert ids(stream) == [1, 2]


def last_log(stream: Stream) -> str:
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        return str(cursor.fetchall()[-1][0])
