"""Metrics and health of `verify --forever`: what it knows of each table, and its HTTP server.

The comparison writes the metrics; a scrape or a probe reads them from another thread. The text
format is https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from connector.foundation import http_server
from connector.foundation.http_server import Endpoints, Page
from connector.foundation.metrics import turning
from connector.replication.read_pace import PaceState
from connector.stream.metrics.prometheus import READS, READS_HELD
from verification.baseline import Baseline
from verification.report import Verdict
from verification.source_moment import SourceMoment

_US: Final = 1_000_000


class Compared(Protocol):
    """What was found in one table, whatever it was compared with."""

    @property
    def rows(self) -> int:
        """Of the source."""
        ...

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        ...

    @property
    def changed_keys(self) -> int | None:
        """How many keys were compared because they have changed; None: all rows were."""
        ...

    @property
    def difference_count(self) -> int:
        """How much differs."""
        ...

    @property
    def repaired_count(self) -> int:
        """How many rows differed, and were equal after a copy."""
        ...

    @property
    def equal_through(self) -> SourceMoment | None:
        """The moment of the source up to which the other side has all changes; None if unknown."""
        ...


@dataclass(slots=True)
class TableMetrics:
    """One table; times are those of the monotonic clock."""

    database: str
    table: str
    # When the last comparison of all rows that came to an end began; at first, when the table was
    # met.
    verified_at: float = field(default_factory=time.monotonic)
    # When the last comparison began, of whatever end; None before the first one.
    tried_at: float | None = None
    rows: int = 0  # of the source, in all comparisons
    repaired: int = 0
    # Of the last comparison that came to an end; None before the first one.
    differences: int | None = None
    is_finished: bool = False
    is_left_out: bool = False
    # The newest moment of the source up to which the other side was found to have all changes.
    equal_through: SourceMoment | None = None
    # The same, by comparisons of all rows alone.
    proven: SourceMoment | None = None

    def restore(self, known: Baseline, now: SourceMoment) -> None:
        """Have what an earlier process knew; `now` is the source's time."""
        self.equal_through, self.proven = known.through, known.proven
        if known.whole is not None:
            age_us = max(0, now.time_us - known.whole.time_us)
            self.verified_at = time.monotonic() - age_us / _US

    def take(self, result: Compared, began: float) -> None:
        """Add the result of a comparison that began at some time."""
        self.tried_at = began
        self.rows += result.rows
        self.repaired += result.repaired_count
        self.is_left_out = result.verdict == "not compared"
        # What differs is known, also if its repair has failed.
        self.is_finished = result.verdict in {"equal", "different"}
        is_whole = result.changed_keys is None
        if self.is_finished:
            if is_whole:
                self.verified_at = began
            self.differences = result.difference_count
            self._prove(result.equal_through, is_whole=is_whole)

    def _prove(self, equal: SourceMoment | None, *, is_whole: bool) -> None:
        """Note that a table was equal through a moment; None: that it differs."""
        if equal is not None:
            self.proven = equal if is_whole else self.proven
            known = self.equal_through
            self.equal_through = equal if known is None else max(known, equal)
        elif is_whole:
            # What was said of changes since the last comparison of all rows was perhaps wrong.
            self.equal_through = self.proven


class VerificationMetrics:
    """All tables, and what happens now; one thread writes, others read."""

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self.started_at = time.time()
        self.tables: dict[tuple[str, str], TableMetrics] = {}
        self.rounds = 0
        # Of the round that goes on: its tables, those that were compared, and their rows.
        self.round_tables = 0
        self.round_ended = 0
        self.round_rows = 0
        # How much of the source may be read at a time; None before it was reached.
        self.pace: Callable[[], PaceState | None] = lambda: None
        # When something was read last; a pause moves it to its end.
        self.turned_at = time.monotonic()
        # Whether source and Kafka have answered when they were asked last, and why not.
        self.is_connected = False
        self.interrupted_by = ""

    def turn(self, seconds: float = 0.0) -> None:
        """Note that the process works, and may be silent for some seconds."""
        self.turned_at = time.monotonic() + seconds

    def keep(self, names: list[tuple[str, str]]) -> None:
        """Have these tables, and no others."""
        known = self.tables
        self.tables = {name: known.get(name) or TableMetrics(*name) for name in names}

    def begin_round(self, tables: int) -> None:
        """Note that a round over so many tables begins."""
        self.round_tables, self.round_ended, self.round_rows = tables, 0, 0

    def take(self, name: tuple[str, str], result: Compared, began: float) -> None:
        """Add the result of a comparison that began at some time."""
        self.tables[name].take(result, began)
        # Comparisons of all rows of large tables end in later rounds.
        self.round_ended = min(self.round_ended + 1, self.round_tables)
        self.round_rows += result.rows

    def compared(self) -> list[TableMetrics]:
        """Return the tables that are not left out."""
        return [table for table in self.tables.values() if not table.is_left_out]

    def summary(self) -> dict[str, int]:
        """Return the counts of the line `round ended`."""
        compared = self.compared()
        return {
            "rounds": self.rounds,
            "tables": len(compared),
            "different": sum(bool(table.differences) for table in compared),
            "not_finished": sum(not table.is_finished for table in compared),
            "not_compared": len(self.tables) - len(compared),
        }


