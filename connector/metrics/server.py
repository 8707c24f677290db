"""Serves figures and health over HTTP.

``/metrics`` has the figures. ``/healthz`` is about the process alone, ``/readyz`` also about its
connections; both answer 200 or 503, with the reason as text.
"""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from http import HTTPStatus
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from connector.errors import ConfigError, pipeline_settings
from connector.metrics.exposition import FiguresCollector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from connector.metrics.figures import Figures

_PATHS = ("/metrics", "/healthz", "/readyz")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")


def healthz(figures: Figures) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason."""
    seconds = time.monotonic() - figures.turned_at
    said = f"the main loop turned {seconds:.0f} s ago"
    if seconds <= figures.turn_seconds_max:
        return True, f"well: {said}"
    return False, (
        f"stuck: {said}, and a turn takes {figures.turn_seconds_max:.0f} s at most: look at the "
        "log, and start the process again"
    )


def readyz(figures: Figures) -> tuple[bool, str]:
    """Return whether the stream is open and both peers answer, and the reason."""
    lines = [figures.source.words(), figures.kafka.words()]
    if figures.streaming:
        lines.append("the stream is open")
    elif figures.interrupted_by:
        lines.append(f"the stream is not open: {figures.interrupted_by}")
    else:
        lines.append("the stream is not open yet")
    ready = figures.connected
    return ready, "\n".join(["ready" if ready else "not ready", *lines])


class _App:
    """Answers each request by its path."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        registry = CollectorRegistry()
        registry.register(FiguresCollector(figures))
        self._metrics: WSGIApplication = make_wsgi_app(registry)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        body = self._answer(environ | {"REQUEST_METHOD": "GET"}, method, path, start)
        return [] if method == "HEAD" else body

    def _answer(
        self, environ: WSGIEnvironment, method: str, path: str, start: StartResponse
    ) -> Iterable[bytes]:
        if path not in _PATHS:
            said = f"{path} is not there; there are {', '.join(_PATHS)}"
            return _said(start, HTTPStatus.NOT_FOUND, said)
        if method not in ("GET", "HEAD"):
            said = f"{path} answers GET and HEAD"
            return _said(start, HTTPStatus.METHOD_NOT_ALLOWED, said, ("Allow", "GET, HEAD"))
        if path == "/metrics":
            return self._metrics(environ, start)
        well, said = (healthz if path == "/healthz" else readyz)(self._figures)
        return _said(start, HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, said)


def _said(
    start: StartResponse, status: HTTPStatus, said: str, *headers: tuple[str, str]
) -> list[bytes]:
    body = f"{said}\n".encode()
    length = ("Content-Length", str(len(body)))
    start(f"{status.value} {status.phrase}", [_TEXT, length, *headers])
    return [body]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _ServerOf6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing: a monitor asks every few seconds."""


@contextmanager
def serving(figures: Figures, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    if listen is None:
        yield
        return
    host, _, port = listen.rpartition(":")
    kind = _ServerOf6 if ":" in host else _Server
    try:
        server = make_server(host.strip("[]"), int(port), _App(figures), kind, _Handler)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            pipeline_settings.METRICS_LISTEN, listen=listen, why=str(error)
        ) from error
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    figures.watched = True
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
