"""What a running pipeline shows of itself in each state, and `status` without a running one."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from connector.stream.sink import kafka_errors
from connector.stream.status.model import Level, PipelineStatus, State, from_json
from local_stack import KafkaBroker, MysqlServer, connect
from tests import forked_command
from tests.integration.database_stream import Stream, new_stream
from tests.integration.harness import ConnectorProcess, wait_until
from tests.integration.operation.test_health import asked
from tests.integration.operation.test_metrics import free_port
from tests.integration.packet_proxy import TYPE_OFFSET, PacketProxy
from tests.stream.status.audit import AXE, audit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from connector.stream.status.model import Host, TableStatus
    from local_stack import Server
    from tests.integration.replication_pair import ReplicationPair

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# What a page may not hold, however the tables of the source are named.
MARKUP = "<img src=x onerror=alert(1)>"
# In the name of a file, each takes five characters.
EMOJI = "\u26a1" * 40
RIGHT_TO_LEFT = "\u202e\u05e9\u05dc\u05d5\u05dd"
WRITE_ROWS = 30
# An audit looks at the copy for some seconds.
COPIED_ROWS = 3000 if AXE is None else 60_000


def facts_at(port: int) -> PipelineStatus | None:
    """Return the facts of the process at a port; None without an answer."""
    code, said = asked(port, "/status.json")
    return from_json(said.encode()) if code == 200 else None


def wait_for(
    port: int, condition: Callable[[PipelineStatus], bool], connector: ConnectorProcess
) -> PipelineStatus:
    """Return the facts once they meet a condition."""
    found: list[PipelineStatus] = []

    def meets() -> bool:
        facts = facts_at(port)
        if facts is None or not condition(facts):
            return False
        found.append(facts)
        return True

    wait_until(meets, lambda: f"{facts_at(port)}\n{connector.output()}")
    return found[-1]


def states(facts: PipelineStatus) -> list[State]:
    return [one.state for one in facts.conditions]


def table_of(facts: PipelineStatus, name: str) -> TableStatus:
    (found,) = [table for table in facts.tables if table.name == name]
    return found


def status(connector: ConnectorProcess, *options: str) -> tuple[int, str]:
    """Return the exit code of `status`, and what it printed."""
    run = forked_command.run("status", str(connector.config), *options)
    return run.returncode, run.stdout + run.stderr


class Text(HTMLParser):
    """The elements of a page, and its texts without script and style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self._silent = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent = self._silent and tag not in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.said += data


def page_at(port: int) -> Text:
    code, said = asked(port, "/")
    assert code == 200, said
    return Text(said)


def test_a_stream_that_keeps_up_is_shown_with_its_tables_and_its_position(
    either_stream: Stream,
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "UPDATE t SET v = 3 WHERE id = 2",
    )
    port = free_port()
    with stream.connector(
        metrics__listen=f"127.0.0.1:{port}", kafka__tombstones=False
    ) as connector:
        stream.wait_for_changes(3, connector)
        facts = wait_for(
            port,
            lambda facts: facts.lag is not None and facts.lag.transactions == 0,
            connector,
        )
        assert states(facts) == [State.STREAMING]
        audit(port, "streaming")
        assert facts.state.level is Level.GOOD
        assert facts.state.reason == "everything that the source has committed is delivered"
        assert facts.lag is not None
        assert (facts.lag.seconds, facts.lag.transactions) == (0, 0)
        table = table_of(facts, f"{stream.database}.t")
        assert table.records == 3
        assert table.bytes > 3 * 50
        assert table.last_change is not None
        assert abs(time.time() - table.last_change) < 60
        assert facts.throughput is not None
        assert facts.throughput.records > 3
        assert facts.purge is not None
        assert facts.purge.part > 0.9
        position = facts.position
        assert position is not None
        with connect(stream.source) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW MASTER STATUS")
            file, at, *_ = cursor.fetchone() or ("", 0)
        # Other tests write to the same server.
        assert (position.file, position.position) <= (file, at)
        assert position.gtid_set
        (host,) = facts.hosts
        assert host.in_use
        assert host.address == f"{stream.source.host}:{stream.source.port}"
        assert [event.what for event in facts.events[-2:]] == ["streaming", "starting"]
        page = page_at(port)
        assert "● streaming" not in page.said  # the dot is drawn
        for shown in ("streaming", f"{stream.database}.t", position.file, host.address, "0.0 s"):
            assert shown in page.said
        code, said = status(connector)
        assert code == 0, said
        assert "● streaming  everything that the source has committed is delivered" in said
        assert f"{stream.database}.t" in said
        assert f"{host.address}: in use" in said
        code, said = status(connector, "--json")
        assert code == 0
        assert json.loads(said)["tables"][0]["records"] == 3
        assert connector.terminate() == 0


