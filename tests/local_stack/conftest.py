"""A repository on 127.0.0.1 for the tests of downloads, and a cache of the test's own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from local_stack.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Repository:
    """What is published, how it misbehaves, and what it was asked."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    # Answers given first, each once: a status code, or "cut" for half of the file.
    troubles: list[int | str] = field(default_factory=list)
    resumes: bool = True
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def repository() -> Iterator[Repository]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.repository
        server.shutdown()
        thread.join()


class _Server(ThreadingHTTPServer):
    def server_activate(self) -> None:
        super().server_activate()
        self.repository = Repository(f"http://127.0.0.1:{self.server_port}")


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        repository = self.server.repository
        asked = self.headers.get("Range")
        repository.requests.append((self.path, asked))
        trouble = repository.troubles.pop(0) if repository.troubles else None
        if isinstance(trouble, int):
            self.send_error(trouble)
            return
        content = repository.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        begin = 0
        if asked and repository.resumes:
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        end = len(content) // 2 if trouble == "cut" else len(content)
        self.wfile.write(content[begin:end])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
        """Keep standard error for the tests."""
