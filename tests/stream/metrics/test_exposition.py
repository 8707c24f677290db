"""What is served for Prometheus, and what docs/operations.md says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connector.replication.read_pace import Figure, PaceState
from connector.stream.metrics.pipeline_metrics import (
    FencedTable,
    Lag,
    PipelineMetrics,
    SnapshotMetrics,
)
from connector.stream.metrics.prometheus import MetricsCollector
from connector.stream.progress.progress_record import Progress
from tests.stream.metrics.served import served_figures

PREFIX = "binlog_connector_"
PAGE = Path(__file__).parents[3] / "docs" / "operations.md"

PROGRESS = Progress(
    flavour="mysql",
    gtid_set="",
    file="binlog.000002",
    position=900,
    epoch=3,
    seq="",
    server_uuid="u",
    instance="a",
    host="there",
    pid=7,
    committed_at_ms=1,
    source_time_us=5_500_000,
)
COPY = SnapshotMetrics(
    rows=10, estimated_rows=40, rows_per_second=5.0, eta_seconds=6.0, waiting_seconds=2.0
)


def complete() -> PipelineMetrics:
    figures = PipelineMetrics(
        "shop",
        fences=lambda: 2,
        copies=lambda: {"shop.t": COPY},
        pace=lambda: PaceState(0.25, Figure.LAG),
        failed_copies=lambda: {"shop.old": "why"},
        fenced_tables=lambda: {"shop.t": FencedTable(False, 2, 14, 9.0, "why")},
    )
    figures.count_commit(PROGRESS, records=4, transactions=2, size=100)
    figures.count_latencies([(900, 3), (980, 1), (2_000, 1)], now_ms=1_000)
    figures.lag = Lag(9, 1, 0.5, to_purge_seconds=60.0, catch_up_seconds=30.0)
    return figures


def served(figures: PipelineMetrics) -> dict[str, str]:
    """Return name and labels of each figure with its value."""
    return served_figures(MetricsCollector(figures), PREFIX)


def test_the_page_on_operations_lists_each_metric_and_no_other() -> None:
    names = {name.partition("{")[0] for name in served(complete())}
    table = PAGE.read_text("utf-8").partition("| metric | meaning |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([a-z_]+)`", " ".join(first_cells))) == sorted(names)


def test_the_pace_of_reading_is_served_with_what_holds_it() -> None:
    found = served(complete())
    assert found['snapshot_reads{pipeline="shop"}'] == "0.25"
    assert found['snapshot_reads_held{figure="lag",pipeline="shop"}'] == "1.0"


def test_what_is_not_known_is_not_served() -> None:
    found = served(PipelineMetrics("shop"))
    assert {name.partition("{")[0] for name in found} == {
        "records_total",
        "transactions_total",
        "bytes_total",
        "commits_total",
        "paused",
        "interruptions_total",
        "latency_seconds_bucket",
        "latency_seconds_sum",
        "latency_seconds_count",
        "start_time_seconds",
        "connected",
        "source_up",
        "kafka_up",
        "fences",
        "cascaded_tables",
    }


def test_transactions_are_counted_by_how_long_they_took() -> None:
    figures = complete()
    figures.count_latencies([(0, 1)], now_ms=4_000_000)
    found = served(figures)
    buckets = {
        limit: found[f'latency_seconds_bucket{{le="{limit}",pipeline="shop"}}']
        for limit in ("0.005", "0.01", "0.025", "0.05", "0.1", "3600.0", "+Inf")
    }
    # One that the source has committed in the future, by its clock, took no time.
    assert buckets == {
        "0.005": "1.0",
        "0.01": "1.0",
        "0.025": "2.0",
        "0.05": "2.0",
        "0.1": "5.0",
        "3600.0": "5.0",
        "+Inf": "6.0",
    }
    assert found['latency_seconds_count{pipeline="shop"}'] == "6.0"
    assert float(found['latency_seconds_sum{pipeline="shop"}']) == pytest.approx(4000.32)


def test_figures_have_their_values_and_labels() -> None:
    found = served(complete())
    assert found['records_total{pipeline="shop"}'] == "4.0"
    assert found['bytes_total{pipeline="shop"}'] == "100.0"
    assert found['fences{pipeline="shop"}'] == "2.0"
    assert found['position{file="binlog.000002",pipeline="shop"}'] == "900.0"
    assert found['last_transaction_timestamp_seconds{pipeline="shop"}'] == "5.5"
    assert found['time_to_purge_seconds{pipeline="shop"}'] == "60.0"
    assert found['snapshot_eta_seconds{pipeline="shop",table="shop.t"}'] == "6.0"