def test_the_answers_let_a_browser_load_nothing_else_and_change_nothing(stream: Stream) -> None:
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_for(port, lambda facts: State.STREAMING in states(facts), connector)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            headers, page = answer.headers, answer.read().decode()
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        # Nothing from elsewhere, and no attribute that the policy would forbid.
        addresses = [
            value
            for _, attributes in Text(page).elements
            for name, value in attributes.items()
            if name in ("src", "href", "action")
        ]
        assert all(str(one).startswith(("/", "data:image/svg+xml,")) for one in addresses)
        assert not any(
            name == "style" or name.startswith("on")
            for _, attributes in Text(page).elements
            for name in attributes
        )
        for path in ("/", "/status.json"):
            assert asked(port, path, "HEAD") == (200, "")
            for method in ("POST", "PUT", "DELETE"):
                assert asked(port, path, method) == (405, f"{path} answers GET and HEAD\n")
        assert connector.terminate() == 0


def test_hostile_names_are_harmless(stream: Stream) -> None:
    names = [MARKUP, EMOJI, RIGHT_TO_LEFT, "{{ 7 * 7 }}", "\x1b[31m[bold]red"]
    for name in names:
        stream.execute(
            f"CREATE TABLE `{name}` (`{name}` INT PRIMARY KEY)", f"INSERT INTO `{name}` VALUES (1)"
        )
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "quarantine__policy": "fence-table",
    }
    with stream.connector(**settings) as connector:
        facts = wait_for(
            port,
            lambda facts: facts.position is not None and len(facts.tables) >= len(names),
            connector,
        )
        assert {f"{stream.database}.{name}" for name in names} <= {
            table.name for table in facts.tables
        }
        audit(port, "hostile")
        page = page_at(port)
        assert not any(tag == "img" for tag, _ in page.elements)
        assert [tag for tag, _ in page.elements].count("script") == 1
        assert f"{stream.database}.{MARKUP}" in page.said
        assert f"{stream.database}.{EMOJI}" in page.said
        assert "{{ 7 * 7 }}" in page.said
        # It would turn the writing direction of what follows.
        assert "\u202e" not in page.said
        assert "\\u202e\u05e9" in page.said
        assert "\x1b" not in page.said
        _, said = status(connector)
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert "\\u001b[31m[bold]red" in said
        assert connector.terminate() == 0


def test_a_copy_is_shown_with_its_progress(stream: Stream) -> None:
    rows = ", ".join(f"({number}, REPEAT('x', 200))" for number in range(COPIED_ROWS))
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)", f"INSERT INTO t VALUES {rows}")
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "source__start": "snapshot",
        "snapshot__chunk_rows": 10,
        "snapshot__connections": 1,
    }
    with stream.connector(**settings) as connector:
        facts = wait_for(
            port,
            lambda facts: any(table.copy and table.copy.rows for table in facts.tables),
            connector,
        )
        assert facts.state.state is State.COPYING
        audit(port, "copying")
        assert facts.state.level is Level.GOOD
        copy = table_of(facts, f"{stream.database}.t").copy
        assert copy is not None
        assert copy.phase == "copying"
        assert 0 < copy.rows < copy.estimated_rows
        assert f"of about {copy.estimated_rows:,} rows" in page_at(port).said
        code, said = status(connector)
        assert code == 0
        assert "● copying  1 table being copied; the stream goes on meanwhile" in said
        facts = wait_for(port, lambda facts: State.COPYING not in states(facts), connector)
        assert [event.what for event in facts.events].count("copied") == 1
        assert connector.terminate() == 0


