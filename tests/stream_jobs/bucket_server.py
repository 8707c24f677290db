"""A server that speaks S3 (moto), and a gate in front of it that can be closed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "key"
SECRET = "secret"
REGION = "us-east-1"


def serve(**environment: str) -> Iterator[str]:
    """Run a server, and yield its URL; it tells its port on standard error."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stream_jobs.bucket_process"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as server:
        assert server.stderr is not None
        address = next(line for line in server.stderr if "Running on" in line).split()[-1]
        # Each request writes a line; a full pipe would stop the server.
        threading.Thread(target=server.stderr.read, daemon=True).start()
        yield address
        server.kill()


def variables(url: str) -> dict[str, str]:
    """The environment of a program that uses the server at `url`."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_MAX_ATTEMPTS": "1",
    }


def reader_options(url: str) -> dict[str, str]:
    """What delta-rs needs to read tables of the server at `url`."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": REGION,
        "AWS_ALLOW_HTTP": "true",
    }


class Gate:
    """A port of 127.0.0.1 before a server, which closes after so many writes."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._server = (parts.hostname, parts.port)
        self._sockets: list[socket.socket] = []
        self._is_open = True
        self.writes_left = 10**9
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def open(self) -> None:
        """Let requests pass again."""
        self.writes_left = 10**9
        self._is_open = True

    def close(self) -> None:
        """Cut connections, those that are open and those to come."""
        self._is_open = False
        for connection in self._sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._sockets.clear()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        # A thread waits for connections.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self._is_open:
                    client.close()
                    continue
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if content.startswith(b"PUT "):
                    self.writes_left -= 1
                    if self.writes_left < 0:
                        self.close()
                        return
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)
