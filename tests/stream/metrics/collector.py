"""A receiver of OTLP over HTTP: it decodes what it gets, as a collector does."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Collected:
    """What a collector has got."""

    def __init__(self) -> None:
        self.address = ""
        # A collector that is full, or starts, refuses.
        self.refuses = threading.Event()
        self.refused = threading.Event()
        self.headers: dict[str, str] = {}
        self._lock = threading.Lock()
        self._metrics: list[Any] = []
        self._traces: list[Any] = []

    def take(self, path: str, body: bytes) -> bytes:
        """Decode a request, and return the answer."""
        with self._lock:
            if path == "/v1/metrics":
                self._metrics.append(ExportMetricsServiceRequest.FromString(body))
                return bytes(ExportMetricsServiceResponse().SerializeToString())
            assert path == "/v1/traces", path
            self._traces.append(ExportTraceServiceRequest.FromString(body))
            return bytes(ExportTraceServiceResponse().SerializeToString())

    def resource(self) -> dict[str, Any]:
        """Return what the process says of itself."""
        with self._lock:
            return attributes(self._metrics[-1].resource_metrics[0].resource)

    def metrics(self) -> dict[str, Any]:
        """Return the newest figures by name."""
        with self._lock:
            scopes = self._metrics[-1].resource_metrics[0].scope_metrics if self._metrics else ()
            return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def spans(self) -> list[Any]:
        """Return all spans."""
        with self._lock:
            return [
                span
                for request in self._traces
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]


def attributes(of: Any) -> dict[str, Any]:
    """Return the attributes of a point, a span or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


@contextmanager
def collecting() -> Iterator[Collected]:
    """Receive on a free port."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collected.refuses.is_set():
                collected.refused.set()
                self.send_error(HTTPStatus.BAD_REQUEST)
                return
            collected.headers = dict(self.headers)
            answer = collected.take(self.path, body)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collected.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collected
        finally:
            server.shutdown()
            thread.join()
