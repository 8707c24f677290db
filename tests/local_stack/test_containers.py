"""What is said of containers, by an engine of the tests' own that has no containers."""

from __future__ import annotations

import json
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer
from typing import TYPE_CHECKING

import pytest
from testcontainers.core.config import testcontainers_config

from local_stack import SourceChoice, source_server, stack_errors
from local_stack.container import MysqlContainer
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG = b"[ERROR] unknown variable\n"


class Engine(ThreadingUnixStreamServer):
    """The API of a Docker engine whose containers end at once."""

    daemon_threads = True
    refuses = False


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/version"):
            self.answer({"ApiVersion": "1.43"})
        elif path.endswith("/logs"):
            # The frame of a stream: 1 is standard output, and the length.
            self.send(200, struct.pack(">BxxxI", 1, len(LOG)) + LOG)
        elif path.endswith("/json"):
            self.answer({"Id": "c1", "State": {"Status": "exited"}, "Config": {"Tty": False}})
        else:
            self.send(200, b"OK")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        assert isinstance(self.server, Engine)
        if self.server.refuses:
            self.send(500, json.dumps({"message": "no space left"}).encode())
        elif "/create" in self.path:
            self.answer({"Id": "c1"})
        else:
            self.send(204, b"")

    def do_DELETE(self) -> None:
        self.send(204, b"")

    def answer(self, document: dict[str, object]) -> None:
        self.send(200, json.dumps(document).encode())

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
        """Keep standard error for the tests."""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    # Nothing has to be removed if the tests are killed.
    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    with Engine(str(path), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_an_engine_that_refuses_is_quoted(engine: Engine) -> None:
    engine.refuses = True
    with pytest.raises(LocalStackError) as caught:
        MysqlContainer().start()
    assert caught.value.code is stack_errors.CONTAINER_REFUSED
    text = caught.value.text
    assert text.startswith("mysql:8.4: Docker cannot start it: 500 Server Error")
    assert text.endswith('("no space left"); see what `docker run mysql:8.4` says')


def test_a_container_that_ends_shows_the_end_of_its_log(engine: Engine) -> None:
    assert not engine.refuses
    with pytest.raises(LocalStackError) as caught:
        MysqlContainer().start()
    assert caught.value.text == (
        "mysql:8.4 did not start in its container; read the end of its log:\n"
        "[ERROR] unknown variable\n"
    )


def test_what_needs_a_running_container_says_that_it_is_not() -> None:
    container = MysqlContainer()
    with pytest.raises(LocalStackError) as caught:
        _ = container.endpoint
    assert caught.value.text == ("the container of mysql:8.4 was not started yet; start it first")
    with pytest.raises(LocalStackError) as caught:
        container.kill()
    assert caught.value.text == "the container of mysql:8.4 is not running; start it first"


def test_containers_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it was not installed.
    monkeypatch.delitem(sys.modules, "local_stack.container")
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(LocalStackError) as caught:
        source_server(SourceChoice(container=True), tmp_path)
    assert caught.value.text == (
        "containers need docker; pip install 'binlog-connector[containers]'"
    )
