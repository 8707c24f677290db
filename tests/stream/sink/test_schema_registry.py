"""What a registry may answer, also one that is broken; `tests/integration/sink` has a real one."""

from __future__ import annotations

import json
import random
import threading
from base64 import b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import (
    ConfigError,
    ConnectorError,
    SinkRefused,
    SinkUnavailable,
    UnsupportedChange,
)
from connector.foundation.settings.sections import RegistrySettings
from connector.kafka import connection_errors
from connector.stream.sink.schema_registry import SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

NOBODY = "http://127.0.0.1:1"
SEEDS = 200


class Answering(HTTPServer):
    """Gives one answer to all requests, and keeps them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.body = b'{"id": 7}'
        self.location = ""
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.path, dict(self.headers), json.loads(body or b"null")))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int = 200, body: bytes = b'{"id": 7}') -> Iterator[Answering]:
    with Answering() as server:
        server.status, server.body = status, body
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def registry(*urls: str, **settings: Any) -> SchemaRegistry:
    return SchemaRegistry(RegistrySettings(urls=[*urls], timeout_seconds=5, **settings))


def code_of(status: int, body: bytes = b"", **settings: Any) -> ErrorCode:
    with answering(status, body) as server, pytest.raises(ConnectorError) as caught:
        registry(server.url, **settings).id_of("s", "AVRO", "{}")
    return caught.value.code


def test_each_schema_is_asked_for_once() -> None:
    with answering() as server:
        ids = registry(server.url)
        assert [ids.id_of("a b/c", "AVRO", "{}") for _ in range(3)] == [7, 7, 7]
        assert ids.id_of("a b/c", "JSON", '{"x":1}') == 7
    (path, headers, first), (_, _, second) = server.requests
    assert path == "/subjects/a%20b%2Fc/versions"
    assert headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert "Authorization" not in headers
    assert (first, second) == ({"schema": "{}"}, {"schema": '{"x":1}', "schemaType": "JSON"})


def test_a_schema_that_somebody_else_registers_is_looked_up(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("p:w\n")
    with answering() as server:
        settings = {"username": "u", "password_file": secret, "auto_register": False}
        assert registry(server.url, **settings).id_of("s", "AVRO", "{}") == 7
    ((path, headers, _),) = server.requests
    assert path == "/subjects/s"
    assert headers["Authorization"] == f"Basic {b64encode(b'u:p:w').decode()}"
    unknown = json.dumps({"error_code": 40403, "message": "Schema not found"}).encode()
    assert code_of(404, unknown, auto_register=False) is connection_errors.SCHEMA_UNKNOWN


def test_a_redirect_does_not_take_the_login_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("w\n")
    settings = {"username": "u", "password_file": secret}
    with answering() as other, answering() as server:
        server.status, server.location = 302, f"{other.url}/subjects"
        other.body = b"[]"
        assert registry(server.url, **settings).check()
        assert "Authorization" in server.requests[0][1]
        assert "Authorization" not in other.requests[0][1]


def test_the_next_url_is_used_if_one_does_not_answer() -> None:
    with answering() as server:
        assert registry(NOBODY, server.url).id_of("s", "AVRO", "{}") == 7
    with pytest.raises(SinkUnavailable) as caught:
        registry(NOBODY).id_of("s", "AVRO", "{}")
    assert caught.value.code is connection_errors.AWAY
    assert NOBODY in caught.value.text
    assert "Connection refused" in caught.value.text


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, connection_errors.LOGIN),
        (403, connection_errors.LOGIN),
        (404, connection_errors.NO_REGISTRY),
        (302, connection_errors.NO_REGISTRY),
        (409, connection_errors.SCHEMA_REFUSED),
        (422, connection_errors.SCHEMA_REFUSED),
        (408, connection_errors.FAILED),
        (429, connection_errors.FAILED),
        (500, connection_errors.FAILED),
        (503, connection_errors.FAILED),
    ],
)
def test_each_refusal_has_its_code(status: int, code: ErrorCode) -> None:
    assert code_of(status) is code
    assert code_of(status, b'{"error_code": 1, "message": "no"}') is code


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>", b"[]", b"7", b"{}", b'{"id": "7"}', b'{"id": -1}', b'{"id": 2147483648}'),
        *(b'{"id": true', b"[" * 100_000, b'{"id": null}', b"\xff\xfe"),
    ],
)
def test_an_answer_of_something_else_is_refused(body: bytes) -> None:
    assert code_of(200, body) is connection_errors.NO_REGISTRY


@pytest.mark.parametrize("seed", range(4))
def test_whatever_it_answers_the_error_is_ours(seed: int) -> None:
    dice = random.Random(seed)
    whole = json.dumps({"id": 5, "error_code": 40901, "message": "x"}).encode()
    with answering() as server:
        for number in range(SEEDS):
            server.status = dice.choice([200, 200, 201, 204, 400, 404, 409, 422, 500, 599])
            body = bytearray(whole[: dice.randrange(len(whole) + 1)])
            for _ in range(dice.randrange(4)):
                if body:
                    body[dice.randrange(len(body))] = dice.randrange(256)
            server.body = b"" if server.status == 204 else bytes(body)
            try:
                found = registry(server.url).id_of(f"s{number}", "AVRO", "{}")
            except (SinkRefused, SinkUnavailable, UnsupportedChange):
                continue
            assert 0 <= found < 2**31


def test_check_says_which_registry_answers() -> None:
    with answering(body=b'["a"]') as server:
        assert registry(NOBODY, server.url).check() == server.url
    with answering(body=b"{}") as server, pytest.raises(SinkRefused):
        registry(server.url).check()


def test_files_for_https_must_be_readable(tmp_path: Path) -> None:
    for changes in ({"ca": tmp_path / "none"}, {"certificate": tmp_path / "none"}):
        with pytest.raises(ConfigError) as caught:
            registry("https://127.0.0.1:1", **changes)
        assert caught.value.code is connection_errors.REGISTRY_FILES
