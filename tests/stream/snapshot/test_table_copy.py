"""Which copies share the questions to the source, and which are left to the mirror."""

from __future__ import annotations

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.snapshot.jobs import TablePlan
from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.table_state import AT_START, KeyRange, TableState
from connector.stream.snapshot.watermark import LogPosition
from connector.stream.source.selected_table import SelectedTable


def planned_copy(rows: int, load: str = "") -> TableCopy:
    state = TableState("shop", "orders", reason=AT_START, load=load)
    copy = TableCopy(state, TableWindows(), SnapshotSettings())
    table = SelectedTable(TableSchema("shop", "orders", "id", (), ()), "`a`", "`orders`", (), ())
    state.ranges = [KeyRange()]
    end = LogPosition(1, 4)
    copy.plan(TablePlan(copy.plan_job(), table, True, state.ranges, "", rows, 50, end, []))
    return copy


@pytest.mark.parametrize("rows", [10, 10_000_000])
def test_a_table_that_the_mirror_loads_is_in_no_group_and_keeps_no_other_from_being_planned(
    rows: int,
) -> None:
    copy = planned_copy(rows, load="a1")
    assert not copy.waits_for_group
    assert not copy.is_large
    # A copy whose rows are records.
    copy = planned_copy(rows)
    assert (copy.waits_for_group, copy.is_large) == (rows == 10, rows != 10)
