"""Sets of either product: parsed by their flavour, and compared only with their kind."""

from __future__ import annotations

import pytest

from connector.binlog.gtid import contains_all, parse_gtid_set

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
