"""The tables that have metrics of their own, and the one series of all others."""

from __future__ import annotations

import random
import time
from dataclasses import replace

from stream_jobs.run.metrics import JobMetrics, TableMetrics
from stream_jobs.run.metrics_server import PREFIX, MetricsCollector
from stream_jobs.run.publication_queue import TableFigures
from stream_jobs.run.shown_tables import ShownTables
from tests.stream.metrics.served import served_figures

OTHERS = 'database="(other)",pipeline="p",table="(other)"'


def many(count: int) -> dict[str, TableMetrics]:
    return {
        f"p.shop.t{n:03}": TableMetrics(
            "shop", f"t{n:03}", upserts=n, commits=1, commit_seconds=0.5, rows=10, files=2,
            version=n, committed_ms=1000 * n,
        )
        for n in range(count)
    }  # fmt: skip


def test_few_tables_have_metrics_of_their_own() -> None:
    tables = many(5)
    assert ShownTables(5).divide(tables, {}) == (tables, None)
    assert ShownTables(0).divide(tables, {}) == (tables, None)


def test_tables_that_lag_and_those_with_most_changes_are_shown() -> None:
    shown, other = ShownTables(3).divide(many(10), {"p.shop.t001": 61.0, "p.shop.t002": 59.0})
    assert sorted(shown) == ["p.shop.t001", "p.shop.t008", "p.shop.t009"]
    assert other is not None
    assert (other.database, other.table) == ("(other)", "(other)")
    assert (other.upserts, other.commits, other.commit_seconds) == (
        0 + 2 + 3 + 4 + 5 + 6 + 7,
        7,
        3.5,
    )
    assert (other.rows, other.files, other.version, other.dead_rows) == (70, 14, None, None)
    assert other.committed_ms == 7000


def test_a_large_table_with_more_dead_rows_than_live_ones_is_shown() -> None:
    tables = many(10)
    tables["p.shop.t004"] = replace(tables["p.shop.t004"], rows=1_000_001, dead_rows=1_000_002)
    tables["p.shop.t005"] = replace(tables["p.shop.t005"], dead_rows=11)
    assert sorted(ShownTables(2).divide(tables, {})[0]) == ["p.shop.t004", "p.shop.t009"]


def test_no_counter_falls_when_tables_come_and_go() -> None:
    rng = random.Random(3)
    chooser, tables = ShownTables(4), many(12)
    before: dict[str, int] = {}
    moved = 0
    names: set[str] = set()
    for _ in range(200):
        busy = rng.choice(sorted(tables))
        tables[busy] = replace(tables[busy], upserts=tables[busy].upserts + rng.randrange(40))
        shown, other = chooser.divide(tables, {})
        assert other is not None
        counted = {topic: own.upserts for topic, own in shown.items()} | {"": int(other.upserts)}
        assert all(counted[name] >= before.get(name, 0) for name in counted)
        moved += shown.keys() != names
        before, names = before | counted, set(shown)
    assert moved > 3


def test_the_series_of_the_others_has_the_longest_lag() -> None:
    figures = JobMetrics("p", started_at=time.time() - 50)
    figures.tables = many(6)
    figures.note_ends({topic: {"0": 9} for topic in figures.tables} | {"p.shop.new": {"0": 1}}, 0)
    figures.offsets = {topic: {"0": 9} for topic in figures.tables}
    figures.iceberg = lambda: {
        f"shop.t00{n}": TableFigures("shop", f"t00{n}", n // 2 % 2, time.time() - 100 * n)
        for n in range(6)
    }
    served = served_figures(MetricsCollector(figures, 2), PREFIX)
    tables = {key for key in served if key.startswith("lag_seconds{")}
    assert len(tables) == 3
    # The topic that was not read yet is among the others.
    assert 49 < float(served[f"lag_seconds{{{OTHERS}}}"]) < 60
    assert served[f'changes_total{{database="(other)",kind="upsert",{OTHERS[19:]}}}'] == "6.0"
    assert served[f"rows{{{OTHERS}}}"] == "40.0"
    assert f"version{{{OTHERS}}}" not in served
    assert served['tables{pipeline="p"}'] == "7.0"
    # Tables that could not be published have series of their own: 2 and 3, beside 4 and 5.
    assert 99 < float(served[f"iceberg_lag_seconds{{{OTHERS}}}"]) < 110
    assert served['iceberg_failures_total{database="shop",pipeline="p",table="t003"}'] == "1.0"
