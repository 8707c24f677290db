"""What a login says that no setting of the server's own mends, on real servers."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

import pytest

import local_stack
from connector.foundation.errors import SourceRefused
from connector.replication import server_errors
from connector.replication.server.mysql_server import MysqlServer
from tests.foundation.errors.patterns import fits
from tests.foundation.errors.texts import text_of
from tests.integration.source_server import Source, source_of

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

pytestmark = pytest.mark.server


def refusal(source: Source, **changes: object) -> str:
    with pytest.raises(SourceRefused) as caught:
        MysqlServer.connect(source.settings(**changes))
    return caught.value.text


def test_a_server_without_tls(tmp_path: Path) -> None:
    with local_stack.MariadbServer(tmp_path / "m", settings={"skip_ssl": ""}) as server:
        source = source_of(server)
        said = refusal(source, tls={"mode": "required"})
        assert said == text_of(server_errors.NO_TLS, server=source.name)


@pytest.mark.parametrize(
    ("answer", "mode", "code"),
    [
        # As a server that speaks no TLS, behind one that does.
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "required", server_errors.NO_TLS_SESSION),
        # A login of MariaDB for which the client lacks a package.
        (b"\x30\0\0\2\xfeclient_ed25519\0" + bytes(32), "disabled", server_errors.LOGIN_METHOD),
    ],
    ids=["tls", "plugin"],
)
def test_an_answer_to_the_login_that_the_client_cannot_go_on_with(
    mysql: Source, answer: bytes, mode: str, code: ErrorCode
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_greet_and_answer, args=(listener, mysql, answer))
        thread.start()
        port = listener.getsockname()[1]
        said = refusal(mysql, port=port, tls={"mode": mode})
        thread.join()
    assert fits(said, code, server=f"source 127.0.0.1:{port}"), said


def _greet_and_answer(listener: socket.socket, server: Source, answer: bytes) -> None:
    """Hand the server's greeting on, and answer in its place."""
    accepted, _ = listener.accept()
    address = ("127.0.0.1", server.server.endpoint.port)
    with accepted, socket.create_connection(address) as behind:
        accepted.sendall(behind.recv(4096))
        accepted.recv(4096)
        accepted.sendall(answer)
        with contextlib.suppress(ConnectionError):
            accepted.recv(4096)
