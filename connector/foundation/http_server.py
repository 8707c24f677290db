"""An HTTP server for metrics, health checks, pages, and forms that are posted.

``/metrics`` has the metrics. ``/healthz`` is about the process alone, ``/readyz`` also about its
connections; both answer 200 or 503, with the reason as text. A process may have pages of its own,
and actions, which take POST requests.
"""

from __future__ import annotations

import io
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from itertools import accumulate
from socketserver import ThreadingMixIn
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from prometheus_client.core import HistogramMetricFamily, Metric

from connector.foundation.errors import ConfigError
from connector.foundation.metrics import Histogram
from connector.foundation.settings import settings_errors
from connector.foundation.settings.values import is_loopback

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client.registry import Collector


_FORM = "application/x-www-form-urlencoded"
_BYTES_MAX = 16 * 1024
_FIELDS_MAX = 8
_BEARER = "bearer "


class PostResponse(NamedTuple):
    """The answer to a post: a status, and a text that says why."""

    status: HTTPStatus
    said: str
    headers: tuple[tuple[str, str], ...] = ()


class PostRequest(NamedTuple):
    """What came with a request. Its form is not parsed before somebody asks for it."""

    body: bytes | PostResponse  # an answer refuses a body whose length is not that of a form
    content_type: str
    bearer: str | None  # the token of the header Authorization
    address: str  # of who sent it

    def form(self) -> Mapping[str, str] | PostResponse:
        """Return the fields of the form; of another body, the answer that refuses it."""
        if self.content_type != _FORM:
            return PostResponse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send a form: {_FORM}")
        if isinstance(self.body, PostResponse):
            return self.body
        try:
            parsed = parse_qs(
                self.body.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(self.body),
                errors="strict",
                max_num_fields=_FIELDS_MAX,
            )
        except ValueError:
            said = f"this is not a form of {_FIELDS_MAX} fields at most"
            return PostResponse(HTTPStatus.BAD_REQUEST, said)
        # Of a field that came twice, neither can be meant.
        if any(len(values) > 1 for values in parsed.values()):
            return PostResponse(HTTPStatus.BAD_REQUEST, "send each field once")
        return {name: value.strip() for name, (value,) in parsed.items()}


def posted(environ: WSGIEnvironment) -> PostRequest:
    """Return what came with a request.

    The body of a request that will be refused is read, too: many clients look for an answer only
    once they have sent theirs.
    """
    said = environ.get("HTTP_AUTHORIZATION", "")
    return PostRequest(
        _body(environ),
        environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower(),
        said[len(_BEARER) :].strip() if said.lower().startswith(_BEARER) else None,
        environ.get("REMOTE_ADDR", ""),
    )


def _body(environ: WSGIEnvironment) -> bytes | PostResponse:
    length = environ.get("CONTENT_LENGTH", "")
    if not (length.isascii() and length.isdecimal()):
        return PostResponse(
            HTTPStatus.LENGTH_REQUIRED, "send the length of the form: Content-Length"
        )
    if len(length) > len(str(_BYTES_MAX)) or int(length) > _BYTES_MAX:
        return PostResponse(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has {_BYTES_MAX} bytes at most"
        )
    body: bytes = environ["wsgi.input"].read(int(length))
    return body


_PATHS = ("/metrics", "/healthz", "/readyz")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")


# A client whose request has not come whole after so long is dropped, so that it does not keep a
# thread.
_REQUEST_SECONDS = 10.0


# Requests that are answered together; more wait in the queue of the socket.
_THREADS_MAX = 32


class Page(NamedTuple):
    """The answer to a request for a page."""

    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Endpoints(NamedTuple):
    """What a process says of itself."""

    figures: Collector
    # Whether it is well, and whether it is ready, each with the reason.
    healthz: Callable[[], tuple[bool, str]]
    readyz: Callable[[], tuple[bool, str]]
    # By their paths; each gets the query of the address.
    pages: Mapping[str, Callable[[str], Page]] = {}
    actions: Mapping[str, Callable[[PostRequest], PostResponse]] = {}


