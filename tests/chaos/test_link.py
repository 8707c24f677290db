"""A link ends connections just where it is told to, and holds back what it is told to."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from local_stack import Endpoint
from tests.chaos.link import End, Link, Side

if TYPE_CHECKING:
    from collections.abc import Iterator

SILENCE_SECONDS = 0.3


class Ends:
    """Both ends of connections through a link."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.link = Link("test", Endpoint("127.0.0.1", self._listener.getsockname()[1]))
        self._opened: list[socket.socket] = []

    def connect(self) -> tuple[socket.socket, socket.socket]:
        client = socket.create_connection(("127.0.0.1", self.link.port))
        server, _ = self._listener.accept()
        for end in (client, server):
            end.settimeout(10)
        self._opened += [client, server]
        return client, server

    def close(self) -> None:
        self.link.close()
        for each in (self._listener, *self._opened):
            each.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    with closing(Ends()) as ends:
        yield ends


def read_to_end(end: socket.socket) -> bytes:
    data = b""
    while part := end.recv(65536):
        data += part
    return data


def test_what_is_sent_arrives_both_ways(ends: Ends) -> None:
    client, server = ends.connect()
    data = bytes(range(256)) * 8000
    client.sendall(b"question")

    assert server.recv(100) == b"question"
    server.sendall(data[:1000])
    assert client.recv(1000, socket.MSG_WAITALL) == data[:1000]
    server.close()
    assert read_to_end(client) == b""


@pytest.mark.parametrize("number", [0, 1, 5000])
def test_a_connection_ends_after_a_number_of_bytes(ends: Ends, number: int) -> None:
    client, server = ends.connect()
    server.sendall(b"x" * 100)
    assert client.recv(100, socket.MSG_WAITALL) == b"x" * 100
    happened = ends.link.cut_behind(number, Side.SERVER, End.FIN)
    server.sendall(b"y" * 10_000)

    assert read_to_end(client) == b"y" * number
    assert happened.is_set()


def test_the_next_connection_ends_after_a_number_of_bytes(ends: Ends) -> None:
    happened = ends.link.cut_next_behind(3, Side.CLIENT, End.FIN)
    client, server = ends.connect()
    client.sendall(b"abcdef")

    assert read_to_end(server) == b"abc"
    assert happened.is_set()


def test_a_cut_can_be_a_reset(ends: Ends) -> None:
    client, server = ends.connect()
    client.sendall(b"abc")
    assert server.recv(3, socket.MSG_WAITALL) == b"abc"
    ends.link.cut(End.RST)

    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_a_stall_holds_back_one_side_until_it_is_over(ends: Ends) -> None:
    client, server = ends.connect()
    ends.link.stalled = frozenset({Side.SERVER})
    # What was about to be copied passes.
    time.sleep(0.1)
    server.sendall(b"answer")
    client.sendall(b"question")
    assert server.recv(100) == b"question"
    client.settimeout(SILENCE_SECONDS)
    with pytest.raises(TimeoutError):
        client.recv(1)
    ends.link.stalled = frozenset()
    client.settimeout(10)

    assert client.recv(6, socket.MSG_WAITALL) == b"answer"


def test_a_link_that_refuses_ends_new_connections(ends: Ends) -> None:
    ends.link.refuses = True
    with socket.create_connection(("127.0.0.1", ends.link.port)) as client:
        client.settimeout(10)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
