"""What the demo shows, on a terminal and in a pipe, and how it pronounces the verdict."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from connector.lake.demo.display import Display, StatusBoard, TableLine
from connector.lake.demo.topics import TopicCheck
from connector.lake.demo.verdict import Difference, TableComparison, Verdict

BOARD = StatusBoard(
    "MySQL 8.0.31 to Kafka 4.3.1 to Delta",
    "workload, 10 of 40 s",
    0.25,
    (
        TableLine("orders", 1200, 1100, 3000, 71.4, 2.25),
        TableLine("page_views", 300, None, 300, 9.0, None),
    ),
    (("connector", "pid 7, streaming"),),
)


def shown(*, terminal: bool) -> str:
    out = StringIO()
    display = Display(Console(file=out, force_terminal=terminal, width=100, highlight=False))
    with display.board():
        display.show(BOARD)
        display.say("SIGKILL to the connector [pid 7]", "bold yellow")
        display.show(BOARD)
    display.print("mirror equals source", "bold green")
    return out.getvalue()


def test_in_a_pipe_there_are_plain_lines_and_the_numbers_come_every_few_seconds() -> None:
    text = shown(terminal=False)
    assert [line.partition(" s  ")[2] or line for line in text.splitlines()] == [
        "workload, 10 of 40 s: 80 changes/s, lag 2.2 s, rows of source/mirror: orders 1,200/1,100",
        "SIGKILL to the connector [pid 7]",
        "mirror equals source",
    ]
    assert all(character.isprintable() or character == "\n" for character in text)


def test_in_a_pipe_a_long_line_stays_one_line() -> None:
    out = StringIO()
    Display(Console(file=out, force_terminal=False, width=40)).say("word " * 40)
    assert len(out.getvalue().splitlines()) == 1


def test_on_a_terminal_the_table_stands_below_what_happened() -> None:
    text = shown(terminal=True)
    assert "MySQL 8.0.31 to Kafka 4.3.1 to Delta" in text
    assert "no key, none" in text
    assert "pid 7, streaming" in text
    # The table is taken away and drawn again when something is told.
    assert "\x1b[1A\x1b[2K" in text


def check(table: str, records: int, *problems: str) -> TopicCheck:
    check = TopicCheck(f"demo.shop.{table}", records)
    for problem in problems:
        check.add_problem(problem)
    return check


def test_a_verdict_without_problems_adds_up_rows_and_records() -> None:
    verdict = Verdict(
        {"orders": TableComparison("shop.orders", 1200, 1200, (), 0, ())},
        {"orders": check("orders", 3000), "page_views": check("page_views", 300)},
        {"orders": 3000, "page_views": 300},
        "uuid:1-9",
    )
    assert verdict.problems == []
    assert (verdict.rows, verdict.records) == (1200, 3300)
    assert verdict.lines() == [
        ("shop.orders", "1,200", "1,200", "3,000", "equal"),
        ("shop.page_views", "no key", "no mirror", "300", "in Kafka"),
    ]


def test_a_verdict_tells_every_kind_of_problem() -> None:
    differences = (Difference((7, "b"), "differs in total"),)
    verdict = Verdict(
        {
            "orders": TableComparison(
                "shop.orders", 12, 11, ("there is no mirror",), 2000, differences
            )
        },
        {"orders": check("orders", 2999, *["[0]@1 has no header cdc.seq"] * 6)},
        {"orders": 3000},
        "uuid:1-9",
    )
    assert verdict.problems == [
        "shop.orders: there is no mirror",
        "shop.orders: (7, 'b') differs in total",
        "shop.orders: and 1,999 more rows",
        *["demo.shop.orders[0]@1 has no header cdc.seq"] * 5,
        "demo.shop.orders: and 1 more records",
        "demo.shop.orders has 2,999 records of changes, but 3,000 were committed",
    ]
    assert verdict.lines() == [("shop.orders", "12", "11", "2,999", "DIFFERENT")]
