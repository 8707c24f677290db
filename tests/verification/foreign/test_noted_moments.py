"""Through which moment a target has all changes, if it lacks some that the log names."""

from __future__ import annotations

from uuid import UUID

import pytest

from connector.binlog.gtid import Gtid, MariadbGtid
from verification.foreign.noted_moments import NotedMoments
from verification.foreign.row_states import Change
from verification.source_moment import SourceMoment

_US = 1_000_000
UUID_TEXT = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def moment(second: int, transactions: str) -> SourceMoment:
    return SourceMoment(second * _US, transactions)


def of_mysql(number: int, second: int) -> Change:
    gtid = Gtid(UUID(UUID_TEXT), number)
    return Change(second * _US, str(gtid), second * _US, gtid)


def of_mariadb(gtid: str) -> Change:
    # The log has the time at which a statement began.
    return Change(99 * _US, gtid, 1 * _US, MariadbGtid.parse(gtid))


def noted(*moments: SourceMoment) -> NotedMoments:
    every = iter(moments)
    found = NotedMoments(lambda: next(every))
    for own in moments:
        assert found.now() == own
    return found


MYSQL = [moment(10 * n, f"{UUID_TEXT}:1-{10 * n}") for n in (1, 2, 3, 4)]
MARIADB = [moment(10 * n, f"0-1-{10 * n},7-2-5") for n in (1, 2, 3, 4)]


def test_a_target_that_lacks_nothing_is_equal_through_the_moment_before_it_was_read() -> None:
    assert noted(*MYSQL).through(MYSQL[2], set()) == MYSQL[2]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [([31], MYSQL[2]), ([30], MYSQL[1]), ([21, 35], MYSQL[1]), ([11, 12], MYSQL[0])],
)
def test_the_moment_has_no_transaction_that_the_target_lacks(
    numbers: list[int], expected: SourceMoment
) -> None:
    lacking = {of_mysql(number, 1000) for number in numbers}
    assert noted(*MYSQL).through(MYSQL[2], lacking) == expected


def test_before_all_moments_the_time_of_the_commit_tells() -> None:
    lacking = {of_mysql(5, 8), of_mysql(6, 7)}
    assert noted(*MYSQL).through(MYSQL[2], lacking) == moment(5, "")


@pytest.mark.parametrize(
    ("gtid", "expected"),
    [
        ("0-1-31", MARIADB[2]),
        ("0-1-25", MARIADB[1]),
        # Two servers number their transactions independently: none of the moments is surely before.
        ("0-3-900", None),
        ("7-2-5", None),
        # No moment has this domain.
        ("8-1-1", MARIADB[2]),
    ],
)
def test_numbers_of_another_server_of_mariadb_prove_nothing(
    gtid: str, expected: SourceMoment | None
) -> None:
    assert noted(*MARIADB).through(MARIADB[2], {of_mariadb(gtid)}) == expected


def test_without_gtids_a_moment_is_before_a_commit_by_time() -> None:
    moments = [moment(second, "") for second in (10, 20, 30)]
    change = Change(25 * _US, "binlog.000001:4", 25 * _US)
    assert noted(*moments).through(moments[2], {change}) == moments[1]
    # The clock may have been set back by a second.
    close = Change(21 * _US, "binlog.000001:4", 21 * _US)
    assert noted(*moments).through(moments[2], {close}) == moments[0]


def test_a_transaction_without_a_gtid_among_others_is_told_by_its_time() -> None:
    anonymous = Change(25 * _US, "binlog.000001:4", 25 * _US)
    assert noted(*MYSQL).through(MYSQL[2], {anonymous}) == moment(23, "")
