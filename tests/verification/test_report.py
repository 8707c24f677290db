"""The report of many tables: what is wrong first, and a count of all."""

from __future__ import annotations

import json

from connector.foundation.errors import SourceUnavailable
from connector.replication import dump_errors
from verification.iceberg_check import IcebergResult
from verification.report import (
    Difference,
    TableResult,
    exit_code,
    report,
    report_lines,
)
from verification.run_progress import RunFigures, RunProgress
from verification.shown_values import visible_values
from verification.source_moment import SourceMoment

AWAY = SourceUnavailable(dump_errors.SERVER_CLOSED, server="db")


def some_of_each(equal: int) -> list[TableResult]:
    wrong = Difference("missing", {"id": 7}, {"id": 7}, None)
    return [
        *(TableResult(f"a.t{number:03d}", rows=2) for number in range(equal)),
        TableResult("b.left", rows=0, error=AWAY, is_left_out=True),
        TableResult("c.late", rows=1, unsettled=1),
        TableResult("d.wrong", rows=5, differences=[wrong]),
    ]


def lines(results: list[TableResult], *, shows_all: bool = False) -> list[str]:
    return list(report_lines(results, with_values=True, shows_all=shows_all))


def test_what_is_wrong_comes_first_and_others_of_many_tables_are_counted() -> None:
    found = lines(some_of_each(equal=30))
    tables = [line for line in found if not line.startswith("  ")]
    assert [line.partition(":")[0] for line in tables[:2]] == ["d.wrong", "c.late"]
    assert tables[2:] == [
        "33 tables: 1 different, 1 not finished, 1 not compared, 30 equal; 66 rows",
        "31 tables are not listed: --all lists them",
    ]
    assert '  missing {"id": 7}' in found


def test_few_tables_and_all_wanted_ones_have_a_line_each() -> None:
    few, every = lines(some_of_each(equal=2)), lines(some_of_each(equal=30), shows_all=True)
    assert [line for line in few if ": equal: " in line] == [
        f"a.t{number:03d}: equal: 2 rows" for number in range(2)
    ]
    assert sum(": equal: " in line for line in every) == 30
    assert few[-1].startswith("5 tables: ")
    assert every[-1].startswith("33 tables: ")
    assert not any("--all" in line for line in [*few, *every])


def test_a_single_table_needs_no_count() -> None:
    assert lines([TableResult("a.t", rows=2)]) == ["a.t: equal: 2 rows"]


def test_a_repaired_table_is_listed_among_many() -> None:
    repaired = TableResult("z.t", rows=1, repaired=[Difference("missing", {"id": 1}, {}, None)])
    assert "z.t: equal: 1 rows" in lines([*some_of_each(equal=30), repaired])


def test_json_has_the_counts_and_all_tables() -> None:
    found = report(some_of_each(equal=30), with_values=True)
    assert found["summary"] == {
        "tables": 33, "different": 1, "not_finished": 1, "not_compared": 1, "equal": 30, "rows": 66,
        "equal_through": None,
    }  # fmt: skip
    assert (found["verdict"], len(found["tables"])) == ("different", 33)


def test_progress_counts_parts_of_tables_and_rows_of_both_sides() -> None:
    progress = RunProgress()
    progress.begin(4)
    progress.end("a.small", 20)
    progress.read("a.large", 30, 120)
    assert progress.figures() == RunFigures(4, 1, 50, 1.25, "a.large")
    progress.read("a.large", 60, 120)
    progress.read("a.other", 120, 100)
    # More rows than estimated: as good as done.
    assert progress.figures() == RunFigures(4, 1, 200, 2.5, "")
    progress.end("a.large", 999)
    assert progress.figures() == RunFigures(4, 2, 200, 3.0, "a.other")


def test_tables_are_equal_through_the_earliest_moment_if_each_is() -> None:
    later, earlier = (
        TableResult(f"a.{second}", rows=2, began_at=SourceMoment(second * 1_000_000, "0-1-7"))
        for second in (5, 3)
    )
    left = TableResult("b.left", error=AWAY, is_left_out=True)
    told = lines([later, earlier, left])
    assert told[1] == "a.3: equal: 2 rows, through 1970-01-01T00:00:03+00:00 (0-1-7)"
    assert told[-1] == (
        "3 tables: 1 not compared, 2 equal; 4 rows; "
        "all equal through 1970-01-01T00:00:03+00:00 (0-1-7)"
    )
    found = report([later, earlier, left], with_values=True)
    moment = {"time": "1970-01-01T00:00:03.000+00:00", "transactions": "0-1-7"}
    assert found["summary"]["equal_through"] == moment
    assert [table["equal_through"] for table in found["tables"]][1:] == [moment, None]
    # A part of a table has no such moment.
    assert report([later, TableResult("a.t")], with_values=True)["summary"]["equal_through"] is None


def test_a_table_whose_iceberg_table_lags_is_not_finished() -> None:
    missing = IcebergResult(note="it is not published yet")
    late = IcebergResult(version=8, rows=2, late_seconds=90)
    found = [TableResult("a.t", rows=2, iceberg=iceberg) for iceberg in (missing, late)]
    assert [result.verdict for result in found] == ["not finished", "not finished"]
    assert lines(found)[:5] == [
        "a.t: not finished: 2 rows",
        "  Iceberg: not compared: it is not published yet",
        "a.t: not finished: 2 rows",
        "  Iceberg, version 8: the same, 2 rows",
        "  Iceberg, version 8: the next version was not published for 90 s",
    ]
    late.defects.append("its columns are others")
    assert found[1].verdict == "different"


def test_if_no_table_was_compared_none_is_equal() -> None:
    left = TableResult("b.left", error=AWAY, is_left_out=True)
    late = TableResult("c.late", unsettled=1)
    assert report([left], with_values=True)["verdict"] == "not compared"
    assert exit_code({left.verdict}) == 2
    assert report([left, late], with_values=True)["verdict"] == "not finished"
    assert exit_code({left.verdict, late.verdict}) == 1
    assert report([left, TableResult("a.t")], with_values=True)["verdict"] == "equal"
    assert exit_code({left.verdict, TableResult("a.t").verdict}) == 0


def test_numbers_that_json_does_not_have_are_texts() -> None:
    values = {"a": float("nan"), "b": [float("-inf")], "c": 1.5}
    shown = visible_values(values, with_values=True)
    assert json.dumps(shown, allow_nan=False) == '{"a": "nan", "b": ["-inf"], "c": 1.5}'
