"""An Iceberg REST catalog (SeaweedFS), and a proxy before it that loses what it is told to lose."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import orjson

from local_stack.server import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "key"
SECRET = "secretsecret"
WAREHOUSE = "warehouse"
_START_SECONDS = 60.0
_PORTS = (
    "s3.port",
    "s3.port.grpc",
    "s3.port.iceberg",
    "master.port",
    "master.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "admin.port",
    "admin.port.grpc",
)


class CatalogServer:
    """A server that runs."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.url = f"http://127.0.0.1:{ports['s3.port.iceberg']}"
        self.s3 = f"http://127.0.0.1:{ports['s3.port']}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a program that uses its buckets."""
        return {
            "AWS_ENDPOINT_URL": self.s3,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def token(self) -> str:
        """A token of the account that may do everything."""
        form = f"grant_type=client_credentials&client_id={KEY}&client_secret={SECRET}"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=10)
        connection.request("POST", "/v1/oauth/tokens", form, kind)
        token: str = orjson.loads(connection.getresponse().read())["access_token"]
        connection.close()
        return token


def _free_ports() -> dict[str, int]:
    free: set[int] = set()
    while len(free) < len(_PORTS):
        free.add(free_port())
    return dict(zip(_PORTS, free, strict=True))


class RestartedCatalog:
    """A server that is killed, and started again with the same data and ports."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = _free_ports()
        self.now = CatalogServer(self._ports)
        self.kills = 0
        self.is_away = True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._running = contextmanager(serve_catalog)(self._folder, self._ports)
        self._running.__enter__()
        self.is_away = False

    def kill(self) -> None:
        """End it as the kernel would."""
        self.is_away = True
        self.kills += 1
        self._running.__exit__(None, None, None)


def serve_catalog(folder: Path, ports: dict[str, int] | None = None) -> Iterator[CatalogServer]:
    """Run a server with the bucket `warehouse` of tables, and the bucket `plain`."""
    ports = ports or _free_ports()
    options = [f"-{name}={port}" for name, port in ports.items()]
    options += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"]
    options += ["-admin.ui=false", "-webdav=false", "-s3.port.lance=0"]
    options += ["-bucket=plain", f"-tableBucket={WAREHOUSE}", f"-dir={folder}"]
    server = CatalogServer(ports)
    program = Path(sys.executable).with_name("weed")
    log = folder / "log.txt"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [program, "mini", *options],
            cwd=folder,
            env=os.environ | server.variables,
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            _wait(server, process, log)
            yield server
        finally:
            process.kill()


def _wait(server: CatalogServer, process: subprocess.Popen[bytes], log: Path) -> None:
    ends_at = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends_at and process.poll() is None:
        with suppress(OSError, ValueError, KeyError):
            token = server.token()
            connection = HTTPConnection(urlsplit(server.url).netloc, timeout=10)
            path = f"/v1/{WAREHOUSE}/namespaces"
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            is_ready = connection.getresponse().status == 200
            connection.close()
            if is_ready:
                return
        time.sleep(0.2)
    message = f"the catalog did not start: {log.read_text(errors='replace')[-2000:]}"
    raise RuntimeError(message)


class Proxy:
    """A port of 127.0.0.1 before a catalog, for one test."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url).netloc
        # `METHOD PATH` of each request that has come.
        self.asked: list[str] = []
        # By `METHOD PATH`: whether the catalog gets the request, and the client its answer.
        self.reaches: Callable[[str], bool] = lambda _: True
        self.answers: Callable[[str], bool] = lambda _: True
        # By `METHOD PATH`: an answer of the proxy's own, in place of the catalog's.
        self.own: Callable[[str], tuple[int, Any] | None] = lambda _: None
        # By the request and its body: an answer to one that is not admitted.
        self.refuses: Callable[[BaseHTTPRequestHandler, bytes], tuple[int, Any] | None]
        self.refuses = lambda *_: None
        # By `METHOD PATH` and the body that has come: the body that the catalog gets.
        self.passes: Callable[[str, bytes], bytes] = lambda _, content: content
        # The login at the catalog, in place of that of the client.
        self.token = ""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def commits(self) -> list[str]:
        """The requests that have changed a table."""
        return [
            asked
            for asked in self.asked
            if asked.startswith("POST") and ("/tables/" in asked or "/transactions/" in asked)
        ]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if self.raw_requestline and self.parse_request():
                    proxy._forward(self)
                self.close_connection = True

            def log_message(self, *words: object) -> None:
                """The tests say enough."""

        return Handler

    def _forward(self, request: BaseHTTPRequestHandler) -> None:
        asked = f"{request.command} {request.path}"
        self.asked.append(asked)
        content = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        own = self.refuses(request, content) or self.own(asked)
        if own is not None:
            self._answer(request, own[0], orjson.dumps(own[1]))
            return
        if not self.reaches(asked):
            return
        connection = HTTPConnection(self._server, timeout=30)
        headers = {k: v for k, v in request.headers.items() if k not in ("Host", "Connection")}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        content = self.passes(asked, content)
        headers["Content-Length"] = str(len(content))
        connection.request(request.command, request.path, content, headers)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        if self.answers(asked):
            self._answer(request, answer.status, said)

    def _answer(self, request: BaseHTTPRequestHandler, status: int, said: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(said)))
        request.end_headers()
        request.wfile.write(said)