def test_a_stream_that_is_late_says_so(private_mysql_stream: tuple[Stream, MysqlServer]) -> None:
    stream, server = private_mysql_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    slow: list[bool] = [True]

    def pass_slowly(payload: bytes) -> bytes:
        if slow and payload[TYPE_OFFSET : TYPE_OFFSET + 1] == bytes([WRITE_ROWS]):
            time.sleep(0.5)
        return payload

    port = free_port()
    with PacketProxy(server.endpoint, change=pass_slowly) as proxy:
        settings = {
            "metrics__listen": f"127.0.0.1:{port}",
            "source__port": proxy.port,
            "source.tls__mode": "disabled",
        }
        with stream.connector(**settings) as connector:
            wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
            stream.execute(*(f"INSERT INTO t VALUES ({number})" for number in range(60)))
            facts = wait_for(port, lambda facts: State.LAGGING in states(facts), connector)
            assert states(facts) == [State.LAGGING, State.STREAMING]
            audit(port, "lagging")
            assert facts.worst is Level.WARNING
            assert facts.lag is not None
            assert facts.lag.seconds > 10
            assert re.fullmatch(r"the stream is \d+ s late, \d+ transactions?", facts.state.reason)
            code, said = status(connector)
            assert code == 1, said
            assert "● lagging  the stream is" in said
            slow.clear()
            wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
            assert connector.terminate() == 0


