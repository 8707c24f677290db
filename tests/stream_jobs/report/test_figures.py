"""The figures of the job: what batches add up to, what the lag is, and what the page says."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from connector.foundation.errors.message import Message
from stream_jobs.errors import job_errors
from stream_jobs.run.job_state import RunFailure
from stream_jobs.run.metrics import JobMetrics
from stream_jobs.run.metrics_server import PREFIX, MetricsCollector, healthz, readyz, status_page
from stream_jobs.run.publication_queue import TableFigures
from stream_jobs.tables.batch_report import BatchReport, TableReport, TableSource
from stream_jobs.tables.quarantine_files import QuarantinedTable
from tests.stream.metrics.served import served_figures

PAGE = Path(__file__).parents[3] / "docs" / "mirror.md"
TOPIC = "p.shop.orders"
STATE = {"version": 3, "rows": 70, "dead_rows": 5, "files": 2, "bytes": 900}
LABELS = 'database="shop",pipeline="p",table="orders"'

ASIDE = QuarantinedTable(
    TOPIC, "shop.orders", "1", "2026-11-24T18:14:48+00:00", "M225", "why", 0, 7, {}
)
OLD = replace(ASIDE, topic="p.shop.old", table="shop.old")


def report(seconds: float = 1.5, source_ts_ms: int | None = 90_000, **facts: int) -> BatchReport:
    table = TableReport(
        source_ts_ms=source_ts_ms,
        changed_bytes=100,
        commits=2,
        commit_seconds=0.25,
        bytes_written=300,
        committed_ms=95_000,
        lag_seconds=5.0,
        **({"changes": 10, "upserts": 4, "deletes": 2, "skipped": 1} | STATE | facts),
    )
    return BatchReport(
        seconds=seconds,
        records=12,
        tables={"shop.orders": table},
        sources={"shop.orders": TableSource(TOPIC, "shop", "orders")},
        keyless_topics=["p.shop.log"],
        phases={"plan": 0.5, "tasks": 1.0},
    )


def figures_at(started_at: float = 10.0) -> JobMetrics:
    return JobMetrics("p", started_at=started_at)


def served(figures: JobMetrics) -> dict[str, str]:
    """Return name and labels of each figure with its value."""
    return served_figures(MetricsCollector(figures), PREFIX)


def complete() -> JobMetrics:
    figures = figures_at()
    figures.end_batch(report(seconds=1.5))
    figures.end_batch(report(seconds=7.0, rows=71))
    figures.note_offsets({TOPIC: {"0": 5}, "p.shop.log": {"0": 1}})
    figures.note_ends({TOPIC: {"0": 5}, "p.shop.log": {"0": 1}}, 100.0)
    figures.set_aside = lambda: {OLD.topic: OLD}
    figures.iceberg = lambda: {
        "shop.orders": TableFigures("shop", "orders", 3, time.time() - 60),
        "shop.old": TableFigures("shop", "old"),
    }
    figures.failure = RunFailure("2026-11-24T18:14:48+00:00", "M502", "no space")
    return figures


def test_counters_add_up_and_gauges_have_the_last_value() -> None:
    found = served(complete())
    assert found[f'changes_total{{database="shop",kind="upsert",{LABELS[16:]}}}'] == "8.0"
    assert found[f'changes_total{{database="shop",kind="superseded",{LABELS[16:]}}}'] == "6.0"
    assert found[f"commit_seconds_sum{{{LABELS}}}"] == "0.5"
    assert found[f"commit_seconds_count{{{LABELS}}}"] == "4.0"
    assert found[f"written_bytes_total{{{LABELS}}}"] == "600.0"
    assert found[f"changed_bytes_total{{{LABELS}}}"] == "200.0"
    assert found[f"rows{{{LABELS}}}"] == "71.0"
    assert found[f"last_commit_timestamp_seconds{{{LABELS}}}"] == "95.0"
    assert found[f"lag_seconds{{{LABELS}}}"] == "0.0"
    assert found[f"iceberg_failures_total{{{LABELS}}}"] == "3.0"
    assert 59 <= float(found[f"iceberg_lag_seconds{{{LABELS}}}"]) < 90
    assert found['iceberg_lag_seconds{database="shop",pipeline="p",table="old"}'] == "0.0"
    assert found['batches_total{pipeline="p"}'] == "2.0"
    assert found['records_total{pipeline="p"}'] == "24.0"
    assert found['batch_seconds_bucket{le="1.0",pipeline="p"}'] == "0.0"
    assert found['batch_seconds_bucket{le="2.0",pipeline="p"}'] == "1.0"
    assert found['batch_seconds_bucket{le="+Inf",pipeline="p"}'] == "2.0"
    assert found['batch_seconds_sum{pipeline="p"}'] == "8.5"
    assert found['latency_seconds_bucket{le="2.5",pipeline="p"}'] == "0.0"
    assert found['latency_seconds_bucket{le="5.0",pipeline="p"}'] == "2.0"
    assert found['latency_seconds_sum{pipeline="p"}'] == "10.0"
    assert found['phase_seconds_sum{phase="tasks",pipeline="p"}'] == "2.0"
    assert found['phase_seconds_count{phase="tasks",pipeline="p"}'] == "2.0"
    assert found['tables{pipeline="p"}'] == "2.0"
    assert found['tables_without_mirror{pipeline="p"}'] == "1.0"


def test_an_update_that_is_two_changes_lowers_no_counter() -> None:
    figures = complete()
    figures.end_batch(report(changes=1, upserts=1, deletes=1, skipped=0))
    assert figures.tables[TOPIC].superseded == 6


def test_a_table_without_a_mirror_has_no_lag() -> None:
    assert [name for name in served(complete()) if name.startswith("lag_seconds")] == [
        f"lag_seconds{{{LABELS}}}"
    ]


def test_what_is_not_known_is_not_served() -> None:
    found = served(figures_at())
    assert not [name for name in found if "table=" in name]
    assert 'last_batch_age_seconds{pipeline="p"}' not in found


def test_the_page_on_the_mirror_lists_each_metric_and_no_other() -> None:
    names = {name.partition("{")[0] for name in served(complete())}
    section = PAGE.read_text("utf-8").partition("\n## Metrics\n")[2]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    told = {name for cell in rows for name in re.findall(r"`([a-z_]+)`", cell)}
    assert told == names


def test_an_idle_table_has_no_lag_however_old_its_last_change_is() -> None:
    figures = complete()
    assert figures.lag_seconds(TOPIC, 1_000_000.0) == 0


def test_the_lag_rises_from_when_the_table_last_had_everything() -> None:
    figures = complete()
    figures.note_ends({TOPIC: {"0": 6}}, 105.0)
    # Its last change was committed at the source at 90, and it was complete at 100.
    assert figures.lag_seconds(TOPIC, 106.0) == 6
    figures.note_ends({TOPIC: {"0": 9}}, 110.0)
    assert figures.lag_seconds(TOPIC, 150.0) == 50
    # A later change is applied, but not all.
    figures.end_batch(report(source_ts_ms=140_000))
    figures.note_offsets({TOPIC: {"0": 8}})
    assert figures.lag_seconds(TOPIC, 150.0) == 10
    figures.note_offsets({TOPIC: {"0": 9}})
    assert figures.lag_seconds(TOPIC, 150.0) == 0


def test_a_partition_that_nobody_has_read_is_lag() -> None:
    figures = complete()
    figures.note_ends({TOPIC: {"0": 5, "1": 1}}, 105.0)
    assert figures.lag_seconds(TOPIC, 106.0) == 6
    figures.note_ends({TOPIC: {"0": 5, "1": 0}}, 105.0)
    assert figures.lag_seconds(TOPIC, 106.0) == 0


def test_before_the_first_batch_the_lag_rises_from_the_start_of_the_process() -> None:
    figures = figures_at(started_at=10.0)
    assert figures.lag_seconds(TOPIC, 30.0) is None
    figures.note_ends({TOPIC: {"0": 5}}, 29.0)
    assert figures.lag_seconds(TOPIC, 30.0) == 20


def test_a_table_that_is_set_aside_lags_although_the_offsets_go_on() -> None:
    figures = complete()
    figures.set_aside = lambda: {TOPIC: ASIDE}
    figures.note_offsets({TOPIC: {"0": 8}, "p.shop.log": {"0": 2}})
    figures.note_ends({TOPIC: {"0": 8}, "p.shop.log": {"0": 2}}, 200.0)
    assert figures.lag_seconds(TOPIC, 201.0) == 101
    assert figures.lag_seconds("p.shop.log", 201.0) == 0
    shown = served(figures)
    assert shown['tables_set_aside{pipeline="p"}'] == "1.0"
    assert shown['set_aside{code="M225",database="shop",pipeline="p",table="orders"}'] == "1.0"


def test_a_table_whose_rows_are_being_loaded_lags_until_it_has_them() -> None:
    figures = complete()
    figures.loading = lambda: frozenset({TOPIC})
    figures.note_offsets({TOPIC: {"0": 8}})
    figures.note_ends({TOPIC: {"0": 8}, "p.shop.log": {"0": 1}}, 200.0)
    assert figures.lag_seconds(TOPIC, 201.0) == 101
    figures.loading = frozenset
    # The batch that ends the load has no other record.
    figures.end_batch(report(changes=0, upserts=0, deletes=0, skipped=0))
    assert figures.lag_seconds(TOPIC, 202.0) == 0


def test_a_running_batch_is_seen() -> None:
    figures = figures_at()
    figures.began_at = time.monotonic() - 40
    running = float(served(figures)['running_batch_seconds{pipeline="p"}'])
    assert running >= 40
    figures.leave_batch()
    assert served(figures)['running_batch_seconds{pipeline="p"}'] == "0.0"


def test_the_job_is_ready_while_its_stream_is_open() -> None:
    figures = figures_at()
    assert readyz(figures) == (False, "not ready\nthe stream is not open")
    figures.opened()
    assert readyz(figures) == (True, "ready\nthe stream is open")
    figures.began_at = time.monotonic() - 40
    figures.set_aside = lambda: {TOPIC: ASIDE}
    assert readyz(figures)[1].splitlines()[2:] == [
        "a batch is being applied, for 40 s now",
        "tables that are set aside: 1",
    ]


@pytest.mark.parametrize(("is_open", "is_well"), [(False, True), (True, False)])
def test_a_loop_that_does_not_turn_is_stuck_once_the_stream_is_open(
    *, is_open: bool, is_well: bool
) -> None:
    figures = figures_at()
    if is_open:
        figures.opened()
    figures.turned_at = time.monotonic() - 100
    assert healthz(figures)[0] is is_well
    figures.began_at = time.monotonic() - 100
    assert healthz(figures) == (True, "well: a batch is being applied, for 100 s now")
    figures.leave_batch()
    figures.turn()
    assert healthz(figures)[0]


def test_a_job_that_waits_for_kafka_is_well_and_says_so_until_its_stream_is_open() -> None:
    figures = figures_at()
    figures.opened()
    figures.turned_at = time.monotonic() - 100
    figures.streaming = False
    away = Message(job_errors.KAFKA_FAILED, {"servers": ["kafka:9092"], "said": "no answer"})
    figures.interrupted(away)
    assert readyz(figures) == (False, f"not ready\nthe stream is not open: {away}")
    told = json.loads(status_page(figures).body)["interrupted_by"]
    assert told == {"code": "M103", "error": away.text}
    # An attempt waits for brokers, and Spark starts a query: that takes as long as a start.
    figures.turned_at = time.monotonic() - 100
    assert healthz(figures)[0]
    figures.opened()
    assert healthz(figures)[0]
    assert readyz(figures) == (True, "ready\nthe stream is open")
    assert json.loads(status_page(figures).body)["interrupted_by"] is None


def test_the_status_tells_how_the_iceberg_tables_follow() -> None:
    figures = figures_at()
    assert json.loads(status_page(figures).body)["iceberg"] is None
    figures.iceberg = lambda: {
        "shop.orders": TableFigures("shop", "orders", 3, time.time() - 60, "M815"),
        "shop.late": TableFigures("shop", "late", 0, time.time() - 5),
        "shop.worse": TableFigures("shop", "worse", 1, time.time() - 70, "M811"),
        # It has failed, and goes on.
        "shop.old": TableFigures("shop", "old", 2),
    }
    told = json.loads(status_page(figures).body)["iceberg"]
    assert (told["tables"], told["failures"], told["failing_tables"]) == (4, 6, 2)
    assert 70 <= told["lag_seconds"] < 100
    assert [(own["table"], own["failures"], own["code"]) for own in told["failing"]] == [
        ("shop.worse", 1, "M811"),
        ("shop.orders", 3, "M815"),
    ]
    assert 60 <= told["failing"][1]["lag_seconds"] < 90


def test_what_waits_counts_what_was_not_applied_and_tells_until_when_it_is() -> None:
    figures = figures_at()
    for looks in range(14):
        figures.note_offsets({TOPIC: {"0": 100 * looks, "1": 50}, OLD.topic: {"0": 3}})
        figures.set_aside = lambda: {OLD.topic: OLD}
        ends = {TOPIC: {"0": 1_300, "1": 50}, OLD.topic: {"0": 99}, "p.shop.log": {"0": 7}}
        figures.without_mirror.add("p.shop.log")
        figures.note_ends(ends, 5.0 * looks)
        assert figures.waiting == 1_300 - 100 * looks
    # 20 a second, and nothing is left.
    assert figures.catch_up_seconds == 0
    figures.note_ends({TOPIC: {"0": 1_400, "1": 50}}, 70.0)
    assert figures.catch_up_seconds is None


def test_a_process_that_has_applied_nothing_does_not_guess() -> None:
    figures = figures_at()
    for looks in range(20):
        figures.note_ends({TOPIC: {"0": 1_000 - looks}}, 5.0 * looks)
    assert figures.catch_up_seconds is None
