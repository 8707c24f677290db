"""A connection to a broker without an event loop: requests, and their responses in order.

kafka-python connects and logs in. Then its socket is taken over, because each request through the
client's event loop and thread costs more than everything that Kafka needs of us.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from struct import Struct
from typing import Any, Final

from mypy_extensions import mypyc_attr

from connector.kafka import kafka_python
from connector.kafka.failures import MalformedResponse

_US: Final = 1_000_000
_TIME: Final = Struct("ll")
_LENGTH: Final = Struct(">i")
_NUMBER: Final = Struct(">i")
_RESPONSE_BYTES_MAX: Final = 256 << 20
_READ_BYTES: Final = 65536
_READ_BYTES_MAX: Final = 1 << 20
# The number, and tags that we know nothing of.
_HEAD_BYTES_MAX: Final = 64
_NUMBER_MAX: Final = 0x7FFF_FFFF


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerConnection:
    """A socket that is logged in; every method raises OSError if it is broken."""

    def __init__(
        self, logged_in: kafka_python.LoggedIn, client_id: str, timeout_seconds: float
    ) -> None:
        """Wait for each response `timeout_seconds` at most; raises TimeoutError."""
        self._socket = logged_in.socket
        self._versions = logged_in.versions
        self._client_id = client_id
        if isinstance(self._socket, ssl.SSLSocket):
            # Python repeats a call of TLS on a blocking socket when the system's time for it is up.
            self._socket.settimeout(timeout_seconds)
        else:
            # By a timeout of its own, Python would call the system twice for each send and receive.
            self._socket.settimeout(None)
            limit = _TIME.pack(*divmod(round(timeout_seconds * _US), _US))
            for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, option, limit)
        # Of the last request, and of the last response.
        self._sent = self._received = 0
        # The start of the next response.
        self._rest = b""

    def knows(self, versions: Mapping[int, int]) -> bool:
        """Return whether the broker knows each kind of request in its version."""
        known = self._versions.api_versions
        ranges = {kind: known.get(kind, (1, 0)) for kind in versions}
        return all(oldest <= versions[kind] <= newest for kind, (oldest, newest) in ranges.items())

    def ask(self, request: Any) -> Any:
        """Return the response to a request of kafka-python's description of the protocol.

        It goes in the newest version that both sides know; raises IncompatibleBrokerVersion if
        there is none. Nothing else may wait for a response.
        """
        self.send_described(request)
        return self.receive_described(request)

    def send_described(self, request: Any) -> None:
        """Send a request as `ask` does; `receive_described` awaits its response."""
        request.API_VERSION = self._versions.api_version(request)
        request.with_header(correlation_id=self.next_number(), client_id=self._client_id)
        self.send(request.encode(header=True, framed=True))

    def receive_described(self, request: Any) -> Any:
        """Return the response to the oldest request, which is this one."""
        response = self.receive()
        kind = request.header.get_response_class()
        try:
            head = BytesIO(response[:_HEAD_BYTES_MAX])
            kind.parse_header(head)
            return kind.decode(memoryview(response)[head.tell() :])
        except Exception as error:
            raise MalformedResponse from error

    def next_number(self) -> int:
        """Return the number of the next request."""
        self._sent = _after(self._sent)
        return self._sent

    def send(self, request: bytes | bytearray) -> None:
        """Send a request; some may wait for their responses."""
        try:
            self._socket.sendall(request)
        except BlockingIOError as error:
            # What a blocking socket raises when the system's time is up.
            raise TimeoutError from error

    def receive(self) -> bytes:
        """Return the response to the oldest request, from its number on; raises Malformed.

        Responses come in the order of the requests.
        """
        data = self._rest or self._read(_READ_BYTES)
        while len(data) < _LENGTH.size:
            data += self._read(_READ_BYTES)
        (length,) = _LENGTH.unpack_from(data)
        if not _NUMBER.size <= length <= _RESPONSE_BYTES_MAX:
            raise MalformedResponse
        end = _LENGTH.size + length
        if len(data) < end:
            data = b"".join((data, *self._pieces(end - len(data))))
        response, self._rest = data[_LENGTH.size : end], data[end:]
        self._received = _after(self._received)
        if _NUMBER.unpack_from(response)[0] != self._received:
            raise MalformedResponse
        return response

    def interrupt(self) -> None:
        """Have a send or a receive of another thread fail, and all that come."""
        with suppress(OSError):
            if isinstance(self._socket, ssl.SSLSocket):
                # Shut down the socket below TLS. TLS itself would drop its state, and the thread
                # that sends would send its rest in clear.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            else:
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket, and have a send or a receive of another thread fail."""
        self.interrupt()
        self._socket.close()

    def _pieces(self, size: int) -> list[bytes]:
        pieces = []
        while size > 0:
            piece = self._read(min(max(size, _READ_BYTES), _READ_BYTES_MAX))
            pieces.append(piece)
            size -= len(piece)
        return pieces

    def _read(self, size: int) -> bytes:
        try:
            data = self._socket.recv(size)
        except BlockingIOError as error:
            raise TimeoutError from error
        if not data:
            raise ConnectionResetError
        return data


def _after(number: int) -> int:
    return (number + 1) & _NUMBER_MAX
