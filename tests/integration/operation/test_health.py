"""What a running pipeline says of its health, while a source or a broker is gone."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import EventType
from connector.stream.run import run_errors
from connector.stream.sink import kafka_errors
from local_stack import KafkaBroker, MysqlServer
from tests.foundation.errors.texts import shown, text_of
from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until
from tests.integration.operation.test_metrics import figures, free_port
from tests.integration.packet_proxy import TYPE_OFFSET, PacketProxy
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Server
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = [pytest.mark.server, pytest.mark.kafka]

READY = "ready\nthe source answers\nKafka answers\nthe stream is open\n"


def asked(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    """Return the status and the body of an answer; 0 without one."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def interruptions(connector: ConnectorProcess) -> list[str]:
    """Return the errors that interrupted the stream; others were mended without that."""
    entries = [json.loads(line) for line in connector.output().splitlines()]
    return [entry["error.message"] for entry in entries if entry["message"] == "interrupted"]


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """Let a process stand still, with its connections open."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_each_path_and_method_has_its_answer(stream: Stream) -> None:
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
        status, said = asked(port, "/healthz")
        assert status == 200
        assert said.startswith("well: the main loop turned 0 s ago")
        assert asked(port, "/metrics")[0] == 200
        assert asked(port, "/metrics?name[]=binlog_connector_kafka_up")[0] == 200
        for path in ("/metrics", "/healthz", "/readyz"):
            assert asked(port, path, "HEAD") == (200, "")
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
                assert asked(port, path, method) == (405, f"{path} answers GET and HEAD\n")
        for path in ("/metrics/", "/health", "/favicon.ico"):
            known = "/, /status.json, /metrics, /healthz, /readyz"
            assert asked(port, path) == (404, f"{path} is not there; there are {known}\n")
        assert connector.terminate() == 0


@full_only
def test_a_broker_that_is_gone_is_told_while_the_stream_is_idle(
    mysql_server: Server, tmp_path: Path
) -> None:
    port = free_port()
    with KafkaBroker(tmp_path / "kafka") as broker:
        stream = new_stream(mysql_server.endpoint, broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
            stream.wait_for_changes(1, connector)
            wait_until(lambda: figures(port).get("connected") == 1, connector.output)
            broker.kill()
            wait_until(lambda: figures(port)["kafka_up"] == 0, connector.output)
            away = figures(port)
            assert (away["connected"], away["source_up"]) == (0, 1)
            assert away["interruptions_total"] == 1
            status, said = asked(port, "/readyz")
            assert status == 503
            assert said.startswith("not ready\nthe source answers\nKafka has not answered for ")
            assert said.endswith("\nthe stream is open\n")
            away_by = said.splitlines()[2].partition(" s: ")[2]
            assert away_by == shown(kafka_errors.NO_ANSWER, servers=broker.endpoint.bootstrap)
            assert asked(port, "/healthz")[0] == 200
            broker.start()
            wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
            assert figures(port)["connected"] == 1
            stream.execute("INSERT INTO t VALUES (2)")
            stream.wait_for_changes(2, connector)
            with paused(broker.pid):
                wait_until(lambda: figures(port)["kafka_up"] == 0, connector.output)
            wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
            assert connector.terminate() == 0
            said = connector.output()
            assert said.count('"message": "Kafka was lost"') == 2
            assert said.count('"message": "Kafka is back"') == 2
        stream.execute(f"DROP DATABASE {stream.database}")


@full_only
def test_a_source_that_is_gone_is_told_while_the_stream_is_idle(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, server = private_mysql_stream
    port = free_port()
    with stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector:
        wait_until(lambda: figures(port).get("connected") == 1, connector.output)
        server.kill()
        wait_until(lambda: figures(port)["source_up"] == 0, connector.output)
        assert (figures(port)["connected"], figures(port)["kafka_up"]) == (0, 1)
        status, said = asked(port, "/readyz")
        assert status == 503
        assert said.startswith("not ready\nthe source has not answered for ")
        assert "Kafka answers\nthe stream is not open: [S713] source 127.0.0.1:" in said
        assert asked(port, "/healthz")[0] == 200
        server.start()
        wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
        assert connector.terminate() == 0
        assert connector.output().count('"message": "the source was lost"') == 1
        assert connector.output().count('"message": "the source is back"') == 1


def test_a_source_that_hangs_is_told_before_the_read_timeout(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, server = private_mysql_stream
    port = free_port()
    settings = {"metrics__listen": f"127.0.0.1:{port}", "source__read_timeout_seconds": 600}
    with stream.connector(**settings) as connector:
        wait_until(lambda: figures(port).get("lag_seconds") == 0, connector.output)
        with paused(server.pid):
            wait_until(lambda: figures(port)["source_up"] == 0, connector.output)
        wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
        # The stream was never opened anew.
        assert connector.output().count('"message": "streaming"') == 1
        assert connector.terminate() == 0


def silence(said: str) -> float:
    """Return the seconds of an error that tells of silence."""
    found = re.search(r"silent for ([0-9.]+) seconds", said)
    assert found is not None, said
    return float(found[1])


def test_a_connection_that_is_dead_is_made_again_before_the_read_timeout(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, server = private_mysql_stream
    holds: list[bool] = []
    beats: list[bool] = []

    def is_heartbeat(payload: bytes) -> bool:
        found = payload[:1] == b"\0" and payload[TYPE_OFFSET : TYPE_OFFSET + 1] in (
            bytes([EventType.HEARTBEAT_LOG_EVENT]),
            bytes([EventType.HEARTBEAT_LOG_EVENT_V2]),
        )
        beats.append(found)
        return found and bool(holds)

    with PacketProxy(server.endpoint, waits=is_heartbeat) as proxy:
        settings = {
            "source__port": proxy.port,
            "source__read_timeout_seconds": 600,
            "source.tls__mode": "disabled",
        }
        with stream.connector(**settings) as connector:
            wait_until(lambda: sum(beats) > 1, connector.output)
            holds.append(True)
            connector.wait_for('"message": "interrupted"')
            address = f"127.0.0.1:{proxy.port}"
            are_dead = []
            for lost in interruptions(connector):
                facts = {"address": address, "seconds": silence(lost)}
                dead = text_of(run_errors.DEAD, **facts)
                assert lost in (dead, text_of(run_errors.QUIET, **facts))
                are_dead.append(lost == dead)
            # If the watch looks late, the connection counts as dead at once.
            assert any(are_dead[:2])
            holds.clear()
            # On a busy machine, the next connection was dead as well before anybody looked.
            streaming = are_dead.count(True) + 1
            wait_until(
                lambda: connector.output().count('"message": "streaming"') >= streaming,
                connector.output,
            )
            assert connector.terminate() == 0
