"""The figures that a running pipeline serves, over an idle and a busy source."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest

from local_stack import KafkaBroker
from tests.integration.database_stream import new_stream
from tests.integration.harness import run_to_end, wait_until
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Server
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

PREFIX = "binlog_connector_"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def figures(port: int) -> dict[str, float]:
    """Return each figure by its name, without the labels."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {
        line.split("{")[0].removeprefix(PREFIX): float(line.rsplit(" ", 1)[1]) for line in lines
    }


def test_the_lag_is_none_on_an_idle_source_and_what_was_delivered_is_counted(
    either_stream: Stream,
) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        stream.wait_for_changes(2, connector)
        wait_until(lambda: figures(port).get("lag_transactions") == 0, connector.output)
        idle = figures(port)
        assert idle["lag_seconds"] == 0
        assert idle["connected"] == 1
        assert idle["records_total"] >= 2
        assert idle["interruptions_total"] == 0
        assert idle["time_to_purge_seconds"] > 0
        # A rotation leaves nothing to read, but bytes.
        stream.execute("FLUSH BINARY LOGS")
        commits = idle["commits_total"]
        stream.execute("INSERT INTO t VALUES (3)")
        wait_until(lambda: figures(port)["commits_total"] > commits, connector.output)
        wait_until(lambda: figures(port)["lag_transactions"] == 0, connector.output)
        assert figures(port)["lag_seconds"] == 0
        assert connector.terminate() == 0
    assert figures(port) == {}


@full_only
def test_the_lag_is_not_told_while_the_source_cannot_be_asked(
    private_mysql_stream: tuple[Stream, Server],
) -> None:
    stream, server = private_mysql_stream
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_until(lambda: figures(port).get("lag_seconds") == 0, connector.output)
        server.kill()
        wait_until(lambda: "lag_seconds" not in figures(port), connector.output)
        wait_until(lambda: figures(port)["connected"] == 0, connector.output)
        server.start()
        wait_until(lambda: figures(port).get("lag_seconds") == 0, connector.output)
        wait_until(lambda: figures(port)["connected"] == 1, connector.output)
        assert connector.terminate() == 0


@full_only
def test_the_lag_moves_while_kafka_is_away(mysql_server: Server, tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "kafka__request_timeout_seconds": 2,
        "kafka__transaction_timeout_seconds": 4,
    }
    with KafkaBroker(tmp_path / "kafka") as broker:
        stream = new_stream(mysql_server.endpoint, broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        with stream.connector(**settings) as connector:
            stream.wait_for_changes(1, connector)
            wait_until(lambda: figures(port).get("lag_transactions") == 0, connector.output)
            broker.kill()
            stream.execute("INSERT INTO t VALUES (2)")
            # The run has ended, and none can begin.
            connector.wait_for("interrupted")
            wait_until(lambda: figures(port)["connected"] == 0, connector.output)
            wait_until(lambda: figures(port).get("lag_transactions") == 1, connector.output)
            before = figures(port)["lag_seconds"]
            wait_until(lambda: figures(port)["lag_seconds"] > before, connector.output)
            away = figures(port)
            assert away["connected"] == 0
            assert away["lag_bytes"] > 0
            assert away["time_to_purge_seconds"] > 0
            broker.start()
            stream.wait_for_changes(2, connector)
            wait_until(lambda: figures(port).get("lag_transactions") == 0, connector.output)
            assert connector.terminate() == 0
        stream.execute(f"DROP DATABASE {stream.database}")


def test_what_is_fenced_is_counted_until_it_is_lifted(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
    port = free_port()
    settings = {
        "metrics__listen": f"127.0.0.1:{port}",
        "quarantine__policy": "fence-key",
        "kafka__record_bytes_max": 2048,
    }
    with stream.connector(**settings) as connector:
        wait_until(lambda: figures(port).get("fences") == 0, connector.output)
        stream.execute("INSERT INTO t VALUES (1, REPEAT('x', 9000)), (2, REPEAT('y', 9000))")
        wait_until(lambda: figures(port)["fences"] == 2, connector.output)
        assert connector.terminate() == 0
    with stream.connector(**settings) as connector:
        wait_until(lambda: figures(port).get("fences") == 2, connector.output)
        stream.execute("UPDATE t SET v = 'small'")
        table = f"{stream.database}.t"
        command = [sys.executable, "-m", "connector", "snapshot", str(connector.config), table]
        subprocess.run(command, check=True, capture_output=True)
        wait_until(lambda: figures(port)["fences"] == 0, connector.output)
        assert connector.terminate() == 0


def test_an_address_that_is_taken_is_refused(stream: Stream) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = run_to_end(stream.config(metrics__listen=listen))
    assert code == 2
    assert f"metrics.listen {listen}: " in said
    assert "Address already in use; choose another address" in said
