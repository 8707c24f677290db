"""A connected socket that one thread reads, and any other may close.

A close must end the wait of the reader, and the descriptor must not belong to another file while
the reader still uses it.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

# Waits until a descriptor can be read, for so many seconds at most; returns whether it can be.
AwaitData = Callable[[int, float], bool]


class SharedSocket:
    """A connected socket, safe against `close` from another thread."""

    def __init__(self, connected: socket.socket) -> None:
        """Take over `connected`; no other code may use it."""
        self._socket = connected
        self.closed = False
        # Held while the socket is used, so that no other file gets its descriptor. Re-entrant,
        # because a signal handler may close during a receive.
        self._using = threading.RLock()

    def send(self, data: bytes, timeout_seconds: float) -> None:
        """Send all of `data`; raises OSError, also once it is `closed`."""
        with self._using:
            self._socket.settimeout(timeout_seconds)
            self._socket.sendall(data)

    def receive(
        self, bytes_max: int, timeout_seconds: float, await_data: AwaitData | None = None
    ) -> bytes:
        """Return the bytes that came; b"" if the peer or `close` ended the connection.

        `await_data` may end a wait before its time. Raises OSError. It is TimeoutError,
        BlockingIOError or SSLWantReadError if nothing came in time.
        """
        with self._using:
            if self.closed:
                return b""
            if await_data is not None and timeout_seconds > 0:
                if not self._has_read and not await_data(self._socket.fileno(), timeout_seconds):
                    raise TimeoutError
                timeout_seconds = 0.0
            # Each call of it is one of the system, too.
            if self._socket.gettimeout() != timeout_seconds:
                self._socket.settimeout(timeout_seconds)
            data = self._socket.recv(bytes_max)
            if timeout_seconds == 0.0 and isinstance(self._socket, ssl.SSLSocket):
                return self._with_next_records(data, bytes_max)
            return data

    def _with_next_records(self, data: bytes, bytes_max: int) -> bytes:
        """Return what came, `data` first: TLS returns one record, and each event may be its own."""
        came = [data]
        left = bytes_max - len(data)
        # The next receive meets an error again, or the end of the connection.
        with contextlib.suppress(OSError):
            while data and left > 0:
                data = self._socket.recv(left)
                came.append(data)
                left -= len(data)
        return b"".join(came)

    @property
    def _has_read(self) -> bool:
        """Whether TLS has data that were read from the socket before."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def close(self) -> None:
        """End the connection, and wake the thread that waits for it. Idempotent."""
        self.closed = True
        # Shut down the socket below TLS: the state of TLS belongs to the thread that waits.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        with self._using:
            self._socket.close()
