"""Transactions counted by the millisecond of their commit."""

from __future__ import annotations

from connector.stream.run.delivery_parts import CommitTimes


def test_those_that_follow_each_other_within_a_millisecond_count_together() -> None:
    times = CommitTimes()
    for committed_us in (5_000, 5_999, 6_000, 5_100, 1_800_000_000_000_000):
        times.add(committed_us)
    assert times.take() == [(5, 2), (6, 1), (5, 1), (1_800_000_000_000, 1)]
    assert times.take() == []
    times.add(1_800_000_000_000_000)
    assert times.take() == [(1_800_000_000_000, 1)]
