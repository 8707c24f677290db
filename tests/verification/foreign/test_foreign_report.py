"""The report of many tables of other programs: what is wrong first, and a count of all."""

from __future__ import annotations

from verification.foreign.foreign_report import (
    ForeignResult,
    RowDifference,
    foreign_lines,
    foreign_report,
)
from verification.foreign.row_states import Change
from verification.source_moment import SourceMoment

_US = 1_000_000
NOON = SourceMoment(43_200 * _US, "0-1-7")


def some_of_each(equal: int) -> list[ForeignResult]:
    wrong = RowDifference("missing", {"id": 7}, {"id": 7}, [])
    return [
        *(
            ForeignResult(f"a.t{number:03d}", "delta:/lake", rows=2, through=NOON)
            for number in range(equal)
        ),
        ForeignResult("c.late", "delta:/lake", rows=1, unsettled=1, through=NOON),
        ForeignResult("d.wrong", "delta:/lake", rows=5, differences=[wrong]),
    ]


def lines(results: list[ForeignResult], *, shows_all: bool = False) -> list[str]:
    return list(foreign_lines(results, with_values=True, shows_all=shows_all))


def test_what_is_wrong_comes_first_and_equal_ones_of_many_tables_are_counted() -> None:
    found = lines(some_of_each(equal=30))
    tables = [line for line in found if not line.startswith("  ")]
    assert [line.partition(" ")[0] for line in tables[:2]] == ["d.wrong", "c.late"]
    assert tables[2:] == [
        "32 tables: 1 different, 1 not finished, 30 equal; 66 rows",
        "30 tables are not listed: --all lists them",
    ]
    every = lines(some_of_each(equal=30), shows_all=True)
    assert sum(": equal: 2 rows" in line for line in every) == 30


def test_two_targets_of_a_table_keep_their_order() -> None:
    first, second = (ForeignResult("a.t", f"delta:/{name}", rows=1) for name in ("b", "a"))
    assert lines([first, second]) == [
        "a.t = delta:/b: equal: 1 rows",
        "a.t = delta:/a: equal: 1 rows",
        "2 tables: 2 equal; 2 rows",
    ]


def test_an_equal_table_is_equal_through_a_moment() -> None:
    (*tables,) = some_of_each(equal=1)
    assert lines(tables[:1]) == [
        "a.t000 = delta:/lake: equal: 2 rows, through 1970-01-01T12:00:00+00:00 (0-1-7)"
    ]
    found = foreign_report(tables, with_values=True)
    moment = {"time": "1970-01-01T12:00:00.000+00:00", "transactions": "0-1-7"}
    # What differs, or is not settled, is equal through no moment.
    assert [table["equal_through"] for table in found["tables"]] == [moment, None, None]
    assert found["summary"]["equal_through"] is None


def test_rows_that_lag_are_counted_for_all_tables() -> None:
    tables = some_of_each(equal=30)
    tables[0].lag({"id": 1}, 1_500_000)
    for number in range(2):
        tables[1].lag({"id": number}, 4_250_000)
    assert lines(tables)[-1] == "rows that lag: 3 in 2 tables, the longest for 4.2 s"
    assert foreign_report(tables, with_values=True)["summary"] == {
        "tables": 32, "different": 1, "not_finished": 1, "not_compared": 0, "equal": 30,
        "rows": 66, "equal_through": None, "lagging_rows": 3, "oldest_lag_seconds": 4.25,
    }  # fmt: skip


def test_a_table_of_which_there_is_more_to_say_is_listed_among_many() -> None:
    noted = ForeignResult("z.t", "delta:/z", rows=1, notes=["  not certified: why"])
    noted.is_notable = True
    found = lines([*some_of_each(equal=30), noted])
    assert found[found.index("z.t = delta:/z: equal: 1 rows") + 1] == "  not certified: why"


def test_a_change_has_a_time_of_its_commit_if_the_log_has_it() -> None:
    assert Change(5, "binlog.000001:4", 5).has_commit_time
    assert not Change(5, "binlog.000001:4", 4).has_commit_time
