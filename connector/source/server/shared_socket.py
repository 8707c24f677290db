"""A socket that one thread reads; any other thread, or a signal handler, may close it."""

from __future__ import annotations

import contextlib
import socket
import threading


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

    def receive(self, bytes_max: int, timeout_seconds: float) -> bytes:
        """Return the bytes that came; b"" if the peer or `close` ended the connection.

        Raises OSError. It is TimeoutError, BlockingIOError or SSLWantReadError if nothing came in
        time.
        """
        with self._using:
            if self.closed:
                return b""
            self._socket.settimeout(timeout_seconds)
            return self._socket.recv(bytes_max)

    def close(self) -> None:
        """End the connection, and wake the thread that waits for it. Idempotent."""
        self.closed = True
        # Shut down the socket below TLS: the state of TLS belongs to the thread that waits.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        with self._using:
            self._socket.close()