def histogram_family(
    name: str, text: str, durations: Histogram, labels: Mapping[str, str]
) -> Metric:
    """Return what is served under `name`."""
    family = HistogramMetricFamily(name, text, labels=list(labels))
    bounds = (*map(str, durations.limits), "+Inf")
    buckets = list(zip(bounds, accumulate(durations.counts), strict=True))
    family.add_metric(list(labels.values()), buckets, durations.seconds)
    return family


def is_local_name(host: str) -> bool:
    """Return whether the header Host is an address, this machine's name, or missing."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower().rstrip(".")
    if name in ("", "localhost", socket.gethostname().lower()):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class _App:
    """Answers each request by its path."""

    def __init__(self, served: Endpoints, host: str) -> None:
        self._served = served
        # On loopback, a name of another site is one that a browser was led here by (DNS rebinding).
        self._is_local = is_loopback(host)
        registry = CollectorRegistry()
        registry.register(served.figures)
        # Memory, descriptors and processor time, under the names that all programs use.
        ProcessCollector(registry=registry)
        self._metrics: WSGIApplication = make_wsgi_app(registry)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if self._is_local and not is_local_name(environ.get("HTTP_HOST", "")):
            said = "ask for localhost, or for the address: the request names another host"
            return _said(start, HTTPStatus.MISDIRECTED_REQUEST, said)
        body = self._answer(environ | {"REQUEST_METHOD": "GET"}, method, path, start)
        return [] if method == "HEAD" else body

    def _answer(
        self, environ: WSGIEnvironment, method: str, path: str, start: StartResponse
    ) -> Iterable[bytes]:
        action = self._served.actions.get(path)
        if action is not None:
            if method != "POST":
                said = f"{path} answers POST"
                return _said(start, HTTPStatus.METHOD_NOT_ALLOWED, said, ("Allow", "POST"))
            answer = action(posted(environ))
            return _said(start, answer.status, answer.said, *answer.headers)
        page = self._served.pages.get(path)
        if page is None and path not in _PATHS:
            said = f"{path} is not there; there are {', '.join((*self._served.pages, *_PATHS))}"
            return _said(start, HTTPStatus.NOT_FOUND, said)
        if method not in ("GET", "HEAD"):
            said = f"{path} answers GET and HEAD"
            return _said(start, HTTPStatus.METHOD_NOT_ALLOWED, said, ("Allow", "GET, HEAD"))
        if page is not None:
            return _shown(start, page(environ.get("QUERY_STRING", "")))
        if path == "/metrics":
            return self._metrics(environ, start)
        well, said = (self._served.healthz if path == "/healthz" else self._served.readyz)()
        return _said(start, HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, said)


def _shown(start: StartResponse, page: Page) -> list[bytes]:
    length = str(len(page.body))
    headers = [("Content-Type", page.content_type), ("Content-Length", length), *page.headers]
    start(f"{HTTPStatus.OK.value} {HTTPStatus.OK.phrase}", headers)
    return [page.body]


def _said(
    start: StartResponse, status: HTTPStatus, said: str, *headers: tuple[str, str]
) -> list[bytes]:
    body = f"{said}\n".encode()
    length = ("Content-Length", str(len(body)))
    start(f"{status.value} {status.phrase}", [_TEXT, length, *headers])
    return [body]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._free = BoundedSemaphore(_THREADS_MAX)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, when one is free."""
        self._free.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and let the next request have a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that is silent or gone: the log is about the pipeline."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _ServerOf6(_Server):
    address_family = socket.AF_INET6


class _Request(io.RawIOBase):
    """The bytes of one request, each of which comes before its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = time.monotonic() + _REQUEST_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raise TimeoutError once the end is over."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_REQUEST_SECONDS)


class _Handler(WSGIRequestHandler):
    timeout = _REQUEST_SECONDS

    def setup(self) -> None:
        """Read the request from a stream that has an end: a client may send a byte now and then."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Request(self.connection))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Log nothing: a monitor asks every few seconds."""


@contextmanager
def serving(served: Endpoints, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    if listen is None:
        yield
        return
    host, _, port = listen.rpartition(":")
    kind = _ServerOf6 if ":" in host else _Server
    try:
        server = make_server(
            host.strip("[]"), int(port), _App(served, host.strip("[]")), kind, _Handler
        )
    except (OSError, OverflowError) as error:
        raise ConfigError(settings_errors.METRICS_LISTEN, listen=listen, why=str(error)) from error
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
