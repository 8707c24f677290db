"""The stream goes on from another server without a gap or a repeat, or says why it cannot."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.foundation.settings.configuration import load_settings
from connector.replication import answer_errors
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_setting import resolve_start
from connector.stream.progress import progress_errors
from connector.stream.source import setup_errors
from local_stack.server import free_port
from tests import forked_command
from tests.foundation.errors.patterns import fits
from tests.integration.database_stream import Stream, new_stream
from tests.integration.harness import ConnectorProcess, failure_of, run_to_end
from tests.integration.unchecked_stream import open_stream
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.harness import Seen
    from tests.integration.replication_pair import ReplicationPair

pytestmark = [pytest.mark.server, pytest.mark.kafka]

SIZE_OFFSET = 9  # in an event's header
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB"


def insert(stream: Stream, first: int, count: int = 10) -> None:
    stream.execute(
        *(f"INSERT INTO t VALUES ({number}, 'x')" for number in range(first, first + count))
    )


def on(stream: Stream, server: Server) -> Stream:
    """Return the same stream with statements going to another server."""
    return Stream(
        server.endpoint,
        stream.broker,
        stream.directory,
        stream.database,
        stream.prefix,
        stream.start,
    )


def address(server: Server) -> str:
    return f"{server.endpoint.host}:{server.endpoint.port}"


def logged(connector: ConnectorProcess, event: str) -> list[dict[str, object]]:
    """Return what the connector logged under `event`."""
    lines = [line for line in connector.output().splitlines() if line.startswith("{")]
    return [entry for entry in map(json.loads, lines) if entry["message"] == event]


def assert_each_once_in_order(changes: list[Seen], count: int) -> None:
    assert sorted(change.key["id"] for change in changes) == list(range(count))
    for partition in {change.partition for change in changes}:
        sequences = [change.seq for change in changes if change.partition == partition]
        assert sequences == sorted(set(sequences))


def test_the_replica_is_read_when_the_source_is_killed(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute(TABLE)
    insert(stream, 0)
    pair.wait_for_replica()
    others = [f"127.0.0.1:{free_port()}", address(pair.replica)]
    with stream.connector(source__failover_hosts=others) as connector:
        stream.wait_for_changes(10, connector)
        pair.source.kill()
        pair.promote()
        there = on(stream, pair.replica)
        insert(there, 10)
        there.wait_for_changes(20, connector)
        (switched,) = logged(connector, "another server goes on with the stream")
        assert [switched[f"cdc.{name}"] for name in ("source", "source_before", "epoch")] == [
            address(pair.replica),
            address(pair.source),
            2,
        ]
        # Also by a new process, and though the first server is back.
        assert connector.terminate() == 0
        pair.source.start()
        insert(there, 20)
        connector.start()
        changes = there.wait_for_changes(30, connector)
        assert len(logged(connector, "another server goes on with the stream")) == 1
        assert connector.terminate() == 0
    assert_each_once_in_order(changes, 30)
    assert [change.headers["cdc.seq"][:4] for change in changes if change.key["id"] == 29] == [
        "0002"
    ]


@full_only
def test_a_replica_that_lags_is_read_once_it_has_caught_up(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute(TABLE)
    insert(stream, 0, 5)
    pair.wait_for_replica()
    pair.stop_replication()
    with stream.connector(source__failover_hosts=[address(pair.replica)]) as connector:
        insert(stream, 5, 5)
        stream.wait_for_changes(10, connector)
        pair.source.stop()
        connector.wait_for("It is a replica that lags; the connector waits for it")
        pair.source.start()
        stream.wait_for_changes(10, connector)
        pair.start_replication()
        pair.wait_for_replica()
        pair.source.kill()
        pair.promote()
        there = on(stream, pair.replica)
        insert(there, 10)
        changes = there.wait_for_changes(20, connector)
        assert connector.terminate() == 0
    assert_each_once_in_order(changes, 20)


def test_where_no_server_will_do_each_says_why(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute(TABLE)
    insert(stream, 0, 3)
    pair.wait_for_replica()
    with stream.connector() as connector:
        stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
    insert(stream, 3, 3)
    pair.wait_for_replica()
    purge(pair, pair.replica)
    pair.promote()
    time.sleep(1.1)  # a file that is begun anew has another second
    pair.on_source(pair.reset)
    code, output = run_to_end(stream.config(source__failover_hosts=[address(pair.replica)]))
    assert code == 3, output
    text = failure_of(output)
    text = re.sub(r"[0-9a-f-]{36}:[0-9:-]+|\d+-\d+-\d+", "GTIDS", text)
    text = re.sub(r"(binlog\.\d+)(:\d+| ends at \d+)?", "LOG", text)
    first, second = text.splitlines()[1:]
    assert text.startswith(
        "source: no server of source.host and source.failover_hosts can go on with the stream:\n"
    )
    reset = f"source {address(pair.source)}: the logs were reset since LOG was read: "
    assert re.match(rf"  \[S437\] {re.escape(reset)}", first)
    purged = f"source {address(pair.replica)}: the server"
    assert re.match(rf"  \[S424\] {re.escape(purged)}", second)
    assert "if the stream goes on without them, changes are lost" in second


@full_only
def test_a_server_that_refuses_to_go_on_with_its_log_is_passed_over(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute(TABLE)
    both = {"source__failover_hosts": [address(pair.replica)]}
    with stream.connector(**both) as connector:
        insert(stream, 0)
        stream.wait_for_changes(10, connector)
        assert connector.terminate() == 0
        insert(stream, 10)
        pair.wait_for_replica()
        damage(pair, pair.source)
        connector.start()
        stream.wait_for_changes(20, connector)
        (switched,) = logged(connector, "another server goes on with the stream")
        assert switched["cdc.source"] == address(pair.replica)
        (passed,) = logged(connector, "passed over a source")
        server_name = f"source {address(pair.source)}"
        assert fits(str(passed["error.message"]), answer_errors.DAMAGED, server=server_name)
        assert passed["error.code"] == answer_errors.DAMAGED.code
        # The source itself goes on, and the replica with it.
        insert(stream, 20)
        stream.wait_for_changes(30, connector)
        assert connector.terminate() == 0
        # Where each of them refuses, that is the end.
        pair.on_source("FLUSH BINARY LOGS")
        pair.on_replica("FLUSH BINARY LOGS")
        insert(stream, 30)
        pair.wait_for_replica()
        damage(pair, pair.source)
        damage(pair, pair.replica)
        connector.start()
        assert connector.wait() == 3
        head, *lines = failure_of(connector.output()).splitlines()
    assert fits(head, setup_errors.NONE, problems="")
    # The one that was read last stands first; either can be that.
    for server in (pair.source, pair.replica):
        (line,) = (line.strip() for line in lines if address(server) in line)
        assert fits(line, answer_errors.DAMAGED, server=f"source {address(server)}")
    changes = stream.changes()
    assert_each_once_in_order(changes, len(changes))
    assert 30 <= len(changes) < 36


def damage(
    pair: ReplicationPair, server: local_stack.MysqlServer | local_stack.MariadbServer
) -> None:
    """Let the size of an event be 0 that stands in the middle of the last ten transactions."""
    file, end = pair.ask(server, "SHOW BINARY LOGS")[-1][:2]
    begins = [
        event[1]
        for event in pair.ask(server, f"SHOW BINLOG EVENTS IN '{file}'")
        if event[2] in ("Gtid", "Anonymous_Gtid")
    ]
    assert end > begins[-5]
    with (server.directory / "data" / file).open("r+b") as log:
        log.seek(begins[-5] + SIZE_OFFSET)
        log.write(bytes(4))


def purge(
    pair: ReplicationPair, server: local_stack.MysqlServer | local_stack.MariadbServer
) -> None:
    """Let a server forget everything but its newest file."""
    pair.ask(server, "FLUSH BINARY LOGS")
    deadline = time.monotonic() + 30
    while len(logs := pair.ask(server, "SHOW BINARY LOGS")) > 1:
        assert time.monotonic() < deadline, logs
        pair.ask(server, f"PURGE BINARY LOGS TO '{logs[-1][0]}'")


def test_two_connectors_of_one_server_id_are_told_apart(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(TABLE)
    insert(stream, 0, 1)
    with stream.connector(source__server_id=6001) as connector:
        stream.wait_for_changes(1, connector)
        # What another program does that has the same number, and on MySQL the same UUID.
        rogue_reads(connector)
        assert connector.wait() == 3
        text = failure_of(connector.output())
    assert re.search(r"error (1236|4052): A (slave|replica) with the same server_", text), text
    assert text.endswith("; give each replica and each pipeline a source.server_id of its own")


def rogue_reads(connector: ConnectorProcess) -> None:
    """Read the same log under the connector's own name and number."""
    settings = load_settings(connector.config)
    with MysqlServer.connect(settings.source) as server:
        point = resolve_start(server, "latest")
    with open_stream(settings.source, point, replica_name=settings.name) as rogue:
        rogue.receive(5.0)
        connector.wait()


