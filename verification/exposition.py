"""The figures of a comparison without end in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from verification.figures import Figures

PREFIX: Final = "binlog_connector_"
_LABELS: Final = ["pipeline", "database", "table"]


class FiguresCollector(Collector):
    """Reads the figures at each scrape."""

    def __init__(self, figures: Figures) -> None:
        """Read `figures`."""
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yield every figure that has a value now."""
        figures = self._figures
        pipeline = [figures.pipeline]
        up = GaugeMetricFamily(
            PREFIX + "verify_up", "1 while source and Kafka answer", labels=["pipeline"]
        )
        up.add_metric(pipeline, float(figures.is_connected))
        rounds = CounterMetricFamily(
            PREFIX + "verify_rounds", "Rounds over all tables", labels=["pipeline"]
        )
        rounds.add_metric(pipeline, figures.rounds)
        yield from (up, rounds, *self._tables())

    def _tables(self) -> Iterator[Metric]:
        rows = CounterMetricFamily(
            PREFIX + "verified_rows", "Rows of the source that were compared", labels=_LABELS
        )
        repaired = CounterMetricFamily(
            PREFIX + "repaired_rows", "Rows that differed and were copied again", labels=_LABELS
        )
        differences = GaugeMetricFamily(
            PREFIX + "differences", "Rows that differed in the last comparison", labels=_LABELS
        )
        age = GaugeMetricFamily(
            PREFIX + "verified_age_seconds",
            "Since the last finished comparison began",
            labels=_LABELS,
        )
        unfinished = GaugeMetricFamily(
            PREFIX + "verify_unfinished", "1 if the last comparison did not finish", labels=_LABELS
        )
        now = time.monotonic()
        for table in self._figures.compared():
            labels = [self._figures.pipeline, table.database, table.table]
            rows.add_metric(labels, table.rows)
            repaired.add_metric(labels, table.repaired)
            age.add_metric(labels, now - table.verified_at)
            if table.differences is not None:
                differences.add_metric(labels, table.differences)
            if table.tried_at is not None:
                unfinished.add_metric(labels, float(not table.is_finished))
        yield from (rows, repaired, differences, age, unfinished)
