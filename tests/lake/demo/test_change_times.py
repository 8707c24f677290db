"""The lag that the demo shows is how long the oldest change waits for the mirror."""

from __future__ import annotations

from connector.lake.demo.run import lag_words
from connector.lake.demo.workload import ChangeTimes


def test_the_oldest_change_that_is_not_in_the_mirror_counts() -> None:
    times = ChangeTimes()
    assert times.lag_ms("orders", 0, 50) is None
    times.add(["orders", "items"], 100)
    times.add(["orders"], 200)
    assert times.lag_ms("orders", 50, 260) == 160
    assert times.lag_ms("orders", 101, 260) == 60
    assert times.lag_ms("orders", 203, 260) == 0
    assert times.lag_ms("orders", 203, 9000) == 0
    assert times.tables == {"orders", "items"}


def test_a_table_that_changes_after_a_pause_has_the_lag_of_that_change() -> None:
    times = ChangeTimes()
    times.add(["orders"], 1000)
    assert times.lag_ms("orders", 1001, 2000) == 0
    times.add(["orders"], 60_000)
    assert times.lag_ms("orders", 1001, 60_300) == 300


def test_a_source_that_knows_whole_seconds_has_applied_the_whole_second() -> None:
    times = ChangeTimes(unit_ms=1000)
    times.add(["orders"], 1999)
    assert times.lag_ms("orders", 1000, 2500) == 0
    times.add(["orders"], 2100)
    assert times.lag_ms("orders", 1000, 2500) == 500


def test_the_lags_of_batches_are_one_line() -> None:
    assert lag_words([]) == "no change reached the mirror"
    assert lag_words([1.0, 4.04, 2.0]) == (
        "changes were in the mirror 2.0 s after their commit at the source "
        "(median of 3 batches; 4.0 s at most)"
    )
