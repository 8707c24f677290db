"""Exports figures and a span for each batch to a collector of OpenTelemetry, by OTLP over HTTP.

What the collector needs besides its address is in OpenTelemetry's own variables, which the SDK
reads: OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and others. A
collector that is away holds nothing up.

https://opentelemetry.io/docs/specs/otel/protocol/exporter/
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

from connector.contract.version import VERSION
from connector.errors import ConfigError
from connector.errors import settings_choices as codes
from connector.metrics.exposition import FiguresCollector
from connector.metrics.otlp_metrics import SCOPE, metrics_data
from connector.system.background import Background

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Tracer

    from connector.metrics.figures import Figures
    from connector.progress.progress_record import Progress

_NS: Final = 1_000_000_000
# An answer that takes longer counts as none. A clean stop waits for two: of figures and of spans.
_TIMEOUT_SECONDS: Final = 3.0
# Spans that wait; they go in one request, so that a stop waits once. More are dropped.
_SPANS_MAX: Final = 4096
# Milliseconds between two exports, by OpenTelemetry's variable for them.
_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_INTERVAL_MS: Final = 60_000
_MS: Final = 1000


@contextmanager
def exporting(figures: Figures, endpoint: str, instance: str) -> Iterator[None]:
    """Export to `endpoint` from threads, for the last time at the end; `instance` names us.

    Raises ConfigError if OpenTelemetry's variable for the pause is no number.
    """
    # The SDK's own log repeats what the line about the collector says.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    resource = Resource.create(
        {
            "service.name": SCOPE,
            "service.version": VERSION,
            "service.instance.id": instance,
        }
    )
    metrics = _MetricExport(figures, endpoint, resource)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=_TIMEOUT_SECONDS)
    provider.add_span_processor(
        BatchSpanProcessor(exporter, max_queue_size=_SPANS_MAX, max_export_batch_size=_SPANS_MAX)
    )
    figures.batches = Spans(provider.get_tracer(SCOPE), figures.pipeline)
    metrics.start()
    try:
        yield
    finally:
        figures.batches = None
        metrics.close()
        provider.shutdown()


def _pause_seconds() -> float:
    given = os.environ.get(_INTERVAL)
    if not given:
        return _INTERVAL_MS / _MS
    if not given.isdecimal() or not int(given):
        raise ConfigError(codes.OTLP_PAUSE, variable=_INTERVAL, value=given)
    return int(given) / _MS


class Spans:
    """Makes a span of each batch, from its first record to its commit."""

    def __init__(self, tracer: Tracer, pipeline: str) -> None:
        """Make spans by `tracer`."""
        self._tracer = tracer
        self._pipeline = pipeline

    def delivered(
        self, seconds: float, progress: Progress, records: int, transactions: int, size: int
    ) -> None:
        """Tell of a batch that is committed now, `seconds` after it began."""
        now_ns = time.time_ns()
        span = self._tracer.start_span(
            f"deliver {self._pipeline}",
            kind=SpanKind.PRODUCER,
            start_time=now_ns - int(seconds * _NS),
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.type": "send",
                "messaging.batch.message_count": records,
                "cdc.pipeline": self._pipeline,
                "cdc.transactions": transactions,
                "cdc.bytes": size,
                "cdc.source": progress.source or "",
                "cdc.position": f"{progress.file}:{progress.position}",
            },
        )
        span.end(now_ns)


class _MetricExport(Background):
    """A thread that exports the figures, and says when the collector does not take them."""

    def __init__(self, figures: Figures, endpoint: str, resource: Resource) -> None:
        super().__init__("otlp")
        self._collector = FiguresCollector(figures)
        self._start_ns = int(figures.started_at * _NS)
        self._endpoint = endpoint
        self._resource = resource
        self._exporter = OTLPMetricExporter(
            endpoint=f"{endpoint}/v1/metrics", timeout=_TIMEOUT_SECONDS
        )
        self._pause_seconds = _pause_seconds()
        self._is_lost = False

    def close(self) -> None:
        """Export for the last time."""
        super().close()
        self._exporter.shutdown()

    def _run(self) -> None:
        while not self._closed.wait(self._pause_seconds):
            self._export()
        self._export()

    def _export(self) -> None:
        families = self._collector.collect()
        data = metrics_data(families, self._resource, self._start_ns, time.time_ns())
        is_taken = self._exporter.export(data) is MetricExportResult.SUCCESS
        log = structlog.get_logger()
        if self._is_lost and is_taken:
            log.info("the collector of OpenTelemetry takes figures again", endpoint=self._endpoint)
        elif not self._is_lost and not is_taken:
            log.warning("the collector of OpenTelemetry takes no figures", endpoint=self._endpoint)
        self._is_lost = not is_taken