def test_a_source_that_is_away_is_named_with_the_code(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, server = private_mysql_stream
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        server.kill()
        facts = wait_for(
            port,
            # Two sessions notice it, one after the other.
            lambda facts: (
                states(facts)[:2] == [State.SOURCE_AWAY, State.INTERRUPTED] and facts.lag is None
            ),
            connector,
        )
        audit(port, "source-away")
        assert facts.worst is Level.WARNING
        # Which one depends on the session that notices first.
        assert facts.state.code is not None
        assert facts.state.code.startswith("S")
        assert facts.state.reason.startswith("the source has not answered for ")
        assert facts.lag is None
        assert not any(host.in_use for host in facts.hosts)
        assert "source away" in page_at(port).said
        code, said = status(connector)
        assert code == 1
        assert "● source away  the source has not answered for" in said
        assert re.search(r"● source away  [^●]* \[S\d{3}\]\s", said)
        # Each attempt has a line in the log, and one event for all of them.
        facts = wait_for(
            port,
            lambda facts: any(
                event.what == "interrupted" and event.times > 1 for event in facts.events
            ),
            connector,
        )
        server.start()
        facts = wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        happened = [event.what for event in facts.events]
        assert "the source was lost" in happened
        assert "the source is back" in happened
        assert connector.terminate() == 0


def test_a_broker_that_is_away_is_named_and_the_lag_is_known(
    mysql_server: Server, tmp_path: Path
) -> None:
    port = free_port()
    with KafkaBroker(tmp_path / "kafka") as broker:
        stream = new_stream(mysql_server.endpoint, broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        settings = {
            "metrics__listen": f"127.0.0.1:{port}",
            "kafka__request_timeout_seconds": 2,
            "kafka__transaction_timeout_seconds": 4,
        }
        with stream.connector(**settings) as connector:
            stream.wait_for_changes(1, connector)
            wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
            broker.kill()
            stream.execute("INSERT INTO t VALUES (2)")
            facts = wait_for(
                port,
                lambda facts: (
                    facts.state.state is State.KAFKA_AWAY
                    and facts.lag is not None
                    and facts.lag.transactions == 1
                ),
                connector,
            )
            audit(port, "kafka-away")
            assert facts.state.code == kafka_errors.NO_ANSWER.code
            assert facts.purge is not None
            assert status(connector)[0] == 1
            connector.kill()
            code, said = status(connector)
            # Neither the process nor Kafka tells where the stream is.
            assert code == 1
            assert f"no process answers at 127.0.0.1:{port}" in said
            assert "[K" in said
        stream.execute(f"DROP DATABASE {stream.database}")


def test_what_is_in_quarantine_needs_somebody(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "quarantine__policy": "fence-key",
        "kafka__record_bytes_max": 2048,
    }
    with stream.connector(**settings) as connector:
        wait_for(port, lambda facts: State.STREAMING in states(facts), connector)
        stream.execute("INSERT INTO t VALUES (1, REPEAT('x', 9000)), (2, REPEAT('y', 9000))")
        stream.execute("UPDATE t SET v = 'small' WHERE id = 2")
        facts = wait_for(
            port,
            lambda facts: (
                sum(table.kept_back.rows for table in facts.tables if table.kept_back) == 3
            ),
            connector,
        )
        assert facts.state.state is State.QUARANTINE
        audit(port, "quarantine")
        assert facts.worst is Level.CRITICAL
        held = table_of(facts, f"{stream.database}.t").kept_back
        assert held is not None
        assert (held.whole, held.keys) == (False, 2)
        assert "3 changes of 2 keys since" in page_at(port).said
        code, said = status(connector)
        assert code == 3
        held_back = f"changes of {stream.database}.t are held back, by 2 fences"
        assert f"● quarantine  {held_back}" in said
        connector.kill()
        code, said = status(connector)
        assert code == 4
        assert f"● quarantine  {held_back}" in said
        assert "quarantine: 3 changes of 2 keys since" in said


def test_a_dead_process_is_told_from_the_records_and_whether_the_source_has_what_follows(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, _ = private_mysql_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        code, said = status(ConnectorProcess(connector.config))
        stream.wait_for_changes(1, connector)
        running = wait_for(port, lambda facts: states(facts) == [State.STREAMING], connector)
        assert connector.process is not None
        pid = connector.process.pid
        connector.kill()
    assert running.position is not None
    stream.execute("INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
    code, said = status(connector, "--json")
    assert code == 4
    dead = from_json(said.encode())
    assert states(dead) == [State.STOPPED]
    assert dead.position is not None
    assert dead.position.gtid_set == running.position.gtid_set
    # Not when Kafka committed the claim: lag and time to purge count from it.
    assert dead.position.source_committed_at == running.position.source_committed_at is not None
    assert dead.process is not None
    assert dead.process.pid == pid
    assert dead.lag is not None
    assert dead.lag.transactions == 2
    (host,) = dead.hosts
    assert host.can_continue
    code, said = status(connector)
    assert code == 4
    assert f"● stopped  no process answers at 127.0.0.1:{port}; the last commit was" in said
    assert f"and ended at {dead.position.file}:{dead.position.position}" in said
    assert f"{host.address}: has what follows" in said
    # A server that has dropped what follows.
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("SHOW MASTER STATUS")
        newest, *_ = cursor.fetchone() or ("",)
        cursor.execute(f"PURGE BINARY LOGS TO '{newest}'")
    code, said = status(connector)
    assert code == 3
    assert "● cannot continue" in said
    assert "purged" in said
    assert re.search(r"\[S\d{3}\]", said)


def test_without_metrics_listen_nobody_knows_whether_a_process_runs(stream: Stream) -> None:
    connector = stream.connector()
    code, said = status(connector)
    assert code == 4
    assert "● unknown  metrics.listen is not set, so nobody can ask whether a process runs" in said
    assert "Kafka has no progress of this pipeline: it has never run" in said


def test_another_pipeline_at_the_address_is_not_taken_for_this_one(stream: Stream) -> None:
    port = free_port()
    listen = f"127.0.0.1:{port}"
    with stream.connector(metrics__listen=listen) as connector:
        wait_for(port, lambda facts: State.STREAMING in states(facts), connector)
        other = stream.directory / "other.toml"
        other.touch(mode=0o600)
        other.write_text(
            connector.config.read_text().replace(f'name = "{stream.prefix}"', 'name = "other"', 1)
        )
        code, said = status(ConnectorProcess(other))
        assert code == 4
        assert f"● stopped  pipeline {stream.prefix} answers at {listen}" in said
        assert connector.terminate() == 0


def test_after_a_failover_the_other_server_is_in_use(
    pair: ReplicationPair, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(pair.source.endpoint, kafka_broker.endpoint, tmp_path)
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    pair.wait_for_replica()
    first, second = (
        f"{server.endpoint.host}:{server.endpoint.port}" for server in (pair.source, pair.replica)
    )
    port = free_port()
    with stream.connector(
        metrics__listen=f"127.0.0.1:{port}", source__failover_hosts=[second]
    ) as connector:
        stream.wait_for_changes(1, connector)
        facts = wait_for(port, lambda facts: facts.lag is not None, connector)
        assert in_use(facts.hosts) == {first: True, second: False}
        pair.source.kill()
        facts = wait_for(
            port,
            lambda facts: in_use(facts.hosts) == {first: False, second: True},
            connector,
        )
        assert "another server goes on with the stream" in [event.what for event in facts.events]
        assert connector.terminate() == 0


def in_use(hosts: list[Host]) -> dict[str, bool]:
    return {host.address: host.in_use for host in hosts}
