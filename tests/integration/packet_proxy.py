"""A proxy between connector and server: the server's packets may change on their way, or wait."""

from __future__ import annotations

import socket
import threading
import zlib
from contextlib import suppress
from itertools import cycle
from typing import TYPE_CHECKING, Self

from connector.binlog.header import EventType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from local_stack import Endpoint

HEADER_LENGTH = 4
CHECKSUM_LENGTH = 4
# Behind the OK byte: timestamp u32, then the event's type.
TYPE_OFFSET = 1 + 4
SIZE_OFFSET = TYPE_OFFSET + 1 + 4
FLAGS_OFFSET = 1 + 17


class PacketProxy:
    """Listens on a port of 127.0.0.1; `change` gets each packet's payload from the server.

    Those that `waits` is true of go together with the packet behind them. With `others`, each
    connection goes to the next server.
    """

    def __init__(
        self,
        server: Endpoint,
        change: Callable[[bytes], bytes] = bytes,
        waits: Callable[[bytes], bool] = lambda _: False,
        others: Sequence[Endpoint] = (),
    ) -> None:
        self._servers = cycle([server, *others])
        self._change = change
        self._waits = waits
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.refuse()

    @property
    def ports(self) -> list[int]:
        """The ports from which it has connected to servers."""
        return [server.getsockname()[1] for server in self._sockets[1::2]]

    def refuse(self) -> None:
        """Cut all connections, and take no more."""
        _close(self._listener)
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        while self._sockets:
            _close(self._sockets.pop())

    def endpoint(self) -> Endpoint:
        """Return where the next connection goes."""
        return next(self._servers)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                endpoint = self.endpoint()
                server = socket.create_connection((endpoint.host, endpoint.port))
                self._sockets += [client, server]
                threading.Thread(target=_copy, args=(client, server), daemon=True).start()
                threading.Thread(
                    target=self._copy_packets, args=(server, client), daemon=True
                ).start()

    def _copy_packets(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            reader = server.makefile("rb")
            packets = b""
            while header := reader.read(HEADER_LENGTH):
                payload = reader.read(int.from_bytes(header[:3], "little"))
                packets += header + self._change(payload)
                if not self._waits(payload):
                    client.sendall(packets)
                    packets = b""
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        # Else a thread that waits on it holds it open.
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def flip_bit_behind(marker: bytes) -> Callable[[bytes], bytes]:
    """Change one bit in every event that holds `marker`."""

    def change(payload: bytes) -> bytes:
        index = payload.find(marker)
        if index < 0:
            return payload
        return payload[:index] + bytes([payload[index] ^ 1]) + payload[index + 1 :]

    return change


def retype(marker: bytes, type_code: int) -> Callable[[bytes], bytes]:
    """Give every event that holds `marker` another type, with a correct checksum."""

    def change(payload: bytes) -> bytes:
        if marker not in payload:
            return payload
        event = bytearray(payload[1:-CHECKSUM_LENGTH])
        event[TYPE_OFFSET - 1] = type_code
        return payload[:1] + event + zlib.crc32(event).to_bytes(CHECKSUM_LENGTH, "little")

    return change


def ends_a_transaction(payload: bytes) -> bool:
    """Return whether it is the end of a transaction, or a heartbeat, which may follow it."""
    is_event = payload[SIZE_OFFSET : SIZE_OFFSET + 4] == (len(payload) - 1).to_bytes(4, "little")
    types = (EventType.XID_EVENT, EventType.HEARTBEAT_LOG_EVENT, EventType.HEARTBEAT_LOG_EVENT_V2)
    return is_event and payload[TYPE_OFFSET] in types
