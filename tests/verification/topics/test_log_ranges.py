"""The ends of `verify --topics` as sets of GTIDs, above all of two servers of MariaDB.

Without gtid_strict_mode, servers number the transactions of a domain independently: 0-2-991 may
come after 0-1-1001.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.gtid import parse_gtid_set
from verification.topics.log_ranges import EpochProgress, RangeEnd, epochs_between

if TYPE_CHECKING:
    from collections.abc import Sequence

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def position(gtids: str, flavour: str = "mariadb") -> Any:
    """The place of a stream."""
    return SimpleNamespace(file="", position=0, gtid_set=parse_gtid_set(gtids, flavour))


def count_to(until: str, *log: str, flavour: str = "mariadb") -> int | None:
    """How many transactions a stream reads until an end; None if it never comes there."""
    end, gtids = RangeEnd.parse("--to", until, flavour), parse_gtid_set("", flavour)
    for count, gtid in enumerate(log, 1):
        if flavour == "mysql":
            gtids = gtids | parse_gtid_set(gtid, flavour)  # type: ignore[operator]
        else:
            (last,) = parse_gtid_set(gtid, flavour)
            gtids.add(last)  # type: ignore[arg-type]
        end = end.rest(position(str(gtids), flavour))
        if end.reached(position(str(gtids), flavour)):
            return count
    return None


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("0-1-1000", 1),
        ("0-1-1001", 2),
        ("0-2-991", 3),
        # Of each domain, it has been there; never of both at the same time.
        ("0-2-991,5-1-1", 5),
        ("0-1-1002", 4),
        ("0-2-992", None),
    ],
)
def test_a_range_ends_where_the_log_has_its_last_transaction(until: str, count: int | None) -> None:
    log = ("0-1-1000", "0-1-1001", "0-2-991", "0-1-1002", "5-1-1")
    assert count_to(until, *log) == count


def test_a_range_of_mysql_ends_with_all_of_a_set() -> None:
    log = [f"{UUID}:{number}" for number in (1, 3, 2, 4)]
    assert count_to(f"{UUID}:1-3", *log, flavour="mysql") == 3


def numbers(newest: Sequence[str], first: str | None, until: str | None) -> list[int]:
    """The epochs of a range, by their numbers."""
    epochs = []
    for number, gtids in enumerate(newest, 1):
        progress: Any = SimpleNamespace(gtid_set=gtids, flavour="mariadb")
        epochs.append(EpochProgress(number, None, newest=progress))
    ends = [
        None if text is None else RangeEnd.parse("", text, "mariadb") for text in (first, until)
    ]
    return [epoch.number for epoch in epochs_between(epochs, 1, *ends)]


@pytest.mark.parametrize(
    ("newest", "first", "until", "found"),
    [
        (("0-1-500", "0-2-600"), None, None, [1, 2]),
        (("0-1-500", "0-2-600"), "0-1-400", "0-1-450", [1]),
        (("0-1-500", "0-2-600"), "0-1-500", None, [2]),
        (("0-1-500", "0-2-600"), "0-2-550", "0-2-560", [2]),
        (("0-1-500", "0-2-600"), "0-1-400", "0-2-560", [1, 2]),
        # 0-2-491 came last in the first log, and 0-1-500 before it.
        (("0-2-491", "0-2-600"), "0-1-500", None, [1, 2]),
        # The second server has written 0-2-491, which the first log did not get.
        (("0-1-500", "0-2-600"), None, "0-2-491", [1, 2]),
        # Only numbers find the epoch; its log has the end.
        (("0-2-500", "0-3-600"), None, "0-1-400", [1]),
    ],
)
def test_the_epochs_of_a_range_are_those_whose_logs_may_have_a_part_of_it(
    newest: Sequence[str], first: str | None, until: str | None, found: list[int]
) -> None:
    assert numbers(newest, first, until) == found
