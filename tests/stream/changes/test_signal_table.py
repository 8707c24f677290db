"""New rows of a table of signals are signals, and no other rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.table_filter import TableFilter
from connector.stream.changes.signal_table import SignalTable
from tests.stream.envelope.test_record_encoder import changed, inserted, table

if TYPE_CHECKING:
    from connector.binlog.events.table_map import TableMapEvent


FOLLOWED = TableFilter(["*.*"])


def signal_table(name: str = "signals") -> TableMapEvent:
    texts = [Column(ColumnType.VARCHAR, 40, nullable=True, name=each) for each in ("type", "data")]
    return table(name, *texts)


def test_only_new_rows_of_the_table_are_signals() -> None:
    rows = SignalTable("shop", "signals", FOLLOWED)
    rows.take(inserted(signal_table("other"), 7).rows)
    rows.take(changed(RowsKind.DELETE, 7, of=table("signals")).rows)
    # Without the columns of a signal, there is none.
    rows.take(inserted(table("signals"), 7).rows)
    assert rows.seen == []
    # What is no text stands for nothing.
    rows.take(inserted(signal_table(), 7, 8).rows)
    assert rows.seen == [("", "", ""), ("", "", "")]


def test_a_server_that_ignores_case_has_the_table_by_any_name() -> None:
    # With lower_case_table_names = 2, the log has names as they were written.
    event = inserted(signal_table("Signals"), 7).rows
    for ignores_case in (False, True):
        rows = SignalTable("shop", "signals", TableFilter(["*.*"], ignores_case=ignores_case))
        rows.take(event)
        assert len(rows.seen) == ignores_case
