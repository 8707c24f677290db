"""What lines of the log show of long values."""

from __future__ import annotations

from connector.run.notices import abbreviated, busiest_tables

UUIDS = [f"3e11fa47-71ca-11e1-9e33-c80aa942956{n}" for n in range(9)]


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
