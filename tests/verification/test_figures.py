"""The metrics of `verify --forever`, and what docs/verify.md says of them."""

from __future__ import annotations

import json
from pathlib import Path

from connector.replication.read_pace import Figure, PaceState
from tests.stream.metrics.served import served_figures
from verification.metrics import (
    PREFIX,
    MetricsCollector,
    VerificationMetrics,
    readyz,
    status_page,
)
from verification.report import Difference, TableResult
from verification.source_moment import SourceMoment

PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
NAME = ("shop", "orders")
LABELS = '{database="shop",pipeline="p",table="orders"}'
MOMENT = SourceMoment(1_772_366_399_123_000, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-42")
EQUAL = TableResult("shop.orders", rows=1, began_at=MOMENT)
DIFFERENCE = Difference("surplus", {"id": 7}, None, {"id": 7})


def compared(*results: TableResult) -> VerificationMetrics:
    metrics = VerificationMetrics("p")
    metrics.keep([NAME])
    metrics.pace = lambda: PaceState(0.5, Figure.LATENCY)
    for result in results:
        metrics.tables[NAME].take(result, began=0.0)
    return metrics


def served(metrics: VerificationMetrics) -> dict[str, str]:
    return served_figures(MetricsCollector(metrics), PREFIX)


def test_the_page_lists_each_metric_and_no_other() -> None:
    names = {name.partition("{")[0] for name in served(compared(EQUAL))}
    text = PAGE.read_text("utf-8")
    table = text.partition("| metric | meaning |")[2].partition("\n\n")[0]
    named = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    process = {"verify_up", "verify_rounds_total"}
    process |= {"verify_reads", "verify_reads_held"}
    process |= {"verify_round_tables", "verify_round_tables_compared", "verify_round_rows"}
    assert named | process == names
    assert all(f"`{name}`" in text for name in process)


def test_differences_stay_known_while_a_comparison_does_not_finish() -> None:
    different = TableResult("shop.orders", rows=5, differences=[DIFFERENCE])
    unfinished = TableResult("shop.orders", rows=3, unsettled=1)
    found = served(compared(different, unfinished))
    assert found[f"differences{LABELS}"] == "1.0"
    assert found[f"verify_unfinished{LABELS}"] == "1.0"
    assert found[f"verified_rows_total{LABELS}"] == "8.0"
    equal = served(compared(different, TableResult("shop.orders", rows=5, repaired=[DIFFERENCE])))
    assert equal[f"differences{LABELS}"] == "0.0"
    assert equal[f"repaired_rows_total{LABELS}"] == "1.0"
    assert equal[f"verify_unfinished{LABELS}"] == "0.0"


def test_the_pace_of_reading_is_served_with_what_holds_it() -> None:
    found = served(compared())
    assert found['verify_reads{pipeline="p"}'] == "0.5"
    assert found['verify_reads_held{figure="latency",pipeline="p"}'] == "1.0"


def test_a_round_tells_how_far_it_is() -> None:
    metrics = compared()
    metrics.begin_round(3)
    for _ in range(2):
        metrics.take(NAME, TableResult("shop.orders", rows=5), began=0.0)
    found = served(metrics)
    names = ("verify_round_tables", "verify_round_tables_compared", "verify_round_rows")
    assert [found[f'{name}{{pipeline="p"}}'] for name in names] == ["3.0", "2.0", "10.0"]
    metrics.begin_round(3)
    assert served(metrics)['verify_round_rows{pipeline="p"}'] == "0.0"


def test_a_table_that_is_not_compared_has_no_figures_and_is_not_waited_for() -> None:
    metrics = compared(TableResult("shop.orders", is_left_out=True))
    assert not any(LABELS in name for name in served(metrics))
    assert readyz(metrics)[1].splitlines()[-1] == "tables: 0, different: 0, not finished: 0"


def test_the_age_counts_from_the_first_sight_of_a_table_and_a_dropped_one_has_none() -> None:
    metrics = compared()
    assert set(served(metrics)) >= {f"verified_age_seconds{LABELS}"}
    assert f"differences{LABELS}" not in served(metrics)
    metrics.keep([])
    assert not any(LABELS in name for name in served(metrics))


def test_a_table_stays_equal_through_the_last_moment_that_was_proven() -> None:
    later = MOMENT._replace(time_us=MOMENT.time_us + 60_000_000)
    different = TableResult("shop.orders", differences=[DIFFERENCE], began_at=later)
    metrics = compared(EQUAL, different, TableResult("shop.orders", unsettled=1, began_at=later))
    name = f"equal_through_timestamp_seconds{LABELS}"
    assert served(metrics)[name] == "1.772366399123e+09"
    proven = {"time": "2026-03-01T11:59:59.123+00:00", "transactions": MOMENT.transactions}
    page = {"pipeline": "p", "equal_through": {"shop.orders": proven}}
    assert json.loads(status_page(metrics).body) == page
    metrics.tables[NAME].take(TableResult("shop.orders", began_at=later), began=0.0)
    assert served(metrics)[name] == "1.772366459123e+09"
    assert name not in served(compared(different))
