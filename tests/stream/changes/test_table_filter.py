"""What the filter remembers of tables is bounded."""

from __future__ import annotations

import tracemalloc

from connector.binlog.table_filter import TableFilter


def test_a_source_that_makes_new_tables_all_the_time_does_not_fill_the_memory() -> None:
    tables = TableFilter(["shop.*"])

    def look(first: int) -> int:
        for number in range(first, first + 20_000):
            assert tables.follows("shop", f"day_{number}")
            assert not tables.follows("other", f"day_{number}")
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        at_first = look(0)
        later = look(20_000)
    finally:
        tracemalloc.stop()
    # 40,000 more names would take 4 MB.
    assert later < at_first + 2_000_000
    assert tables.follows("shop", "day_0")
