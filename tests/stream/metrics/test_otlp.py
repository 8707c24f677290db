"""What a collector of OpenTelemetry gets, by its own protocol."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from structlog.testing import capture_logs

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.stream.metrics.otlp import exporting
from connector.stream.metrics.pipeline_metrics import Lag, PipelineMetrics
from connector.stream.metrics.prometheus import MetricsCollector
from tests.integration.harness import wait_until
from tests.stream.metrics.collector import Collected, attributes, collecting
from tests.stream.metrics.test_exposition import PROGRESS, complete

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTE_NS = 60_000_000_000


@pytest.fixture
def collected() -> Iterator[Collected]:
    with collecting() as found:
        yield found


def figures() -> PipelineMetrics:
    found = complete()
    found.started_at = 1_790_000_000.0
    found.lag = Lag(bytes=9, transactions=1, seconds=0.5, to_purge_seconds=math.inf)
    return found


def test_a_collector_gets_the_figures_that_prometheus_gets(collected: Collected) -> None:
    with exporting(figures(), collected.address, "ab12"):
        pass
    metrics = collected.metrics()
    served = {family.name: family for family in MetricsCollector(figures()).collect()}
    assert set(metrics) == {name for name, family in served.items() if family.samples}
    records = metrics["binlog_connector_records"]
    (point,) = records.sum.data_points
    assert records.sum.is_monotonic
    assert records.sum.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
    assert (point.as_int, attributes(point)) == (4, {"pipeline": "shop"})
    assert point.start_time_unix_nano == 1_790_000_000 * 10**9
    (lag,) = metrics["binlog_connector_lag_seconds"].gauge.data_points
    assert (lag.as_double, metrics["binlog_connector_lag_seconds"].unit) == (0.5, "s")
    (purge,) = metrics["binlog_connector_time_to_purge_seconds"].gauge.data_points
    assert purge.as_double == math.inf
    (copy,) = metrics["binlog_connector_snapshot_rows"].gauge.data_points
    assert attributes(copy) == {"pipeline": "shop", "table": "shop.t"}
    resource = collected.resource()
    assert (resource["service.name"], resource["service.instance.id"]) == (
        "binlog-connector",
        "ab12",
    )


def test_a_histogram_has_the_transactions_of_each_bucket(collected: Collected) -> None:
    with exporting(figures(), collected.address, "ab12"):
        pass
    metric = collected.metrics()["binlog_connector_latency_seconds"]
    (point,) = metric.histogram.data_points
    assert (point.count, point.sum) == (5, pytest.approx(0.32))
    counts = dict(zip([*point.explicit_bounds, math.inf], point.bucket_counts, strict=True))
    assert {limit: count for limit, count in counts.items() if count} == {
        0.005: 1,
        0.025: 1,
        0.1: 3,
    }
    assert not point.HasField("min")


def test_each_batch_is_a_span(collected: Collected) -> None:
    counted = figures()
    with exporting(counted, collected.address, "ab12"):
        assert counted.trace_batch is not None
        progress = replace(PROGRESS, source="db1:3306")
        counted.trace_batch(60.0, progress, 7, 3, 900)
    (span,) = collected.spans()
    assert (span.name, span.kind) == ("deliver shop", Span.SPAN_KIND_PRODUCER)
    assert span.end_time_unix_nano - span.start_time_unix_nano == MINUTE_NS
    assert attributes(span) == {
        "messaging.system": "kafka",
        "messaging.operation.type": "send",
        "messaging.batch.message_count": 7,
        "cdc.pipeline": "shop",
        "cdc.transactions": 3,
        "cdc.bytes": 900,
        "cdc.source": "db1:3306",
        "cdc.position": "binlog.000002:900",
    }


def test_a_collector_that_is_away_is_told_once_and_again_when_it_is_back(
    collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
    collected.refuses.set()
    with capture_logs() as lines, exporting(figures(), collected.address, "ab12"):
        assert collected.refused.wait(20)
        collected.refused.clear()
        assert collected.refused.wait(20)
        collected.refuses.clear()
        wait_until(collected.metrics, lambda: "no figures came")
    assert [(line["log_level"], line["event"]) for line in lines] == [
        ("warning", "the collector of OpenTelemetry takes no figures"),
        ("info", "the collector of OpenTelemetry takes figures again"),
    ]
    assert {line["endpoint"] for line in lines} == {collected.address}


def test_headers_come_from_the_variables_of_opentelemetry(
    collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=shop")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=production")
    with exporting(figures(), collected.address, "ab12"):
        pass
    assert collected.headers["x-tenant"] == "shop"
    assert collected.resource()["deployment.environment.name"] == "production"


def test_a_pause_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "60s")
    with (
        pytest.raises(ConfigError) as refused,
        exporting(figures(), "http://127.0.0.1:1", "ab12"),
    ):
        pass
    assert refused.value.code is settings_errors.OTLP_PAUSE
    assert refused.value.text == (
        "OTEL_METRIC_EXPORT_INTERVAL is '60s', wanted milliseconds above 0; correct or remove it"
    )
