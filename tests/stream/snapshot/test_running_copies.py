"""The copies that are under way."""

from __future__ import annotations

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.snapshot.running_copies import RunningCopies
from connector.stream.snapshot.table_copy import TableCopy
from connector.stream.snapshot.table_state import TableState


def test_all_copies_of_one_position_are_reached_while_they_are_removed() -> None:
    running = RunningCopies()
    for table in ("a", "b", "c"):
        state = TableState("shop", table, together="x")
        running.add(TableCopy(state, TableWindows(), SnapshotSettings()))
    first, *_ = running
    reached = []
    for copy in running.together(first):
        reached.append(copy.state.table)
        running.remove(copy)
    assert reached == ["a", "b", "c"]
    assert not running
