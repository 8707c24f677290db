"""A broker that is down does not keep a run from its work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.stream.sink import kafka_errors
from local_stack import KafkaBroker
from tests.foundation.errors.texts import text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, run_to_end
from tests.integration.second_broker import SecondBroker
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import MysqlServer

pytestmark = [pytest.mark.server, pytest.mark.kafka]


@full_only
def test_a_run_goes_on_while_a_broker_is_down(mysql_server: MysqlServer, tmp_path: Path) -> None:
    with KafkaBroker(tmp_path / "first") as first:
        stream = new_stream(mysql_server.endpoint, first.endpoint, tmp_path)
        stream.execute("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1)")
        with stream.connector() as connector:
            stream.wait_for_changes(1, connector)
            assert connector.terminate() == 0
        second = SecondBroker(tmp_path / "second", first)
        second.start()
        second.stop()
        with stream.connector(kafka__replication_factor=2) as connector:
            stream.execute("CREATE TABLE b (id INT PRIMARY KEY)", "INSERT INTO b VALUES (2)")
            found = stream.wait_for_changes(2, connector)
            assert connector.terminate() == 0
            assert "interrupted" not in connector.output()
        code, output = run_to_end(stream.config(kafka__replication_factor=3))
        assert code == 3
        assert failure_of(output) == text_of(
            kafka_errors.REPLICAS, servers=first.endpoint.bootstrap, factor=3, brokers=2
        )
    assert sorted(change.key["id"] for change in found) == [1, 2]
