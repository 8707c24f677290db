"""A connection to a broker without an event loop: it sends requests, and waits for responses.

kafka-python connects and logs in. Then its socket is taken over, because each request through the
client's event loop and thread costs more than everything that Kafka needs of us.
"""

from __future__ import annotations

import selectors
import socket
import ssl
from contextlib import suppress
from struct import Struct
from typing import Any

from kafka import errors
from kafka.net.selector import NetworkSelector

from connector.sink.direct_requests import VERSIONS, Malformed, number_of
from connector.sink.network import Connections

# ruff: noqa: SLF001 - a client has no other way to give its socket away

_CONNECT_SECONDS_MAX = 5.0
_MS = 1000
_US = 1_000_000
_TIME = Struct("ll")
# What a blocking socket raises when its time is over.
_TIMEOUTS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LENGTH = Struct(">i")
# Of a few partitions.
_RESPONSE_BYTES_MAX = 1 << 20
_READ_BYTES = 65536
_NUMBER_MAX = 0x7FFF_FFFF


class DirectConnection:
    """A socket that is logged in; every method raises OSError if it is broken."""

    def __init__(self, connected: socket.socket, timeout_seconds: float) -> None:
        """Wait for each response `timeout_seconds` at most; raises TimeoutError."""
        # By a timeout of its own, Python would call the system twice for each send and receive.
        connected.settimeout(None)
        limit = _TIME.pack(*divmod(round(timeout_seconds * _US), _US))
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connected.setsockopt(socket.SOL_SOCKET, option, limit)
        self._socket = connected
        # Of the last request, and of the last response.
        self._sent = self._received = 0
        # The start of the next response.
        self._rest = b""

    @classmethod
    def open(
        cls, settings: dict[str, Any], host: str, port: int, timeout_seconds: float
    ) -> DirectConnection:
        """Connect and log in by the `settings` of a client.

        Raises KafkaError, also if the broker does not know the requests.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        settings = settings | {"bootstrap_servers": [address]}
        selector = NetworkSelector(**settings)
        connections = Connections(selector, **settings)
        try:
            (broker,) = connections.cluster.bootstrap_brokers()
            patience_ms = min(timeout_seconds, _CONNECT_SECONDS_MAX) * _MS

            async def connected() -> Any:
                return await connections.get_connection(
                    broker.node_id, patience_ms, refresh_metadata_on_err=False
                )

            connection = selector.run(connected)
            _require_versions(connection)
            return cls(_taken(connection.transport, selector), timeout_seconds)
        finally:
            connections.close()
            selector.close()

    def next_number(self) -> int:
        """Return the number of the next request."""
        self._sent = _after(self._sent)
        return self._sent

    def send(self, request: bytes) -> None:
        """Send a request; some may wait for their responses."""
        try:
            self._socket.sendall(request)
        except _TIMEOUTS as error:
            raise TimeoutError from error

    def receive(self) -> bytes:
        """Return the response to the oldest request, from its number on; raises Malformed.

        Responses come in the order of the requests.
        """
        data = self._rest or self._read(_READ_BYTES)
        while len(data) < _LENGTH.size:
            data += self._read(_READ_BYTES)
        (length,) = _LENGTH.unpack_from(data)
        if not 0 <= length <= _RESPONSE_BYTES_MAX:
            raise Malformed
        end = _LENGTH.size + length
        while len(data) < end:
            data += self._read(_READ_BYTES)
        response, self._rest = data[_LENGTH.size : end], data[end:]
        self._received = _after(self._received)
        if number_of(response) != self._received:
            raise Malformed
        return response

    def interrupt(self) -> None:
        """Have a send or a receive of another thread fail, and all that come."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self, size: int) -> bytes:
        try:
            data = self._socket.recv(size)
        except _TIMEOUTS as error:
            raise TimeoutError from error
        if not data:
            raise ConnectionResetError
        return data


def _after(number: int) -> int:
    return (number + 1) & _NUMBER_MAX


def _require_versions(connection: Any) -> None:
    """Raise IncompatibleBrokerVersion if the broker does not know a request in our version."""
    known = connection.broker_version_data.api_versions
    for kind, version in VERSIONS.items():
        oldest, newest = known.get(kind, (1, 0))
        if not oldest <= version <= newest:
            raise errors.IncompatibleBrokerVersion


def _taken(transport: Any, selector: Any) -> socket.socket:
    """Take the socket from its event loop, which then closes without it."""
    transport.pause_reading()
    taken: socket.socket = transport._sock
    transport._sock = None
    selector.unregister_event(taken, selectors.EVENT_READ | selectors.EVENT_WRITE)
    return taken
