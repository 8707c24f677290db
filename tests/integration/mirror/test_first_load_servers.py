"""First loads whose ranges are read at several servers, of which some fail."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from stream_jobs.load import load_errors, source_server, source_servers
from tests.integration.database_stream import new_stream
from tests.integration.ended_topics import end_topics
from tests.integration.harness import wait_until, wait_until_settled
from tests.integration.mirror.conftest import Job
from tests.integration.replication_pair import mysql_pair
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import Endpoint, KafkaBroker
    from stream_jobs.load.range_task import RangeJob, RangeResult
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess
    from tests.integration.replication_pair import MysqlPair

pytestmark = [pytest.mark.server, pytest.mark.kafka]

MIRROR = {"source__start": "snapshot", "snapshot__to": "mirror"}
ROWS = 600


class Fleet:
    """A source, its replica, a connector of the source, and a job that may read both."""

    def __init__(self, pair: MysqlPair, stream: Stream, job: Job) -> None:
        self.pair = pair
        self.stream = stream
        self.job = job
        # The ports of the servers whose ranges were read, in order.
        self.read: list[int] = []
        self.before: Callable[[int], None] = lambda _: None
        self._load = job.load_range
        self._turn = threading.Lock()
        job.load_range = self._load_range  # type: ignore[method-assign]

    def _load_range(self, job: RangeJob) -> RangeResult:
        with self._turn:
            self.before(len(self.read))
            self.read.append(job.source.port)
        return self._load(job)

    @property
    def source(self) -> Endpoint:
        return self.pair.source.endpoint

    @property
    def replica(self) -> Endpoint:
        return self.pair.replica.endpoint

    @property
    def replica_address(self) -> str:
        return f"{self.replica.host}:{self.replica.port}"

    def run(self, **changed: Any) -> list[dict[str, Any]]:
        address = f"mysql://{self.source.user}:{self.source.password}@{self.source.host}"
        load = {
            "url": f"{address}:{self.source.port}/",
            "replicas": [self.replica_address],
            "range_rows": 20,
            "pace": "full",
        }
        lines = self.job.run(first_load=load | changed)
        assert self.job.exit_code == 0, lines
        return lines

    def assert_equal(self) -> None:
        rows = self.pair.on_source(f"SELECT id, name FROM {self.stream.database}.t ORDER BY id")
        assert self.job.rows("t", "id", "name", database=self.stream.database) == rows

    def connector(self) -> ConnectorProcess:
        return self.stream.connector(**MIRROR)

    def await_load(self, connector: ConnectorProcess) -> None:
        """Wait until the table can be loaded."""
        loads = "the Spark job loads the rows"
        wait_until(lambda: loads in connector.output(), connector.output)
        wait_until_settled(self.stream.broker, self.stream.prefix)


@pytest.fixture
def fleet(
    kafka_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    monkeypatch.setattr(source_servers, "RETRY_SECONDS", 0.5)
    monkeypatch.setattr(source_server, "LAG_SECONDS", 0.5)
    with ExitStack() as stack:
        pair = stack.enter_context(mysql_pair(tmp_path))
        stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
        stack.callback(end_topics, stream.broker, stream.prefix)
        kafka = stack.enter_context(closing(Kafka(stream.broker.bootstrap, stream.prefix)))
        values = ", ".join(f"({number}, 'n{number}')" for number in range(ROWS))
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))",
            f"INSERT INTO t VALUES {values}",
        )
        pair.wait_for_replica()
        yield Fleet(pair, stream, Job(kafka, tmp_path))


def of_servers(lines: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """What the lines say of servers, and why."""
    told = "load_leaves_server", "load_returns_to_server"
    return [(line["event"], line.get("code")) for line in lines if line["event"] in told]


def test_ranges_are_read_at_all_servers_while_rows_change(fleet: Fleet) -> None:
    changes = iter(range(1000))

    def change(_: int) -> None:
        number = next(changes)
        fleet.stream.execute(
            f"UPDATE t SET name = 'x{number}' WHERE id % 30 = {number}",
            f"DELETE FROM t WHERE id = {number * 7 + 1}",
        )

    fleet.before = change
    with fleet.connector() as connector:
        fleet.await_load(connector)
        lines = fleet.run()
        assert not of_servers(lines)
        assert {*fleet.read} == {fleet.source.port, fleet.replica.port}
        assert min(map(fleet.read.count, {*fleet.read})) > len(fleet.read) // 4
        wait_until_settled(fleet.stream.broker, fleet.stream.prefix)
        fleet.run()
    fleet.assert_equal()


def test_a_server_that_is_killed_is_left_out_and_read_again_later(fleet: Fleet) -> None:
    def strike(count: int) -> None:
        if count == 5:
            fleet.pair.replica.kill()
        if count == 15:
            fleet.pair.replica.start()
        if count > 15:
            time.sleep(0.1)

    fleet.before = strike
    with fleet.connector() as connector:
        fleet.await_load(connector)
        lines = fleet.run()
    events = of_servers(lines)
    assert events[0][0] == "load_leaves_server"
    assert events[-1] == ("load_returns_to_server", None)
    assert not [line for line in lines if line["event"] == "load_waits"]
    assert fleet.replica.port in fleet.read[16:]
    fleet.assert_equal()


def test_a_server_that_accepts_a_login_and_never_answers_delays_no_range(fleet: Fleet) -> None:
    with fleet.connector() as connector, socket.create_server(("127.0.0.1", 0)) as silent:
        fleet.await_load(connector)
        address = "{}:{}".format(*silent.getsockname())
        lines = fleet.run(replicas=[address, fleet.replica_address])
    # All rows were read before the login has failed.
    assert not of_servers(lines)
    assert {*fleet.read} == {fleet.source.port, fleet.replica.port}
    fleet.assert_equal()


def test_a_server_with_two_addresses_is_read_at_one_of_them(fleet: Fleet) -> None:
    with fleet.connector() as connector:
        fleet.await_load(connector)
        again = f"localhost:{fleet.source.port}"
        lines = fleet.run(replicas=[again, fleet.replica_address])
    assert of_servers(lines) == [("load_leaves_server", load_errors.SAME_SERVER.code)]
    assert {*fleet.read} == {fleet.source.port, fleet.replica.port}
    fleet.assert_equal()


def test_a_server_that_lags_is_left_out_until_it_has_caught_up(fleet: Fleet) -> None:
    fleet.pair.stop_replication()
    fleet.stream.execute("UPDATE t SET name = 'x' WHERE id < 9")

    def go_on(count: int) -> None:
        time.sleep(0.1)
        if count == 12:
            assert fleet.replica.port not in fleet.read
            fleet.pair.start_replication()

    fleet.before = go_on
    with fleet.connector() as connector:
        fleet.await_load(connector)
        lines = fleet.run(range_rows=10)
    assert of_servers(lines) == [
        ("load_leaves_server", load_errors.LAGS.code),
        ("load_returns_to_server", None),
    ]
    assert fleet.replica.port in fleet.read
    fleet.assert_equal()


def test_rows_of_a_server_that_gets_transactions_of_its_own_are_not_taken(fleet: Fleet) -> None:
    def write(count: int) -> None:
        if count == 5:
            table = f"{fleet.stream.database}.t"
            fleet.pair.on_replica(f"UPDATE {table} SET name = 'wrong' WHERE id >= 0")

    fleet.before = write
    with fleet.connector() as connector:
        fleet.await_load(connector)
        lines = fleet.run()
    assert of_servers(lines) == [("load_leaves_server", load_errors.OWN_TRANSACTIONS.code)]
    assert fleet.replica.port in fleet.read
    fleet.assert_equal()
    # Nor is a file left of what was read there.
    for file in (fleet.job.folder / "mirror" / fleet.stream.database / "t").glob("*.parquet"):
        assert "wrong" not in str(pq.read_table(file).to_pylist())


def test_rows_of_a_replica_that_gets_filters_are_not_taken(fleet: Fleet) -> None:
    """Its GTIDs say that it has what it has thrown away."""
    table = f"{fleet.stream.database}.t"

    def leave_out(count: int) -> None:
        if count == 5:
            fleet.pair.stop_replication()
            fleet.pair.on_replica(f"CHANGE REPLICATION FILTER REPLICATE_IGNORE_TABLE = ({table})")
            fleet.pair.start_replication()
            fleet.stream.execute("UPDATE t SET name = 'x' WHERE id >= 0")
            fleet.pair.wait_for_replica()

    fleet.before = leave_out
    with fleet.connector() as connector:
        fleet.await_load(connector)
        lines = fleet.run()
        assert of_servers(lines) == [("load_leaves_server", load_errors.FILTERS.code)]
        assert fleet.replica.port in fleet.read
        wait_until_settled(fleet.stream.broker, fleet.stream.prefix)
        fleet.run()
        fleet.assert_equal()


def test_if_no_server_can_be_read_the_table_waits(fleet: Fleet) -> None:
    fleet.pair.stop_replication()
    fleet.stream.execute("UPDATE t SET name = 'x' WHERE id < 9")
    with fleet.connector() as connector:
        fleet.await_load(connector)
        replica = f"mysql://{fleet.replica.user}:{fleet.replica.password}@{fleet.replica.host}"
        wrong = {"url": f"{replica}:{fleet.replica.port}/", "replicas": ["127.0.0.1:1"]}
        lines = fleet.run(**wrong)
        assert {event for event, _ in of_servers(lines)} == {"load_leaves_server"}
        assert [line["code"] for line in lines if line["event"] == "load_waits"] == [
            load_errors.LAGS.code
        ]
        assert not (fleet.job.folder / "mirror" / fleet.stream.database).exists()
        fleet.run()
    fleet.assert_equal()


def test_without_gtids_of_mysql_only_one_server_can_be_read(
    mariadb_stream: Stream, tmp_path: Path
) -> None:
    stream, source = mariadb_stream, mariadb_stream.source
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with (
        closing(Kafka(stream.broker.bootstrap, stream.prefix)) as kafka,
        stream.connector(**MIRROR) as connector,
    ):
        loads = "the Spark job loads the rows"
        wait_until(lambda: loads in connector.output(), connector.output)
        wait_until_settled(stream.broker, stream.prefix)
        job = Job(kafka, tmp_path)
        load = {"url": f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"}
        lines = job.run(first_load=load | {"replicas": ["127.0.0.1:1"]})
        assert [line["code"] for line in lines if line["event"] == "load_waits"] == [
            load_errors.SEVERAL_SERVERS.code
        ]
        assert not (tmp_path / "mirror" / stream.database).exists()
        job.run(first_load=load)
    assert job.rows("t", database=stream.database) == [(1,)]
