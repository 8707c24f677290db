"""A socket that one thread waits on, and that any other thread, or a signal handler, may close."""

from __future__ import annotations

import contextlib
import socket
import threading


class SharedSocket:
    """What to do to a connection that may be closed meanwhile."""

    def __init__(self, connected: socket.socket) -> None:
        """Use `connected`, and nobody else."""
        self._socket = connected
        self.closed = False
        # Held while the socket is used, so that its descriptor is not given to someone else
        # meanwhile; re-entrant, because a signal handler may close within a receive.
        self._using = threading.RLock()

    def send(self, data: bytes, timeout_seconds: float) -> None:
        """Send all of `data`; raises OSError, also once it is `closed`."""
        with self._using:
            self._socket.settimeout(timeout_seconds)
            self._socket.sendall(data)

    def receive(self, bytes_max: int, timeout_seconds: float) -> bytes:
        """Return what has come; nothing where the peer has closed, or it was `closed` here.

        Raises OSError, which is TimeoutError, BlockingIOError or SSLWantReadError where nothing
        came in time.
        """
        with self._using:
            if self.closed:
                return b""
            self._socket.settimeout(timeout_seconds)
            return self._socket.recv(bytes_max)

    def close(self) -> None:
        """End the connection, and wake who waits for it. Idempotent."""
        self.closed = True
        # Past TLS: its state belongs to the thread that waits.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        with self._using:
            self._socket.close()
