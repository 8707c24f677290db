"""What is shown of a copy is never less than what was copied."""

from __future__ import annotations

import pytest

from connector.cli.snapshot import _total
from connector.foundation.errors import SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.metrics.pipeline_metrics import SnapshotMetrics
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.table_state import TableState


@pytest.mark.parametrize(
    ("estimated", "rows", "shown", "eta"),
    [(300, 100, 300, 20.0), (100, 100, 100, None), (100, 150, 150, None), (0, 50, 50, None)],
)
def test_an_estimate_that_is_passed_tells_nothing_of_the_rest(
    estimated: int, rows: int, shown: int, eta: float | None
) -> None:
    state = TableState("shop", "orders", "copying", estimated_rows=estimated)
    copy = TableCopy(state, TableWindows(), SnapshotSettings())
    copy.count_rows(rows, 0, 10.0)
    per_second = rows / 10
    assert copy.metrics(20.0) == SnapshotMetrics(rows, shown, per_second, eta)
    assert _total(state) == (estimated if eta is not None else None)
    state.phase = "complete"
    assert _total(state) == rows


def test_a_table_that_stays_locked_is_tried_less_and_less_often() -> None:
    copy = TableCopy(TableState("shop", "orders"), TableWindows(), SnapshotSettings())
    locked = SourceUnavailable(copy_errors.LOCKED, table="shop.orders")
    pauses = [copy.put_off(locked, now) for now in (100.0, 108.0, 121.0, 500.0)]
    assert pauses == [3.0, 8.0, 21.0, 60.0]
    assert copy.not_before == 560.0
    figures = copy.metrics(510.0)
    assert (figures.waits_for, figures.waiting_seconds) == (locked, 410.0)
    copy.go_on()
    assert copy.metrics(511.0).waits_for is None