PREFIX: Final = "binlog_connector_"
_LABELS: Final = ["pipeline", "database", "table"]


class MetricsCollector(Collector):
    """Reads the metrics at each scrape."""

    def __init__(self, metrics: VerificationMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value now."""
        metrics = self._metrics
        pipeline = [metrics.pipeline]
        up = GaugeMetricFamily(
            PREFIX + "verify_up", "1 while source and Kafka answer", labels=["pipeline"]
        )
        up.add_metric(pipeline, float(metrics.is_connected))
        rounds = CounterMetricFamily(
            PREFIX + "verify_rounds", "Rounds over all tables", labels=["pipeline"]
        )
        rounds.add_metric(pipeline, metrics.rounds)
        yield from (up, rounds, *self._pace(), *self._round(), *self._tables())

    def _pace(self) -> Iterator[Metric]:
        pace = self._metrics.pace()
        if pace is None:
            return
        reads = GaugeMetricFamily(PREFIX + "verify_reads", READS, labels=["pipeline"])
        reads.add_metric([self._metrics.pipeline], pace.reads)
        yield reads
        if pace.held_by is not None:
            held = GaugeMetricFamily(
                PREFIX + "verify_reads_held", READS_HELD, labels=["pipeline", "figure"]
            )
            held.add_metric([self._metrics.pipeline, pace.held_by.value], 1)
            yield held

    def _round(self) -> Iterator[Metric]:
        metrics = self._metrics
        figures = (
            ("verify_round_tables", "Tables of the round that goes on", metrics.round_tables),
            ("verify_round_tables_compared", "Of these, compared ones", metrics.round_ended),
            ("verify_round_rows", "Rows of the source in compared ones", metrics.round_rows),
        )
        for name, what, value in figures:
            metric = GaugeMetricFamily(PREFIX + name, what, labels=["pipeline"])
            metric.add_metric([metrics.pipeline], value)
            yield metric

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
            "Since the last finished comparison of all rows began",
            labels=_LABELS,
        )
        unfinished = GaugeMetricFamily(
            PREFIX + "verify_unfinished", "1 if the last comparison did not finish", labels=_LABELS
        )
        through = GaugeMetricFamily(
            PREFIX + "equal_through_timestamp_seconds",
            "The source's time up to which the table was found equal",
            labels=_LABELS,
        )
        now = time.monotonic()
        for table in self._metrics.compared():
            labels = [self._metrics.pipeline, table.database, table.table]
            rows.add_metric(labels, table.rows)
            repaired.add_metric(labels, table.repaired)
            age.add_metric(labels, now - table.verified_at)
            if table.differences is not None:
                differences.add_metric(labels, table.differences)
            if table.equal_through is not None:
                through.add_metric(labels, table.equal_through.time_us / _US)
            if table.tried_at is not None:
                unfinished.add_metric(labels, float(not table.is_finished))
        yield from (rows, repaired, differences, age, through, unfinished)


# Keys that change all the time are looked at 20 times, and each time the pipeline is waited for.
_LOOKS: Final = 20
_TURN_SECONDS: Final = 600.0


def healthz(metrics: VerificationMetrics, patience_seconds: float) -> tuple[bool, str]:
    """Return whether the process goes on, and the reason."""
    return turning(metrics.turned_at, _TURN_SECONDS + _LOOKS * patience_seconds)


def readyz(metrics: VerificationMetrics) -> tuple[bool, str]:
    """Return whether source and Kafka answer, and what is known of the tables."""
    ready = metrics.is_connected
    lines = ["ready" if ready else "not ready"]
    if not ready:
        reason = metrics.interrupted_by or "nothing has been compared yet"
        lines.append(f"source or Kafka does not answer: {reason}")
    if metrics.round_tables:
        lines.append(f"round: {metrics.round_ended} of {metrics.round_tables} tables compared")
    tables = metrics.compared()
    different = sum(bool(table.differences) for table in tables)
    unfinished = sum(not table.is_finished for table in tables)
    lines.append(f"tables: {len(tables)}, different: {different}, not finished: {unfinished}")
    return ready, "\n".join(lines)


def status_page(metrics: VerificationMetrics) -> Page:
    """Return `/status.json`: through when each table is equal."""
    through = {
        f"{table.database}.{table.table}": table.equal_through.to_json()
        for table in metrics.compared()
        if table.equal_through is not None
    }
    body = {"pipeline": metrics.pipeline, "equal_through": through}
    return Page("application/json", json.dumps(body).encode())


def metrics_server(
    metrics: VerificationMetrics, listen: str | None, patience_seconds: float
) -> AbstractContextManager[None]:
    """Serve at http://`listen` in a thread; None serves nothing.

    Raises ConfigError if the address cannot be used.
    """
    served = Endpoints(
        MetricsCollector(metrics),
        partial(healthz, metrics, patience_seconds),
        partial(readyz, metrics),
        {"/status.json": lambda _: status_page(metrics)},
    )
    return http_server.serving(served, listen)
