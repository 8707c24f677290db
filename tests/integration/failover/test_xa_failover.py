"""Rows behind XA PREPARE are in Kafka once, also where another server sees their XA COMMIT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until, wait_until_settled
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.database_stream import Stream
    from tests.integration.replication_pair import ReplicationPair

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def prepare(stream: Stream, name: str, *numbers: int) -> None:
    """Leave a transaction prepared that inserts some rows."""
    stream.execute(
        f"XA START '{name}'",
        *(f"INSERT INTO t VALUES ({number})" for number in numbers),
        f"XA END '{name}'",
        f"XA PREPARE '{name}'",
    )


def ids(stream: Stream) -> list[int]:
    """Return the keys that consumers see, in the order of `cdc.seq`."""
    wait_until_settled(stream.broker, stream.prefix)
    return [change.key["id"] for change in stream.changes()]


def address(server: Server) -> str:
    return f"{server.endpoint.host}:{server.endpoint.port}"


# In the life of a pipeline, the connector lives on while a prepared transaction changes its server.
@pytest.mark.parametrize("connector_dies", [pytest.param(False, marks=full_only), True])
def test_prepared_rows_come_once_from_the_replica_that_took_over(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path, *, connector_dies: bool
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    there = replace(stream, source=pair.replica.endpoint)
    with stream.connector(source__failover_hosts=[address(pair.replica)]) as connector:
        stream.wait_for_changes(1, connector)
        prepare(stream, "committed", 10, 11)
        prepare(stream, "rolled back", 20)
        # Behind both; what is between is read again from the replica, and has been delivered.
        stream.execute("INSERT INTO t VALUES (2)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (3)")
        prepare(stream, "later", 30)
        stream.execute("INSERT INTO t VALUES (4)")
        stream.wait_for_changes(4, connector)
        pair.wait_for_replica()
        if connector_dies:
            connector.kill()
        pair.source.kill()
        pair.promote()
        wait_until(
            lambda: len(pair.on_replica("XA RECOVER")) == 3,
            lambda: f"the replica has prepared {pair.on_replica('XA RECOVER')}",
        )
        there.execute("INSERT INTO t VALUES (5)")
        if not connector_dies:
            there.wait_for_changes(5, connector)
        there.execute(
            "XA COMMIT 'committed'", "XA ROLLBACK 'rolled back'", "INSERT INTO t VALUES (6)"
        )
        if connector_dies:
            connector.start()
        changes = there.wait_for_changes(8, connector)
        # One is still prepared, for a run that knows the new server alone.
        connector.kill()
        there.execute("XA COMMIT 'later'", "INSERT INTO t VALUES (7)")
        connector.start()
        there.wait_for_changes(10, connector)
        assert connector.terminate() == 0
    assert ids(there) == [1, 2, 3, 4, 5, 10, 11, 6, 30, 7]
    assert [change.headers["cdc.seq"][:4] for change in changes] == ["0001"] * 4 + ["0002"] * 4
