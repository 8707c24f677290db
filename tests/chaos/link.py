"""A TCP proxy whose connections break, stall and crawl when they are told to.

One thread accepts; each connection has a thread that copies both ways. Nothing is read from one
side before the other has taken what was read, so back-pressure passes through.
"""

from __future__ import annotations

import contextlib
import enum
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from local_stack.server import HOST, free_port

if TYPE_CHECKING:
    from local_stack import Endpoint

_LOOK_SECONDS = 0.02
_RECEIVE_BYTES = 256 * 1024
_CONNECT_SECONDS = 5.0
# On, and nothing waited for: close() then sends RST.
_NO_LINGER = struct.pack("ii", 1, 0)


class End(enum.Enum):
    """How a connection ends."""

    RST = "RST"
    FIN = "FIN"


class Side(enum.Enum):
    """Who sends."""

    CLIENT = "client"
    SERVER = "server"


@dataclass(slots=True)
class _Half:
    """One direction of a connection."""

    side: Side
    origin: socket.socket
    target: socket.socket
    buffer: bytes = b""
    passed: int = 0
    free_at: float = 0.0  # of a slow link: when the next bytes may be read


class _Limit(NamedTuple):
    """Where a connection ends: behind a number of bytes from one side."""

    number: int
    side: Side
    end: End
    happened: threading.Event


class Link:
    """Listens on a port of its own and copies to and from a server, which may be replaced."""

    def __init__(self, name: str, target: Endpoint | None = None, port: int | None = None) -> None:
        self.name = name
        self.target = target
        self._listener = socket.create_server((HOST, port or free_port()))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._connections: set[_Connection] = set()
        # Read by the threads of the connections.
        self.stalled: frozenset[Side] = frozenset()
        self.bytes_per_second: float | None = None
        self.refuses = False
        self._next_limit: _Limit | None = None
        threading.Thread(target=self._accept, name=f"link {name}", daemon=True).start()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def cut(self, end: End) -> int:
        """End all connections; return how many there were."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.end = end
        return len(connections)

    def cut_behind(self, number: int, side: Side, end: End) -> threading.Event:
        """End the connection that first passes `number` more bytes from `side`, just there.

        The event is set when that has happened.
        """
        happened = threading.Event()
        with self._lock:
            for connection in self._connections:
                connection.cut_behind(_Limit(number, side, end, happened))
        return happened

    def cut_next_behind(self, number: int, side: Side, end: End) -> threading.Event:
        """End the next connection there; see `cut_behind`."""
        self._next_limit = _Limit(number, side, end, threading.Event())
        return self._next_limit.happened

    def spare(self) -> None:
        """Let no connection end at a number of bytes."""
        with self._lock:
            self._next_limit = None
            for connection in self._connections:
                connection.limit = None

    def close(self) -> None:
        self.refuses = True
        self._listener.close()
        self.cut(End.FIN)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            target = self.target
            if self.refuses or target is None:
                _close(client, End.RST)
                continue
            threading.Thread(target=self._serve, args=(client, target), daemon=True).start()

    def _serve(self, client: socket.socket, target: Endpoint) -> None:
        try:
            server = socket.create_connection((target.host, target.port), _CONNECT_SECONDS)
        except OSError:
            _close(client, End.RST)
            return
        connection = _Connection(self, client, server)
        with self._lock:
            connection.limit, self._next_limit = self._next_limit, None
            self._connections.add(connection)
        try:
            connection.copy()
        finally:
            with self._lock:
                self._connections.discard(connection)


class _Connection:
    def __init__(self, link: Link, client: socket.socket, server: socket.socket) -> None:
        self._link = link
        self._sockets = (client, server)
        self._halves = (_Half(Side.CLIENT, client, server), _Half(Side.SERVER, server, client))
        self.end: End | None = None
        self.limit: _Limit | None = None
        self._sending = threading.Lock()  # held while bytes are sent and counted
        for end in self._sockets:
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cut_behind(self, limit: _Limit) -> None:
        """End behind the limit's number of bytes, counted from here."""
        with self._sending:
            (passed,) = (half.passed for half in self._halves if half.side is limit.side)
            self.limit = limit._replace(number=passed + limit.number)

    def copy(self) -> None:
        """Copy until one side ends, or somebody says so."""
        end = End.FIN
        with contextlib.suppress(OSError):
            while self.end is None and self._copy_once():
                pass
            end = self.end or End.FIN
        for each in self._sockets:
            _close(each, end)

    def _copy_once(self) -> bool:
        now = time.monotonic()
        halves = [half for half in self._halves if half.side not in self._link.stalled]
        empty = [half for half in halves if not half.buffer and half.free_at <= now]
        full = [half for half in halves if half.buffer]
        readable, writable, _ = select.select(
            [half.origin for half in empty], [half.target for half in full], [], _LOOK_SECONDS
        )
        return all(self._receive(half) for half in empty if half.origin in readable) and all(
            self._send(half) for half in full if half.target in writable
        )

    def _receive(self, half: _Half) -> bool:
        rate = self._link.bytes_per_second
        data = half.origin.recv(_RECEIVE_BYTES if rate is None else max(1, int(rate / 50)))
        if rate is not None:
            half.free_at = time.monotonic() + len(data) / rate
        half.buffer = data
        return bool(data) and self._send(half)

    def _send(self, half: _Half) -> bool:
        with self._sending:
            return self._send_up_to_limit(half)

    def _send_up_to_limit(self, half: _Half) -> bool:
        limit = self.limit if self.limit is not None and self.limit.side is half.side else None
        data = half.buffer
        if limit is not None:
            data = data[: max(0, limit.number - half.passed)]
        with contextlib.suppress(BlockingIOError):
            sent = half.target.send(data) if data else 0
            half.buffer = half.buffer[sent:]
            half.passed += sent
        if limit is not None and half.passed >= limit.number:
            self.end = limit.end
            limit.happened.set()
            return False
        return True


def _close(connection: socket.socket, end: End) -> None:
    with contextlib.suppress(OSError):
        if end is End.RST:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        else:
            connection.shutdown(socket.SHUT_RDWR)
    connection.close()
