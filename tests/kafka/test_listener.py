"""What a listener speaks is told apart from what the settings say of it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SinkUnavailable
from connector.foundation.errors.code import End
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka import connection_errors, listener
from connector.kafka.listener import listener_problem
from connector.stream.sink.checks import check_limits
from local_stack.server import HOST, free_port
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.errors.code import ErrorCode


def config(protocol: str) -> dict[str, Any]:
    return {"security_protocol": protocol, "sasl_mechanism": None}


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Give the port of a server that sends this to everybody, and closes."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    session, _ = server.accept()
                except OSError:
                    return
                with session:
                    session.settimeout(1)
                    session.recv(4096)
                    session.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def said(port: int, protocol: str) -> str:
    found = listener_problem(HOST, port, config(protocol), ssl.create_default_context)
    assert found is not None
    return found.text


# An answer of Kafka, but for a count of mechanisms that are not there.
COUNT_ALONE = struct.pack(">iihi", 10, 7, 0, 0x7FFF_FFFF)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\2ab", COUNT_ALONE]
)
def test_a_server_that_is_not_kafka(answer: bytes) -> None:
    with answering(answer) as port:
        assert said(port, "PLAINTEXT") == text_of(connection_errors.NOT_KAFKA)


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "_SECONDS", 0.5)
    is_over = threading.Event()
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            session, _ = server.accept()
            with session, suppress(OSError):
                for _ in range(80):
                    session.sendall(b"\1")
                    if is_over.wait(0.1):
                        return

        threading.Thread(target=serve, daemon=True).start()
        port = server.getsockname()[1]
        started = time.monotonic()
        try:
            found = listener_problem(HOST, port, config("PLAINTEXT"), ssl.create_default_context)
            seconds = time.monotonic() - started
        finally:
            is_over.set()
    assert found is not None
    # The second connection, with TLS, is never taken.
    assert found.code is connection_errors.NOT_KAFKA
    assert seconds < 5


def test_a_server_that_speaks_neither_tls_nor_kafka() -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert said(port, "SSL") == text_of(
            connection_errors.NO_SESSION, why="WRONG_VERSION_NUMBER"
        )


def test_a_port_where_nobody_listens() -> None:
    found = listener_problem(HOST, free_port(), config("SSL"), ssl.create_default_context)
    assert found is not None
    assert found.code.end is End.RETRIED
    assert found.text == text_of(connection_errors.NO_CONNECTION, why="Connection refused")


@pytest.mark.parametrize(
    ("number", "code", "end"),
    [
        (socket.EAI_NONAME, connection_errors.NO_NAME, End.PASSING),
        (socket.EAI_AGAIN, connection_errors.NO_NAME_NOW, End.RETRIED),
    ],
)
def test_a_name_that_cannot_be_resolved(
    monkeypatch: pytest.MonkeyPatch, number: int, code: ErrorCode, end: End
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(number, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    found = listener_problem("kafka.example", 9092, config("PLAINTEXT"), ssl.create_default_context)
    assert found is not None
    assert (found.code, found.code.end) == (code, end)


@pytest.mark.parametrize("host", ["kafka..example", ".example", "k" * 64])
def test_a_host_that_can_be_no_name_is_not_found(host: str) -> None:
    found = listener_problem(host, 9092, config("PLAINTEXT"), ssl.create_default_context)
    assert found is not None
    assert found.code is connection_errors.NO_NAME


# The client forgets its socket without closing it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_says_nothing_is_not_waited_for_without_end() -> None:
    with socket.create_server((HOST, 0)) as server:
        address = f"{HOST}:{server.getsockname()[1]}"
        settings = KafkaSettings(
            bootstrap_servers=[address],
            topic_prefix="shop",
            security_protocol="SSL",
            request_timeout_seconds=1,
        )
        with pytest.raises(SinkUnavailable) as caught:
            check_limits(settings)
    assert caught.value.code is connection_errors.NO_SESSION
    assert caught.value.text == f"kafka {address}: " + text_of(
        connection_errors.NO_SESSION, why="timed out"
    )
