"""The lines of the job for people: on a wide, a narrow and a plain terminal, and in a file."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from connector.foundation.errors.message import Message
from stream_jobs.errors import job_errors
from stream_jobs.run.console_lines import TerminalLines, open_lines
from stream_jobs.run.status_lines import StatusLines

STARTED: dict[str, Any] = {
    "name": "shop",
    "topics": "x",
    "mirror": "/data/mirror",
    "checkpoint": "/c",
    "trigger": "availableNow",
    "set_aside": [],
}
PHASES = {"plan": 0.04, "tasks": 5.5, "commit": 0.51, "upkeep": 0.0}
# What a terminal does, instead of letters.
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
ERASE = "\r\x1b[2K"


class Terminal:
    """Lines on a terminal, and the text that was sent to it."""

    def __init__(self, width: int = 80, **facts: Any) -> None:
        self.out = StringIO()
        self.seconds = 0.0
        self.console = Console(
            file=self.out,
            width=width,
            highlight=False,
            force_terminal=True,
            **({"color_system": "standard"} | facts),
        )
        self.lines = TerminalLines(self.out, self.console, lambda: self.seconds)

    def shown(self) -> list[str]:
        """The lines without colours, without the time, and without what was erased."""
        text = re.sub(r"[^\n]*\r\x1b\[2K", "", self.out.getvalue())
        shown = CONTROL.sub("", text).replace("\r", "").splitlines()
        return [line[10:].rstrip() for line in shown]


def batch(
    seconds: float, batch_id: int = 12, skipped: int = 0, **tables: tuple[int, float | None]
) -> dict[str, Any]:
    reports = {
        f"shop.{name}": {"changes": changes, "lag_seconds": lag}
        for name, (changes, lag) in tables.items()
    }
    known = [lag for _, lag in tables.values() if lag is not None]
    totals = {
        "tables": sum(changes > 0 for changes, _ in tables.values()),
        "changes": sum(changes for changes, _ in tables.values()),
        "skipped": skipped,
        "lag_seconds": max(known, default=None),
    }
    facts = {"batch_id": batch_id, "seconds": seconds, "phases": PHASES}
    return facts | {"tables": reports, "totals": totals}


def test_a_line_for_each_batch_is_in_columns() -> None:
    terminal = Terminal(width=100)
    terminal.lines.write("started", **STARTED)
    terminal.lines.write("batch_applied", **batch(2.306, 3, orders=(1200, 1.24), items=(34, 0.2)))
    terminal.lines.write("batch_applied", **batch(0.114, 4, orders=(1, 0.55)))
    terminal.lines.write("stopped", end_offsets={})
    assert terminal.shown() == [
        "started: the mirror of shop is in /data/mirror; it ends when all is applied",
        "batch 3      1,234 changes    2 tables   2.31 s      535/s  lag 1.2 s",
        "batch 4          1 change     1 table    0.11 s        9/s  lag 0.6 s  shop.orders",
        "stopped: 2 batches, 1,235 changes",
    ]


def test_a_slow_batch_says_where_the_time_went_and_a_long_lag_is_in_words() -> None:
    terminal = Terminal(width=140)
    terminal.lines.write("batch_applied", **batch(6.05, orders=(100_000, 7512.0), items=(9, None)))
    assert terminal.shown() == [
        (
            "batch 12   100,009 changes    2 tables   6.05 s   16,530/s  lag 2 h 5 min  "
            "(plan 0.0 s, tasks 5.5 s, commit 0.5 s, upkeep 0.0 s)"
        )
    ]
    assert "\x1b[33mlag 2 h 5 min\x1b[0m" in terminal.out.getvalue()


def test_a_narrow_terminal_has_no_columns_and_wraps_beside_the_time() -> None:
    terminal = Terminal(width=40)
    terminal.lines.write("batch_applied", **batch(2.3, orders=(1200, 1.24), items=(34, 0.2)))
    assert terminal.shown() == [
        "batch 12  1,234 changes  2",
        "tables  2.30 s  537/s  lag 1.2",
        "s",
    ]


def test_a_batch_without_a_change_has_no_line() -> None:
    terminal = Terminal()
    terminal.lines.write("batch_applied", **batch(0.1))
    terminal.lines.write("batch_applied", **batch(0.1, orders=(0, None)))
    assert terminal.out.getvalue() == ""


def test_changes_that_were_applied_before_have_no_lag() -> None:
    terminal = Terminal()
    terminal.lines.write(
        "batch_applied", **batch(0.1, skipped=8, orders=(7, None), items=(1, None))
    )
    assert terminal.shown()[0].endswith("  nothing applied")


def test_copied_rows_and_truncates_have_no_lag_and_are_applied() -> None:
    terminal = Terminal()
    terminal.lines.write(
        "batch_applied", **batch(0.1, skipped=3, orders=(7, None), items=(1, None))
    )
    assert terminal.shown()[0].endswith("/s")


def test_idle_is_one_line_that_the_next_one_replaces() -> None:
    terminal = Terminal()
    for terminal.seconds in (10.0, 11.0, 12.0):
        terminal.lines.write("idle", end_offsets={}, set_aside=0)
    assert terminal.out.getvalue().count("\n") == 0
    assert terminal.shown() == ["idle for 2 s: the tables have everything that is in Kafka"]
    terminal.lines.doing("applying batch 13")
    assert terminal.shown() == ["applying batch 13"]
    terminal.lines.write("batch_applied", **batch(0.1, 13, orders=(7, 1.0)))
    terminal.seconds = 60.0
    terminal.lines.write("idle", end_offsets={}, set_aside=0)
    assert [line.partition(" ")[0] for line in terminal.shown()] == ["batch", "idle"]
    assert terminal.shown()[1].startswith("idle for 0 s")


def test_first_loads_are_told_in_words() -> None:
    terminal = Terminal(width=120)
    terminal.lines.write("loading", table="a.b", rows=1200, estimated_rows=5000)
    terminal.lines.write("loading", table="a.b", rows=6000, estimated_rows=5000)
    terminal.lines.write("loaded", table="a.b", rows=7000)
    at = {"server": "db2:3306"}
    terminal.lines.write("load_held_back", **at, reads=1.5, error="it is busy", code="R331")
    terminal.lines.write("load_leaves_server", **at, error="it lags", code="M326")
    terminal.lines.write("load_returns_to_server", **at)
    terminal.lines.write("load_waits", tables=["a.b"], error="it is odd", code="M325")
    terminal.lines.write("load_waits", tables=["a.b", "a.c", "a.d"], error="no way", code="M321")
    assert terminal.shown() == [
        "a.b: 1,200 of about 5,000 rows are loaded",
        "a.b: 6,000 rows are loaded",
        "a.b: all 7,000 rows are loaded",
        "at most 1.5 ranges are read at a time at db2:3306: [R331] it is busy",
        "no ranges are read at db2:3306: [M326] it lags",
        "load returns to server: server db2:3306",
        "a.b waits for the first rows: [M325] it is odd",
        "a.b and 2 more wait for the first rows: [M321] no way",
    ]


def test_tables_that_are_set_aside_are_told_and_those_that_go_on_again() -> None:
    terminal = Terminal(width=100)
    terminal.lines.write("started", **STARTED | {"trigger": "processingTime", "set_aside": ["a.b"]})
    terminal.lines.write(
        "table_quarantined",
        table="shop.orders",
        topic="p.shop.orders",
        error="it is odd; look at it",
        code="M225",
        partition=0,
        offset=4,
    )
    terminal.lines.write("idle", end_offsets={}, set_aside=1)
    assert terminal.shown()[2:] == [
        "idle for 0 s: the tables, without 1 that is set aside, have everything that is in Kafka"
    ]
    retried = batch(0.5, orders=(7, 3.0))
    del retried["batch_id"], retried["phases"]
    terminal.lines.write("retried", **retried)
    terminal.lines.write("record_skipped", topic="p.shop.orders", partition=0, offset=4)
    terminal.lines.write("table_resumed", table="shop.orders")
    assert terminal.shown() == [
        "started: the mirror of shop is in /data/mirror; set aside: a.b",
        "shop.orders is set aside: [M225] it is odd; look at it",
        "resuming         7 changes    1 table    0.50 s       14/s  lag 3.0 s  shop.orders",
        "p.shop.orders, partition 0: record 4 is left out, as asked",
        "shop.orders goes on",
    ]
    assert "\x1b[31mshop.orders is set aside" in terminal.out.getvalue()
    assert "\x1b[32mshop.orders goes on" in terminal.out.getvalue()


def test_the_last_line_of_a_narrow_terminal_is_cut() -> None:
    terminal = Terminal(width=24)
    terminal.lines.write("idle", end_offsets={}, set_aside=0)
    assert terminal.shown() == ["idle for 0 s…"]


def test_an_error_is_red_and_what_has_no_mirror_is_yellow_both_with_their_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal(width=100)
    topic, reason = (
        "p.shop.log",
        "the table has no primary key; choose a mode",
    )
    terminal.lines.write("no_mirror", topic=topic, error=reason, code="M105")
    terminal.lines.fail(Message(job_errors.KAFKA_FAILED, {"servers": ["a:1"], "said": "gone"}))
    assert terminal.shown() == [
        "no mirror of p.shop.log: [M105] the table has no primary key; choose a mode",
        "error: [M103] Kafka at a:1: gone; check [kafka] in the configuration of the job, and that",
        "the brokers answer",
    ]
    assert "\x1b[33mno mirror" in terminal.out.getvalue()
    assert "\x1b[31merror: [M103]" in terminal.out.getvalue()
    # Standard error is another place here.
    assert capsys.readouterr().err == (
        "error: [M103] Kafka at a:1: gone; check [kafka] in the configuration of the job, and that "
        "the brokers answer\n"
    )


def test_an_event_without_words_of_its_own_is_its_fields() -> None:
    terminal = Terminal()
    terminal.lines.write("table_moved", table="shop.orders", rows=3)
    terminal.lines.write("table_left", table="shop.orders", code="M999", error="it is odd")
    assert terminal.shown() == [
        "table moved: table shop.orders, rows 3",
        "table left: [M999] table shop.orders, error it is odd",
    ]


def test_no_color_leaves_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    terminal.lines.write("batch_applied", **batch(0.1, orders=(7, 100.0)))
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", terminal.out.getvalue())
    assert terminal.shown() == ["batch 12  7 changes  1 table  0.10 s  70/s  lag 1 min 40 s"]


def test_a_terminal_that_cannot_erase_has_no_idle_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    terminal.lines.write("idle", end_offsets={}, set_aside=0)
    assert terminal.out.getvalue() == ""


def test_a_file_gets_lines_for_people_with_their_date_unless_json_is_wanted() -> None:
    out = StringIO()
    assert type(open_lines(out, "json")) is StatusLines
    for wanted in (None, "nonsense", "console"):
        assert type(open_lines(out, wanted)) is TerminalLines
    lines = TerminalLines(out, now=lambda: 1_800_000_000.0)
    lines.write("idle", end_offsets={}, set_aside=0)
    lines.write("batch_applied", **batch(6.0, orders=(7, 1.0)))
    assert out.getvalue() == (
        "2027-01-15T08:00:00Z  "
        "batch 12         7 changes    1 table    6.00 s        1/s  lag 1.0 s  "
        "(plan 0.0 s, tasks 5.5 s, commit 0.5 s, upkeep 0.0 s)\n"
    )
