"""An HTTP server for figures and health.

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
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from connector.errors import ConfigError, pipeline_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client.registry import Collector

_PATHS = ("/metrics", "/healthz", "/readyz")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")


class Served(NamedTuple):
    """What a process says of itself."""

    figures: Collector
    # Whether it is well, and whether it is ready, each with the reason.
    healthz: Callable[[], tuple[bool, str]]
    readyz: Callable[[], tuple[bool, str]]


def turning(turned_at: float, turn_seconds_max: float) -> tuple[bool, str]:
    """Return whether a main loop turns that turned at `turned_at`, and the reason.

    The time is one of the monotonic clock.
    """
    seconds = time.monotonic() - turned_at
    said = f"the main loop turned {seconds:.0f} s ago"
    if seconds <= turn_seconds_max:
        return True, f"well: {said}"
    return False, (
        f"stuck: {said}, and a turn takes {turn_seconds_max:.0f} s at most: look at the "
        "log, and start the process again"
    )


class _App:
    """Answers each request by its path."""

    def __init__(self, served: Served) -> None:
        self._served = served
        registry = CollectorRegistry()
        registry.register(served.figures)
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
        well, said = (self._served.healthz if path == "/healthz" else self._served.readyz)()
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
def serving(served: Served, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    if listen is None:
        yield
        return
    host, _, port = listen.rpartition(":")
    kind = _ServerOf6 if ":" in host else _Server
    try:
        server = make_server(host.strip("[]"), int(port), _App(served), kind, _Handler)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            pipeline_settings.METRICS_LISTEN, listen=listen, why=str(error)
        ) from error
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
