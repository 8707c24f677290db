"""Metrics in Prometheus' text format, and the endpoints /metrics, /healthz and /readyz.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from connector.foundation import http_server
from connector.foundation.http_server import Endpoints, Page, PostRequest, PostResponse
from connector.stream.metrics import pipeline_metrics

_PREFIX = "binlog_connector_"
_US = 1_000_000

# Of `verify`, too.
READS = "Reads of tables at a time that the source allows"
READS_HELD = "1 while a figure of the source keeps the reads from becoming more"

# Name and help text of each figure of the process.
_COUNTERS: tuple[tuple[str, str, Callable[[pipeline_metrics.PipelineMetrics], float]], ...] = (
    ("records", "Records of all topics that were committed to Kafka", lambda f: f.records),
    ("transactions", "Source transactions that were delivered", lambda f: f.transactions),
    ("bytes", "Bytes of keys, values and headers that were committed", lambda f: f.bytes),
    ("commits", "Kafka transactions that were committed", lambda f: f.commits),
    ("interruptions", "Losses of a peer, and transient errors", lambda f: f.interruptions),
)

_COPIES: tuple[tuple[str, str, Callable[[pipeline_metrics.SnapshotMetrics], float | None]], ...] = (
    ("snapshot_rows", "Rows of a table that were copied", lambda c: c.rows),
    ("snapshot_estimated_rows", "Rows that the table has", lambda c: c.estimated_rows),
    ("snapshot_rows_per_second", "Speed of the copy", lambda c: c.rows_per_second),
    ("snapshot_eta_seconds", "Until the copy is complete", lambda c: c.eta_seconds),
    (
        "snapshot_waiting_seconds",
        "For how long the table could not be read, because others have locked it",
        lambda c: c.waiting_seconds,
    ),
)


class MetricsCollector(Collector):
    """Reads the metrics at each scrape."""

    def __init__(self, metrics: pipeline_metrics.PipelineMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Yield every figure that has a value now."""
        metrics = self._metrics
        for name, text, value in _COUNTERS:
            yield self._counter(name, text, value(metrics))
        yield http_server.histogram_family(
            _PREFIX + "latency_seconds",
            "From the commit of a transaction at the source to its commit in Kafka",
            metrics.latencies,
            {"pipeline": metrics.pipeline},
        )
        yield self._gauge("start_time_seconds", "When the process began", metrics.started_at)
        yield self._gauge(
            "connected",
            "1 while the stream is open, and source and Kafka answer",
            float(metrics.connected),
        )
        yield self._gauge(
            "paused", "1 while somebody lets the stream wait", float(metrics.control.paused)
        )
        yield self._gauge("source_up", "1 while the source answers", float(metrics.source.up))
        yield self._gauge("kafka_up", "1 while Kafka answers", float(metrics.kafka.up))
        yield self._gauge("fences", "Keys and tables that are held back", metrics.fences())
        yield self._gauge(
            "cascaded_tables",
            "Tables with rows that foreign keys changed, until their copies begin",
            len(metrics.cascaded_tables()),
        )
        yield from self._pace()
        yield from self._position()
        yield from self._lag()
        yield from self._copies()
        yield from self._of_tables()

    def _pace(self) -> Iterator[Metric]:
        pace = self._metrics.pace()
        if pace is None:
            return
        yield self._gauge("snapshot_reads", READS, pace.reads)
        if pace.held_by is not None:
            yield self._gauge("snapshot_reads_held", READS_HELD, 1, figure=pace.held_by.value)

    def _position(self) -> Iterator[Metric]:
        position = self._metrics.position
        if position is None:
            return
        progress = position.progress
        yield self._gauge("epoch", "Epoch of the order of changes", progress.epoch)
        yield self._gauge(
            "position", "Position in the source's log file", progress.position, file=progress.file
        )
        yield self._gauge(
            "last_commit_age_seconds",
            "Since the last commit to Kafka",
            max(0.0, time.time() - progress.committed_at_ms / 1000),
        )
        if position.committed_us:
            yield self._gauge(
                "last_transaction_timestamp_seconds",
                "When the source committed the last transaction that was delivered",
                position.committed_us / _US,
            )

    def _lag(self) -> Iterator[Metric]:
        lag = self._metrics.lag
        if lag is None:
            return
        yield self._gauge("lag_seconds", "How long the stream is behind", lag.seconds)
        if lag.bytes is not None:
            yield self._gauge("lag_bytes", "Bytes of the log not delivered", lag.bytes)
        if lag.transactions is not None:
            yield self._gauge("lag_transactions", "Transactions not delivered", lag.transactions)
        if lag.catch_up_seconds is not None:
            text = "Until everything is delivered, at the speed of the last minute"
            yield self._gauge("catch_up_seconds", text, lag.catch_up_seconds)
        yield self._gauge(
            "time_to_purge_seconds",
            "Until the source may drop log files that were not read",
            lag.to_purge_seconds,
        )

    def _of_tables(self) -> Iterator[Metric]:
        failed, held = self._metrics.failed_copies(), self._metrics.fenced_tables()
        counts = {name: fence.rows for name, fence in held.items()}
        yield self._by_table("failed_copies", "1 for a failed copy", dict.fromkeys(failed, 1))
        yield self._by_table("quarantine_changes", "Changes that quarantine holds", counts)

    def _by_table(self, name: str, text: str, values: Mapping[str, int]) -> Metric:
        family = GaugeMetricFamily(_PREFIX + name, text, labels=["pipeline", "table"])
        for table, value in values.items():
            family.add_metric([self._metrics.pipeline, table], value)
        return family

    def _copies(self) -> Iterator[Metric]:
        copies = self._metrics.copies()
        for name, text, value in _COPIES:
            family = GaugeMetricFamily(_PREFIX + name, text, labels=["pipeline", "table"])
            for table, copy in copies.items():
                figure = value(copy)
                if figure is not None:
                    family.add_metric([self._metrics.pipeline, table], figure)
            yield family

    def _counter(self, name: str, text: str, value: float) -> Metric:
        family = CounterMetricFamily(_PREFIX + name, text, labels=["pipeline"])
        family.add_metric([self._metrics.pipeline], value)
        return family

    def _gauge(self, name: str, text: str, value: float, **labels: str) -> Metric:
        family = GaugeMetricFamily(_PREFIX + name, text, labels=["pipeline", *labels])
        family.add_metric([self._metrics.pipeline, *labels.values()], value)
        return family


@contextmanager
def serving(
    metrics: pipeline_metrics.PipelineMetrics,
    listen: str,
    pages: Mapping[str, Callable[[str], Page]],
    actions: Mapping[str, Callable[[PostRequest], PostResponse]],
) -> Iterator[None]:
    """Serve at http://`listen` in a thread.

    `pages` and `actions` are found by their paths.

    Raises ConfigError if the address cannot be used.
    """
    served = Endpoints(
        MetricsCollector(metrics),
        partial(pipeline_metrics.healthz, metrics),
        partial(pipeline_metrics.readyz, metrics),
        pages,
        actions,
    )
    with http_server.serving(served, listen):
        metrics.watched = True
        yield
