"""Figures as the SDK of OpenTelemetry exports them, made of what Prometheus gets.

So there is one list of figures. A counter is a sum without its suffix `_total`, which Prometheus
adds again; a label is an attribute. All counts are since the start of the process (cumulative).

https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource
    from prometheus_client.core import Metric as Family
    from prometheus_client.samples import Sample

SCOPE = "binlog-connector"
_CUMULATIVE = AggregationTemporality.CUMULATIVE


def metrics_data(
    families: Iterable[Family], resource: Resource, start_ns: int, now_ns: int
) -> MetricsData:
    """Return the figures at `now_ns`; counters began at `start_ns`."""
    metrics = [_metric(family, start_ns, now_ns) for family in families if family.samples]
    scope = ScopeMetrics(InstrumentationScope(SCOPE), metrics, schema_url="")
    return MetricsData([ResourceMetrics(resource, [scope], schema_url="")])


def _metric(family: Family, start_ns: int, now_ns: int) -> Metric:
    data: Sum | Gauge | Histogram
    if family.type == "histogram":
        data = Histogram([_histogram(family.samples, start_ns, now_ns)], _CUMULATIVE)
    else:
        points = [
            NumberDataPoint(sample.labels, start_ns, now_ns, sample.value)
            for sample in family.samples
        ]
        is_counter = family.type == "counter"
        data = Sum(points, _CUMULATIVE, is_monotonic=True) if is_counter else Gauge(points)
    return Metric(family.name, family.documentation, _unit(family.name), data)


def _histogram(samples: list[Sample], start_ns: int, now_ns: int) -> HistogramDataPoint:
    """Return one point of the samples of a histogram, whose buckets count all smaller values."""
    by_name = {sample.name.rpartition("_")[2]: sample for sample in samples}
    buckets = [sample for sample in samples if sample.name.endswith("_bucket")]
    upto = [0, *(int(bucket.value) for bucket in buckets)]
    total = by_name["sum"]
    return HistogramDataPoint(
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
