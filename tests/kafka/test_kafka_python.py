"""The names of kafka-python that are not public: whether this release has them as we use them."""

from __future__ import annotations

import inspect
import re
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.protocol.metadata import MetadataResponse

from connector.kafka import connection_errors, kafka_python, listener
from connector.kafka.failures import BrokersUnreachable
from local_stack.server import HOST

PROJECT = Path(__file__).parents[2]
BROKERS = 12
PRODUCT = "connector", "stream_jobs", "verification", "local_stack"


def test_no_other_module_uses_names_that_are_not_public() -> None:
    users = [
        path.relative_to(PROJECT).as_posix()
        for package in PRODUCT
        for path in (PROJECT / package).rglob("*.py")
        if re.search(r"(?m)^ *(from|import) kafka\b", text := path.read_text("utf-8"))
        # The linter finds all others.
        and "SLF001" in text
    ]
    assert users == ["connector/kafka/kafka_python.py"]


def test_a_connection_gives_its_socket_away() -> None:
    here, there = socket.socketpair()
    with here, there, closing(NetworkSelector()) as selector:
        here.setblocking(False)
        transport = KafkaTCPTransport(selector, here, host="kafka")
        assert transport._sock is here
        there.sendall(b"bytes")
        assert transport._sock_recv() == (b"bytes", None)
        transport.pause_reading()
        assert callable(selector.unregister_event)


def test_the_manager_makes_connections_as_ours_does() -> None:
    for name in ("bootstrap", "get_connection", "_build_transport"):
        theirs = inspect.signature(getattr(KafkaConnectionManager, name)).parameters
        ours = inspect.signature(getattr(kafka_python.ConnectionManager, name)).parameters
        assert list(theirs)[:3] == list(ours)[:3], name
    client = kafka_python.network_client(bootstrap_servers=["127.0.0.1:1"])
    with closing(client):
        assert isinstance(client._manager, kafka_python.ConnectionManager)
        assert client._manager._net is not None
        assert client.cluster.config["allow_auto_create_topics"] is False
    assert issubclass(type(client), KafkaNetClient)


def test_an_admin_client_has_its_manager() -> None:
    assert "_manager" in inspect.getsource(KafkaAdminClient)
    assert {"run", "send"} <= set(dir(KafkaConnectionManager))


def test_certificates_are_verified_as_the_client_does() -> None:
    files = {f"ssl_{name}": None for name in ("context", "cafile", "certfile", "keyfile")}
    others = {"ssl_crlfile": None, "ssl_password": None, "ssl_check_hostname": True}
    context = KafkaSSLTransport._build_ssl_context(files | others)
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_threads_that_read_a_first_response_at_once_leave_it_readable() -> None:
    program = """
import gc, threading, time
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.api_message import VersionSubscriptable
from kafka.protocol.consumer import ListOffsetsResponse
from connector.kafka import kafka_python

make = VersionSubscriptable.__init__
pauses = iter([0.3, 0.0])

def make_slowly(*args, **kw):
    # The second thread would be ready first, and the first throw its class away.
    time.sleep(next(pauses))
    make(*args, **kw)

class Header:
    request_api_key = ListOffsetsResponse.API_KEY
    request_api_version = 7

def read():
    return ResponseClassRegistry.get_response_class(Header)

VersionSubscriptable.__init__ = make_slowly
threads = [threading.Thread(target=read) for _ in range(2)]
for thread in threads:
    thread.start()
    time.sleep(0.1)
for thread in threads:
    thread.join()
gc.collect()
print(read().__name__)
"""
    # In a process of its own, because the class of a version is made once.
    command = sys.executable, "-c", program
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ListOffsetsResponse_v7\n", "")


# The client forgets sockets that are not connected yet without closing them.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_announced_addresses_that_do_not_answer_are_tried_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_python, "_CONNECT_SECONDS_MAX", 1.0)
    monkeypatch.setattr(listener, "_SECONDS", 0.5)
    with ExitStack() as listening:
        # Their system accepts connections that they never take.
        servers = [listening.enter_context(socket.create_server((HOST, 0))) for _ in range(BROKERS)]
        addresses = [server.getsockname() for server in servers]

        def announce(manager: Any, *_: object) -> None:
            manager.cluster._brokers = {
                node: MetadataResponse.MetadataResponseBroker(node_id=node, host=host, port=port)
                for node, (host, port) in enumerate(addresses)
            }

        monkeypatch.setattr(KafkaConnectionManager, "bootstrap", announce)
        started = time.monotonic()
        with pytest.raises(BrokersUnreachable) as caught:
            kafka_python.find_brokers({"bootstrap_servers": ["127.0.0.1:1"]}, 1)
        seconds = time.monotonic() - started
    assert caught.value.message.code is connection_errors.ADVERTISED
    assert all(f"{host}:{port}" in str(caught.value) for host, port in addresses)
    # One alone takes 2 s.
    assert seconds < BROKERS