@pytest.fixture(params=["mysql", "mariadb"])
def resettable(
    request: pytest.FixtureRequest, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[Stream]:
    """Follow a server of each product in turn, whose logs may be reset."""
    kind = local_stack.MysqlServer if request.param == "mysql" else local_stack.MariadbServer
    with kind(tmp_path / "source") as server:
        yield new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)


@pytest.mark.parametrize("noticed_by", ["the next file", "the end of the log"])
def test_a_reset_under_an_open_stream_is_noticed(resettable: Stream, noticed_by: str) -> None:
    stream = resettable
    stream.execute(TABLE)
    insert(stream, 0, 10)
    with stream.connector() as connector:
        stream.wait_for_changes(10, connector)
        time.sleep(1.1)  # a file that is begun anew has another second
        stream.execute("RESET MASTER", "INSERT INTO t VALUES (100, 'x')")
        if noticed_by == "the next file":
            stream.execute("FLUSH BINARY LOGS")
        assert connector.wait() == 3
        text = failure_of(connector.output())
        (doubt,) = logged(connector, "interrupted")
    server_name = f"source {stream.source.host}:{stream.source.port}"
    assert text.startswith(f"{server_name}: the logs were reset since binlog.000001:")
    assert text.endswith(
        "new transactions cannot be distinguished from those that were read: give the "
        "pipeline a new name "
        "and start over"
    )
    doubts = {
        "the next file": (progress_errors.FILE_AFTER,),
        "the end of the log": (progress_errors.LOG_WENT_BACK, progress_errors.FILE_SHRANK),
    }
    assert doubt["error.code"] in [code.code for code in doubts[noticed_by]], doubt
    assert sorted(change.key["id"] for change in stream.changes()) == list(range(10))


def test_check_asks_each_server_and_is_ready_where_a_run_would_begin(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    port = free_port()
    config = stream.config(source__failover_hosts=[f"127.0.0.1:{port}"])
    done = forked_command.run("check", str(config))
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[1].startswith(f"Source {stream.source.host}:{stream.source.port}: mysql 8.0.")
    assert shown[-2] == (
        f"[S101] source 127.0.0.1:{port}: cannot connect: Connection refused; check that the "
        "server runs, source.host, source.port and firewalls"
    )
    assert shown[-1] == "ready"
