from __future__ import annotations

import pytest

from connector.binlog.gtid import MariadbGtid, MariadbGtidSet
from connector.foundation.errors import DecodeError


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        ("0-1-5", "0-1-5"),
        (" 1-2-7 , 0-1-5,", "0-1-5,1-2-7"),
        ("4294967295-4294967295-18446744073709551615",
         "4294967295-4294967295-18446744073709551615"),
    ],
)  # fmt: skip
def test_a_position_reads_in_any_order_and_prints_by_domain(text: str, normal: str) -> None:
    gtids = MariadbGtidSet.parse(text)
    assert str(gtids) == normal
    assert MariadbGtidSet.parse(str(gtids)) == gtids


@pytest.mark.parametrize(
    "text",
    ["5", "0-1", "0-1-x", "-1-1-1", "4294967296-1-1", "0-4294967296-1", "0-1-18446744073709551616"],
)
def test_text_that_is_no_gtid_is_refused(text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        MariadbGtidSet.parse(text)
    assert caught.value.text == f"{text!r} is not a MariaDB GTID; it looks like 0-1-5"


def test_a_domain_named_twice_is_refused() -> None:
    with pytest.raises(DecodeError) as caught:
        MariadbGtidSet.parse("0-1-5,0-2-7")
    assert caught.value.text == (
        "'0-1-5,0-2-7' names domain 0 twice; a position has one GTID of each domain"
    )


def test_the_last_gtid_added_is_the_position_of_its_domain() -> None:
    gtids = MariadbGtidSet.parse("0-1-5")
    gtids.add(MariadbGtid(0, 2, 6))
    gtids.add(MariadbGtid(1, 2, 1))
    assert str(gtids) == "0-2-6,1-2-1"


def test_a_position_holds_what_came_before_it_in_its_domain() -> None:
    gtids = MariadbGtidSet.parse("0-1-5,2-1-1")
    assert MariadbGtid(0, 9, 5) in gtids
    assert MariadbGtid(0, 1, 6) not in gtids
    assert MariadbGtid(1, 1, 1) not in gtids


@pytest.mark.parametrize(
    ("left", "right", "inside"),
    [
        ("", "", True),
        ("", "0-1-5", True),
        ("0-1-5", "", False),
        ("0-1-5", "0-2-5,1-1-1", True),
        ("0-1-6", "0-2-5,1-1-1", False),
    ],
)
def test_a_position_is_inside_another_when_each_domain_is(
    left: str, right: str, inside: bool
) -> None:
    assert (MariadbGtidSet.parse(left) <= MariadbGtidSet.parse(right)) is inside


@pytest.mark.parametrize(
    ("left", "right", "union", "difference"),
    [
        ("", "", "", ""),
        ("0-1-5", "", "0-1-5", "0-1-5"),
        ("", "0-1-5", "0-1-5", ""),
        ("0-1-5,1-1-1", "0-2-7,2-1-1", "0-2-7,1-1-1,2-1-1", "1-1-1"),
        ("0-1-9,1-1-1", "0-2-7,1-3-1", "0-1-9,1-1-1", "0-1-9"),
    ],
)
def test_union_and_difference_compare_each_domain(
    left: str, right: str, union: str, difference: str
) -> None:
    a, b = MariadbGtidSet.parse(left), MariadbGtidSet.parse(right)
    assert str(a | b) == union
    assert str(a - b) == difference
    assert (a <= b) is not bool(a - b)
    assert (str(a), str(b)) == (left, right)


def test_of_a_domain_with_several_servers_the_last_one_is_the_position() -> None:
    listed = [MariadbGtid.parse("0-2-4"), MariadbGtid.parse("0-1-5")]
    assert str(MariadbGtidSet.of(listed)) == "0-1-5"


def test_positions_are_values_that_copy() -> None:
    gtids = MariadbGtidSet.parse("0-1-5")
    copy = gtids.copy()
    copy.add(MariadbGtid(0, 1, 6))
    assert gtids == MariadbGtidSet.parse("0-1-5")
    assert copy != gtids
    assert gtids != "0-1-5"
    assert bool(gtids)
    assert not MariadbGtidSet()
    assert repr(gtids) == "MariadbGtidSet.parse('0-1-5')"
    with pytest.raises(TypeError, match="unhashable"):
        hash(gtids)
