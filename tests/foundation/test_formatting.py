"""Numbers, times and names as a person reads them."""

from __future__ import annotations

import pytest

from connector.foundation.errors.message import visible
from connector.foundation.formatting import (
    abbreviated,
    amount,
    busiest_tables,
    clock,
    duration,
    number,
    size,
    when,
)
from connector.foundation.record_formats import utc_text

NOON = 1_790_000_000.0  # 2026-09-21 14:13:20
UUIDS = [f"3e11fa47-71ca-11e1-9e33-c80aa942956{n}" for n in range(9)]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (3.27, "3.3 s"),
        (41.6, "42 s"),
        (60, "1 min"),
        (250, "4 min 10 s"),
        (3600, "1 h"),
        (7260, "2 h 1 min"),
        (86_400 * 2.5, "2 d 12 h"),
        (86_400 * 3, "3 d"),
    ],
)
def test_a_time_span_has_its_two_largest_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (12_345, "12.3 kB"), (4.2e9, "4.20 GB"),
     (7.2e17, "720 PB"), (7.2e18, "7,200 PB")],
)  # fmt: skip
def test_a_size_has_three_digits(count: float, shown: str) -> None:
    assert size(count) == shown


def test_numbers_and_amounts() -> None:
    assert [number(count) for count in (0, 0.25, 9, 12.7, 1_234_567)] == [
        "0", "0.2", "9", "13", "1,234,567",
    ]  # fmt: skip
    assert [amount(count, "table") for count in (0, 1, 2000)] == [
        "0 tables", "1 table", "2,000 tables",
    ]  # fmt: skip


def test_times_are_utc_and_those_of_today_have_no_date() -> None:
    assert when(NOON) == "2026-09-21 14:13:20"
    assert utc_text(NOON) == "2026-09-21T14:13:20Z"
    assert clock(NOON, NOON + 60) == "14:13:20"
    assert clock(NOON, NOON + 86_400) == "2026-09-21 14:13:20"


def test_what_steers_a_terminal_or_turns_the_direction_becomes_visible() -> None:
    assert visible("shop.orders") == "shop.orders"
    assert visible("\u05e9\u05dc \u26a1") == "\u05e9\u05dc \u26a1"
    assert visible("a\x1b[2J\u202eb\n\u2066c") == "a\\u001b[2J\\u202eb \\u2066c"


def test_a_gtid_set_that_fits_is_shown_whole() -> None:
    assert abbreviated(None) is None
    assert abbreviated(f"{UUIDS[0]}:1-5:7") == f"{UUIDS[0]}:1-5:7"


def test_of_many_servers_the_first_are_shown_and_how_many_there_are_more() -> None:
    found = abbreviated(",".join(f"{uuid}:1-5" for uuid in UUIDS))
    assert found == f"{UUIDS[0]}:1-5,{UUIDS[1]}:1-5, … 7 more"


def test_of_many_intervals_the_first_and_the_last_are_shown() -> None:
    intervals = ":".join(str(n) for n in range(1, 401, 2))
    found = abbreviated(f"{UUIDS[0]}:{intervals}")
    assert found is not None
    assert found.startswith(f"{UUIDS[0]}:1:3:5:")
    assert found.endswith(":…:399")
    assert len(found) <= 130


def test_the_busiest_tables_come_first() -> None:
    counts = {"shop.orders": 10, "shop.items": 70, "shop.a": 1, "shop.b": 5}
    assert busiest_tables(counts) == "shop.items (70), shop.orders (10), shop.b (5), … 1 more"
    assert busiest_tables({}) == ""
