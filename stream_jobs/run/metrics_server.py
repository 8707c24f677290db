"""The HTTP server of the job: metrics in Prometheus' text format, health, and a status page.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Final

from prometheus_client import core
from prometheus_client.registry import Collector

from connector.foundation import http_server
from connector.foundation.http_server import Endpoints, Page
from connector.foundation.metrics import turning
from stream_jobs.run.metrics import JobMetrics, TableMetrics
from stream_jobs.run.publication_queue import TableFigures
from stream_jobs.run.shown_tables import OTHER, ShownTables

PREFIX: Final = "binlog_connector_mirror_"
_LABELS: Final = ["pipeline", "database", "table"]
_MS: Final = 1000

# Name, help text and value of each figure of a table; None is not shown.
_GAUGES: tuple[tuple[str, str, Callable[[TableMetrics], float | None]], ...] = (
    ("rows", "Rows of the table", lambda t: t.rows),
    ("dead_rows", "Dead rows in data files", lambda t: t.dead_rows),
    ("files", "Data files", lambda t: t.files),
    ("bytes", "Bytes of data files", lambda t: t.bytes),
    ("version", "Version of the Delta table", lambda t: t.version),
    (
        "last_commit_timestamp_seconds",
        "When a change was last committed to the table",
        lambda t: None if t.committed_ms is None else t.committed_ms / _MS,
    ),
)
_KINDS: tuple[tuple[str, Callable[[TableMetrics], int]], ...] = (
    ("upsert", lambda t: t.upserts),
    ("delete", lambda t: t.deletes),
    ("superseded", lambda t: t.superseded),
    ("skipped", lambda t: t.skipped),
)


class MetricsCollector(Collector):
    """Reads the metrics at each scrape."""

    def __init__(self, metrics: JobMetrics, tables_max: int = 0) -> None:
        """Read `metrics`; `tables_max` tables have series of their own, or all (0)."""
        self._metrics = metrics
        self._shown = ShownTables(tables_max)

    def collect(self) -> Iterator[core.Metric]:
        """Yield every metric that has a value now."""
        metrics = self._metrics
        yield self._gauge("up", "1 while the stream is open", float(metrics.streaming))
        yield self._gauge("start_time_seconds", "When the process began", metrics.started_at)
        if (failure := metrics.failure) is not None:
            gauge = core.GaugeMetricFamily(
                PREFIX + "last_failure_timestamp_seconds",
                "When this run, or the one before it, failed",
                labels=["pipeline", "code"],
            )
            at = datetime.fromisoformat(failure.at).timestamp()
            gauge.add_metric([metrics.pipeline, failure.code], at)
            yield gauge
        topics = metrics.tables.keys() | metrics.ends.keys()
        yield self._gauge("tables", "Tables with a topic", len(topics))
        yield self._gauge(
            "tables_without_mirror", "Tables without a mirror", len(metrics.without_mirror)
        )
        yield from self._set_aside()
        yield self._gauge("waiting_records", "Records that are not applied", metrics.waiting)
        if metrics.catch_up_seconds is not None:
            text = "Until everything is applied, at the speed of the last minute"
            yield self._gauge("catch_up_seconds", text, metrics.catch_up_seconds)
        yield from self._batches()
        now = time.time()
        found = {
            topic: metrics.lag_seconds(topic, now) for topic in topics - metrics.without_mirror
        }
        lags = {topic: lag for topic, lag in found.items() if lag is not None}
        tables = metrics.tables.copy()
        # Tables that were not read yet have a lag alone.
        named = {
            topic: tables.get(topic) or _unread(topic) for topic in tables.keys() | lags.keys()
        }
        shown, other = self._shown.divide(named, lags)
        yield from self._tables(
            [own for topic, own in shown.items() if topic in tables] + ([other] if other else [])
        )
        yield self._lags(shown, lags)
        names = {(own.database, own.table) for own in shown.values()}
        yield from self._iceberg(None if other is None else names)

    def _set_aside(self) -> Iterator[core.Metric]:
        aside = self._metrics.set_aside()
        text = "Tables that cannot go on, while the others do"
        yield self._gauge("tables_set_aside", text, len(aside))
        family = core.GaugeMetricFamily(
            PREFIX + "set_aside", "1 for each of these tables", labels=[*_LABELS, "code"]
        )
        for record in aside.values():
            database, _, table = record.table.partition(".")
            family.add_metric([*self._labels(database, table), record.code], 1)
        yield family

    def _batches(self) -> Iterator[core.Metric]:
        metrics = self._metrics
        pipeline = [metrics.pipeline]
        for name, text, value in (
            ("batches", "Batches that were applied", metrics.batches),
            ("records", "Records of the applied batches", metrics.records),
        ):
            counter = core.CounterMetricFamily(PREFIX + name, text, labels=["pipeline"])
            counter.add_metric(pipeline, value)
            yield counter
        labels = {"pipeline": metrics.pipeline}
        yield http_server.histogram_family(
            PREFIX + "batch_seconds", "Seconds of a batch", metrics.batch_durations, labels
        )
        yield http_server.histogram_family(
            PREFIX + "latency_seconds",
            "From the commit at the source of the last change of a table in a batch to its commit "
            "to the table",
            metrics.latencies,
            labels,
        )
        summary = core.SummaryMetricFamily(
            PREFIX + "phase_seconds", "Seconds of a part of a batch", labels=["pipeline", "phase"]
        )
        for phase, seconds in metrics.phases.items():
            summary.add_metric([*pipeline, phase], metrics.batches, seconds)
        yield summary
        now = time.monotonic()
        if metrics.applied_at is not None:
            age = now - metrics.applied_at
            yield self._gauge("last_batch_age_seconds", "Since the last batch ended", age)
        began_at = metrics.began_at
        running = 0.0 if began_at is None else now - began_at
        yield self._gauge("running_batch_seconds", "Age of the current batch, or 0", running)

    def _tables(self, tables: list[TableMetrics]) -> Iterator[core.Metric]:
        for name, text, value in _GAUGES:
            gauge = core.GaugeMetricFamily(PREFIX + name, text, labels=_LABELS)
            for table in tables:
                if (figure := value(table)) is not None:
                    gauge.add_metric(self._labels(table.database, table.table), figure)
            yield gauge
        changes = core.CounterMetricFamily(
            PREFIX + "changes",
            "Changes that were read, by what became of them",
            labels=[*_LABELS, "kind"],
        )
        commits = core.SummaryMetricFamily(
            PREFIX + "commit_seconds", "Seconds of a commit to the table", labels=_LABELS
        )
        written = core.CounterMetricFamily(
            PREFIX + "written_bytes", "Bytes that were written to the table", labels=_LABELS
        )
        changed = core.CounterMetricFamily(
            PREFIX + "changed_bytes", "Bytes of the values that changed", labels=_LABELS
        )
        for table in tables:
            labels = self._labels(table.database, table.table)
            for kind, count in _KINDS:
                changes.add_metric([*labels, kind], count(table))
            commits.add_metric(labels, table.commits, table.commit_seconds)
            written.add_metric(labels, table.bytes_written)
            changed.add_metric(labels, table.changed_bytes)
        yield from (changes, commits, written, changed)

    def _lags(self, shown: Mapping[str, TableMetrics], lags: Mapping[str, float]) -> core.Metric:
        gauge = core.GaugeMetricFamily(
            PREFIX + "lag_seconds", "How long the table is behind its topic", labels=_LABELS
        )
        for topic in sorted(shown.keys() & lags.keys()):
            own = shown[topic]
            gauge.add_metric(self._labels(own.database, own.table), lags[topic])
        if others := [lag for topic, lag in lags.items() if topic not in shown]:
            gauge.add_metric(self._labels(OTHER, OTHER), max(others))
        return gauge

    def _iceberg(self, shown: Collection[tuple[str, str]] | None) -> Iterator[core.Metric]:
        now, every = time.time(), dict(self._metrics.iceberg())
        lags = core.GaugeMetricFamily(
            PREFIX + "iceberg_lag_seconds",
            "How long the Iceberg table is behind the Delta table",
            labels=_LABELS,
        )
        failures = core.CounterMetricFamily(
            PREFIX + "iceberg_failures", "Versions that were not published", labels=_LABELS
        )
        others = []
        for table in every.values():
            lag = table.lag_seconds(now)
            # One that has failed keeps its series.
            if shown is None or table.failures or (table.database, table.table) in shown:
                labels = self._labels(table.database, table.table)
                lags.add_metric(labels, lag)
                failures.add_metric(labels, table.failures)
            else:
                others.append(lag)
        if others:
            lags.add_metric(self._labels(OTHER, OTHER), max(others))
        if every:
            yield lags
            yield failures

    def _labels(self, database: str, table: str) -> list[str]:
        return [self._metrics.pipeline, database, table]

    def _gauge(self, name: str, text: str, value: float) -> core.Metric:
        gauge = core.GaugeMetricFamily(PREFIX + name, text, labels=["pipeline"])
        gauge.add_metric([self._metrics.pipeline], value)
        return gauge


def _unread(topic: str) -> TableMetrics:
    _, database, table = topic.split(".")
    return TableMetrics(database, table)


STATUS_PATH: Final = "/status.json"
# So many tables that fail stand in it.
_FAILING_MAX: Final = 100


def healthz(metrics: JobMetrics) -> tuple[bool, str]:
    """Return whether the main loop turns, and the reason.

    It may wait for a batch, which may take any time.
    """
    if metrics.began_at is not None:
        return True, f"well: {_running(metrics.began_at)}"
    return turning(metrics.turned_at, metrics.turn_seconds_max)


def readyz(metrics: JobMetrics) -> tuple[bool, str]:
    """Return whether the stream is open, and what it does."""
    ready, began_at, why = metrics.streaming, metrics.began_at, metrics.interrupted_by
    lines = ["ready" if ready else "not ready"]
    not_open = "the stream is not open" if why is None else f"the stream is not open: {why}"
    lines.append("the stream is open" if ready else not_open)
    if began_at is not None:
        lines.append(_running(began_at))
    if aside := len(metrics.set_aside()):
        lines.append(f"tables that are set aside: {aside}")
    if (failure := metrics.failure) is not None:
        lines.append(f"last failure at {failure.at}: [{failure.code}] {failure.error}")
    return ready, "\n".join(lines)


def status_page(metrics: JobMetrics) -> Page:
    """Return `/status.json`: whether the stream is open, what it waits for, the last failure.

    Also how the Iceberg tables follow, if there are any.
    """
    failure = None if metrics.failure is None else asdict(metrics.failure)
    why = metrics.interrupted_by
    body = {
        "pipeline": metrics.pipeline,
        "streaming": metrics.streaming,
        "interrupted_by": None if why is None else {"code": why.shown_code.code, "error": why.text},
        "last_failure": failure,
        "iceberg": _iceberg_status(list(metrics.iceberg().values()), time.time()),
    }
    return Page("application/json", json.dumps(body).encode())


def _iceberg_status(tables: list[TableFigures], now: float) -> dict[str, Any] | None:
    """Return how Iceberg tables follow; of those that fail, the ones that lag most."""
    if not tables:
        return None
    failing = sorted(
        (own for own in tables if own.code is not None), key=lambda own: -own.lag_seconds(now)
    )
    return {
        "tables": len(tables),
        "lag_seconds": round(max(own.lag_seconds(now) for own in tables), 3),
        "failures": sum(own.failures for own in tables),
        "failing_tables": len(failing),
        "failing": [
            {
                "table": f"{own.database}.{own.table}",
                "lag_seconds": round(own.lag_seconds(now), 3),
                "failures": own.failures,
                "code": own.code,
            }
            for own in failing[:_FAILING_MAX]
        ],
    }


def _running(began_at: float) -> str:
    return f"a batch is being applied, for {time.monotonic() - began_at:.0f} s now"


@contextmanager
def metrics_server(metrics: JobMetrics, listen: str | None, tables_max: int = 0) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    At most `tables_max` tables have series of their own; 0: all.

    Raises ConfigError if the address cannot be used.
    """
    served = Endpoints(
        MetricsCollector(metrics, tables_max),
        partial(healthz, metrics),
        partial(readyz, metrics),
        {STATUS_PATH: lambda _: status_page(metrics)},
    )
    with http_server.serving(served, listen):
        metrics.watched = listen is not None
        yield
