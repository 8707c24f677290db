"""The figures of the replica in Prometheus' text format, and whether the process is well.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from connector.metrics import http_server
from connector.metrics.http_server import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from stream_jobs.replica.replica import Step

_PREFIX: Final = "binlog_connector_replica_"
_MS: Final = 1000


class Figures(Collector):
    """Counts what was applied; read at each scrape."""

    def __init__(self, name: str) -> None:
        """Count for the replica `name`."""
        self._name = name
        self._steps = 0
        self._inserted = 0
        self._deleted = 0
        self._seconds = 0.0
        self._newest: Step | None = None
        self._lag = 0.0
        # Whether the last attempt has reached the target.
        self.is_up = False

    def note(self, step: Step, lag: float | None) -> None:
        """Count a cut that was applied so many seconds after its commit at the source."""
        self._steps += 1
        self._inserted += step.inserted
        self._deleted += step.deleted
        self._seconds += step.seconds
        self._newest = step
        self._lag = lag or 0.0
        self.is_up = True

    def collect(self) -> Iterator[Metric]:
        """Yield every figure that has a value now."""
        yield self._gauge("up", "1 while the target can be reached", float(self.is_up))
        yield self._counter("cuts", "Cuts that were applied", self._steps)
        rows = CounterMetricFamily(
            f"{_PREFIX}rows",
            "Rows inserted or changed, and keys deleted",
            labels=["pipeline", "op"],
        )
        rows.add_metric([self._name, "insert"], self._inserted)
        rows.add_metric([self._name, "delete"], self._deleted)
        yield rows
        yield self._counter("apply_seconds", "Seconds in which cuts were applied", self._seconds)
        newest = self._newest
        if newest is None:
            return
        yield self._gauge("cut", "Number of the newest applied cut", newest.cut)
        yield self._gauge("left_out_tables", "Tables that it does not have", len(newest.left_out))
        yield self._gauge(
            "lag_seconds", "From its newest commit at the source to that at the target", self._lag
        )
        if newest.source_time_ms is not None:
            at = newest.source_time_ms / _MS
            yield self._gauge("source_time_seconds", "When its newest commit was", at)

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        found = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=["pipeline"])
        found.add_metric([self._name], value)
        return found

    def _counter(self, name: str, text: str, value: float) -> Metric:
        found = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=["pipeline"])
        found.add_metric([self._name], value)
        return found


def lag_of(step: Step) -> float | None:
    """Return the seconds from the newest commit of a cut at the source until now."""
    if step.source_time_ms is None:
        return None
    return round(max(0.0, time.time() - step.source_time_ms / _MS), 3)


@contextmanager
def serving(figures: Figures, listen: str | None) -> Iterator[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """

    def well() -> tuple[bool, str]:
        return True, "well"

    def ready() -> tuple[bool, str]:
        return figures.is_up, "ready" if figures.is_up else "the target cannot be reached"

    with http_server.serving(Served(figures, well, ready), listen):
        yield
