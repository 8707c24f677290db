"""Exports metrics and a span for each batch to an OpenTelemetry collector, through OTLP over HTTP.

What the collector needs besides its address is in OpenTelemetry's own variables, which the SDK
reads: OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and others. A
collector that is away holds nothing up.

The SDK gets what Prometheus gets, so there is one list of metrics. A counter is a sum without its
suffix `_total`, which Prometheus adds again; a label is an attribute. All counts are since the
start of the process (cumulative).

https://opentelemetry.io/docs/specs/otel/protocol/exporter/
https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Final

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, Tracer
from prometheus_client.core import Metric as Family
from prometheus_client.samples import Sample

from connector.foundation import VERSION
from connector.foundation.errors import ConfigError
from connector.foundation.operating_system import Background
from connector.foundation.settings import settings_errors
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.metrics.prometheus import MetricsCollector
from connector.stream.progress.progress_record import Progress

SCOPE = "binlog-connector"
_CUMULATIVE = export.AggregationTemporality.CUMULATIVE


def metrics_data(
    families: Iterable[Family], resource: Resource, start_ns: int, now_ns: int
) -> export.MetricsData:
    """Return the metrics at `now_ns`; counters began at `start_ns`."""
    metrics = [_metric(family, start_ns, now_ns) for family in families if family.samples]
    scope = export.ScopeMetrics(InstrumentationScope(SCOPE), metrics, schema_url="")
    return export.MetricsData([export.ResourceMetrics(resource, [scope], schema_url="")])


def _metric(family: Family, start_ns: int, now_ns: int) -> export.Metric:
    data: export.Sum | export.Gauge | export.Histogram
    if family.type == "histogram":
        data = export.Histogram([_histogram(family.samples, start_ns, now_ns)], _CUMULATIVE)
    else:
        points = [
            export.NumberDataPoint(sample.labels, start_ns, now_ns, sample.value)
            for sample in family.samples
        ]
        is_counter = family.type == "counter"
        data = (
            export.Sum(points, _CUMULATIVE, is_monotonic=True)
            if is_counter
            else export.Gauge(points)
        )
    return export.Metric(family.name, family.documentation, _unit(family.name), data)


def _histogram(samples: list[Sample], start_ns: int, now_ns: int) -> export.HistogramDataPoint:
    """Return one point of the samples of a histogram, whose buckets count all smaller values."""
    by_name = {sample.name.rpartition("_")[2]: sample for sample in samples}
    buckets = [sample for sample in samples if sample.name.endswith("_bucket")]
    upto = [0, *(int(bucket.value) for bucket in buckets)]
    total = by_name["sum"]
    return export.HistogramDataPoint(
        total.labels,
        start_ns,
        now_ns,
        count=upto[-1],
        sum=total.value,
        bucket_counts=[more - less for less, more in pairwise(upto)],
        # The last bucket has no limit.
        explicit_bounds=[float(bucket.labels["le"]) for bucket in buckets[:-1]],
        # Nobody keeps them; the protocol can leave them out.
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )


def _unit(name: str) -> str:
    """Return the unit of a figure, which is the last word of its name."""
    return {"seconds": "s", "bytes": "By"}.get(name.rpartition("_")[2], "")


_NS: Final = 1_000_000_000
# An answer that takes longer counts as none. A clean stop waits for two: of metrics and of spans.
_TIMEOUT_SECONDS: Final = 3.0
# Spans that wait; they go in one request, so that a stop waits once. More are dropped.
_SPANS_MAX: Final = 4096
# Milliseconds between two exports, by OpenTelemetry's variable for them.
_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_INTERVAL_MS: Final = 60_000
_MS: Final = 1000


@contextmanager
def exporting(metrics: PipelineMetrics, endpoint: str, instance: str) -> Iterator[None]:
    """Export to `endpoint` from threads, for the last time at the end; `instance` names us.

    Raises ConfigError if OpenTelemetry's variable for the pause is no number.
    """
    # The SDK's own log repeats what the line about the collector says.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    resource = Resource.create(
        {"service.name": SCOPE, "service.version": VERSION, "service.instance.id": instance}
    )
    exporting_metrics = _MetricExport(metrics, endpoint, resource)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=_TIMEOUT_SECONDS)
    provider.add_span_processor(
        BatchSpanProcessor(exporter, max_queue_size=_SPANS_MAX, max_export_batch_size=_SPANS_MAX)
    )
    metrics.trace_batch = partial(_trace_batch, provider.get_tracer(SCOPE), metrics.pipeline)
    exporting_metrics.start()
    try:
        yield
    finally:
        metrics.trace_batch = None
        exporting_metrics.close()
        provider.shutdown()


def _pause_seconds() -> float:
    given = os.environ.get(_INTERVAL)
    if not given:
        return _INTERVAL_MS / _MS
    if not given.isdecimal() or not int(given):
        raise ConfigError(settings_errors.OTLP_PAUSE, variable=_INTERVAL, value=given)
    return int(given) / _MS


def _trace_batch(
    tracer: Tracer,
    pipeline: str,
    seconds: float,
    progress: Progress,
    records: int,
    transactions: int,
    size: int,
) -> None:
    """Make the span of a batch that is committed now, `seconds` after its first record."""
    now_ns = time.time_ns()
    span = tracer.start_span(
        f"deliver {pipeline}",
        kind=SpanKind.PRODUCER,
        start_time=now_ns - int(seconds * _NS),
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "send",
            "messaging.batch.message_count": records,
            "cdc.pipeline": pipeline,
            "cdc.transactions": transactions,
            "cdc.bytes": size,
            "cdc.source": progress.source or "",
            "cdc.position": f"{progress.file}:{progress.position}",
        },
    )
    span.end(now_ns)


class _MetricExport(Background):
    """A thread that exports the metrics, and says when the collector does not take them."""

    def __init__(self, metrics: PipelineMetrics, endpoint: str, resource: Resource) -> None:
        super().__init__("otlp")
        self._collector = MetricsCollector(metrics)
        self._start_ns = int(metrics.started_at * _NS)
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
        is_taken = self._exporter.export(data) is export.MetricExportResult.SUCCESS
        log = structlog.get_logger()
        if self._is_lost and is_taken:
            log.info("the collector of OpenTelemetry takes figures again", endpoint=self._endpoint)
        elif not self._is_lost and not is_taken:
            log.warning("the collector of OpenTelemetry takes no figures", endpoint=self._endpoint)
        self._is_lost = not is_taken
