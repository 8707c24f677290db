"""A connection to a broker waits no longer than its time, and sends nothing in clear over TLS."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.kafka_python import LoggedIn
from tests.kafka.broker_socket import KnownVersions
from tests.replication.server.impostor import own_certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECONDS = 0.2
# More than the buffers of a connection.
LARGE = bytes(8 << 20)
of_each_kind = pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])


def in_tls(ends: tuple[socket.socket, socket.socket], folder: Path) -> list[socket.socket]:
    """Return both ends, ours first, after a handshake."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own_certificate(folder / "server.pem"))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with ThreadPoolExecutor() as pool:
        theirs = pool.submit(server.wrap_socket, ends[1], server_side=True)
        return [client.wrap_socket(ends[0]), theirs.result()]


@contextmanager
def connected(
    folder: Path, seconds: float, *, tls: bool
) -> Iterator[tuple[BrokerConnection, socket.socket, socket.socket]]:
    """Yield a connection, its socket, and the end of a broker that does nothing."""
    ends = socket.socketpair()
    ours, theirs = in_tls(ends, folder) if tls else ends
    versions: Any = KnownVersions({})
    connection = BrokerConnection(LoggedIn(ours, versions), "test", seconds)
    with theirs:
        yield connection, ours, theirs
        connection.close()


def failure_of(folder: Path, act: Callable[[BrokerConnection], object], *, tls: bool) -> object:
    """Return what an act raises at a broker that neither reads nor answers."""
    # One that waits without end is ended by the end of the connection.
    with ThreadPoolExecutor() as pool, connected(folder, SECONDS, tls=tls) as (connection, *_):
        return pool.submit(act, connection).exception(timeout=10)


@of_each_kind
def test_an_answer_is_waited_for_no_longer_than_its_time(tmp_path: Path, *, tls: bool) -> None:
    assert isinstance(failure_of(tmp_path, BrokerConnection.receive, tls=tls), TimeoutError)


@of_each_kind
def test_room_for_a_request_is_waited_for_no_longer_than_its_time(
    tmp_path: Path, *, tls: bool
) -> None:
    failure = failure_of(tmp_path, lambda connection: connection.send(LARGE), tls=tls)
    assert isinstance(failure, TimeoutError)


@of_each_kind
@pytest.mark.parametrize("end", [BrokerConnection.interrupt, BrokerConnection.close])
def test_another_thread_ends_a_wait(
    tmp_path: Path, end: Callable[[BrokerConnection], None], *, tls: bool
) -> None:
    with ThreadPoolExecutor() as pool, connected(tmp_path, 60, tls=tls) as (connection, *_):
        waiting = pool.submit(connection.receive)
        end(connection)
        assert isinstance(waiting.exception(timeout=10), OSError)


def test_an_interrupted_request_is_not_continued_in_clear(tmp_path: Path) -> None:
    with connected(tmp_path, 60, tls=True) as (connection, ours, _):
        assert isinstance(ours, ssl.SSLSocket)
        connection.interrupt()
        # A thread between two parts of a request still has its session.
        assert ours.version() is not None
        with pytest.raises(OSError, match=r"EOF|Broken pipe"):
            connection.send(b"row")
