"""Sets of either product: parsed by their flavour, and compared only with their kind."""

from __future__ import annotations

import pytest

from connector.binlog.gtid import contains_all, has_reached, lacks_some, parse_gtid_set

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("flavour", "less", "more"),
    [("mysql", f"{UUID}:1-5", f"{UUID}:1-9"), ("mariadb", "0-1-5", "0-1-9,1-1-4")],
)
def test_a_set_has_all_of_a_smaller_one(flavour: str, less: str, more: str) -> None:
    small, large = parse_gtid_set(less, flavour), parse_gtid_set(more, flavour)
    assert contains_all(large, small)
    assert contains_all(small, small)
    assert not contains_all(small, large)
    assert (str(small), str(large)) == (less, more)


def test_sets_of_two_products_have_none_of_each_other() -> None:
    mysql, mariadb = parse_gtid_set(f"{UUID}:1", "mysql"), parse_gtid_set("0-1-1", "mariadb")
    assert not contains_all(mysql, mariadb)
    assert not contains_all(mariadb, mysql)


def test_without_a_set_nothing_is_known() -> None:
    known = parse_gtid_set("0-1-1", "mariadb")
    assert not contains_all(None, known)
    assert not contains_all(known, None)


@pytest.mark.parametrize(
    ("known", "end", "is_reached", "is_less"),
    [
        ("0-1-7", "0-1-7", True, False),
        ("0-1-8,5-2-3", "0-1-7", True, False),
        ("0-1-7", "0-1-8", False, True),
        ("0-1-7", "0-1-7,5-2-3", False, True),
        # Without gtid_strict_mode, 0-2-991 may come after 0-1-1001.
        ("0-1-1001", "0-2-991", False, False),
        ("0-2-991", "0-1-1001", False, False),
        ("0-1-1001,5-2-2", "0-2-991,5-2-3", False, True),
    ],
)
def test_numbers_of_two_servers_do_not_prove_that_a_log_was_read(
    known: str, end: str, *, is_reached: bool, is_less: bool
) -> None:
    sets = parse_gtid_set(known, "mariadb"), parse_gtid_set(end, "mariadb")
    assert (has_reached(*sets), lacks_some(*sets)) == (is_reached, is_less)


def test_a_set_of_mysql_names_what_was_read() -> None:
    known, end = (parse_gtid_set(f"{UUID}:{range_}", "mysql") for range_ in ("1-9", "1-5"))
    assert has_reached(known, end)
    assert not has_reached(end, known)
    assert not has_reached(None, end)
    assert not lacks_some(known, end)
    assert lacks_some(end, known)
    assert lacks_some(None, end)
