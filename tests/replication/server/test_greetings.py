"""What is said of a port where something else than a server listens."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from connector.foundation.errors import ConnectorError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SourceSettings
from connector.replication import server_errors
from connector.replication.server.mysql_server import MysqlServer
from tests.foundation.errors.texts import text_of


def said_of(port: int) -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        MysqlServer.connect(SourceSettings(port=port, server_id=1, read_timeout_seconds=1))
    return caught.value


def test_a_program_that_waits_for_its_client() -> None:
    # As Kafka, HTTP and TLS do.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        error = said_of(port)
    server = f"source 127.0.0.1:{port}"
    assert isinstance(error, SourceUnavailable)
    assert error.text == text_of(server_errors.SILENT, server=server, seconds=1)


@pytest.mark.parametrize(
    "greeting",
    [
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"220 mail.example ESMTP\r\n",
        b"\x05\0\0\0\x0b\x08\x05\x1a\0",  # the X Protocol of MySQL
        b"\x01\0\0\0\x0a",
        b"\x05\0\0\0\x0a8.0\0",
        b"\0\0\0\0",
    ],
    ids=["ssh", "smtp", "mysqlx", "cut", "cut-later", "empty"],
)
def test_a_program_that_greets_in_another_way(greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_say, args=(listener, greeting))
        thread.start()
        port = listener.getsockname()[1]
        error = said_of(port)
        thread.join()
    assert isinstance(error, SourceRefused)
    assert error.text == text_of(server_errors.NOT_MYSQL, server=f"source 127.0.0.1:{port}")


@pytest.mark.parametrize("greeting", [b"", b"\x40\0\0\0\x0a8.0"], ids=["nothing", "a-part"])
def test_a_proxy_that_has_no_server_behind_it(greeting: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_say, args=(listener, greeting))
        thread.start()
        port = listener.getsockname()[1]
        error = said_of(port)
        thread.join()
    assert isinstance(error, SourceUnavailable)
    assert error.text == text_of(server_errors.CLOSED_AT_ONCE, server=f"source 127.0.0.1:{port}")


@pytest.mark.parametrize("host", ["db1..internal", ".db", "d" * 64])
def test_a_host_that_can_be_no_name_is_not_found(host: str) -> None:
    with pytest.raises(SourceRefused) as caught:
        MysqlServer.connect(SourceSettings(host=host, server_id=1))
    assert caught.value.text == text_of(server_errors.NAME_UNKNOWN, server=f"source {host}:3306")


def _say(listener: socket.socket, greeting: bytes) -> None:
    accepted, _ = listener.accept()
    with accepted, contextlib.suppress(ConnectionError):
        accepted.sendall(greeting)
        if greeting:
            accepted.shutdown(socket.SHUT_WR)
            accepted.recv(4096)
