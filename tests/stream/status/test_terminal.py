"""The facts on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from connector.foundation.table_view import ALL_TABLES, TableView
from connector.stream.status.model import (
    Condition,
    Host,
    Level,
    MirrorStatus,
    MirrorTable,
    ProcessEvent,
    ReadPace,
    State,
    TableStatus,
    of_tables,
)
from connector.stream.status.terminal import render_status
from tests.stream.status.examples import COPIED, FAILED, FENCED, NOW, facts_with


def printed(facts: object) -> str:
    output = io.StringIO()
    Console(file=output, width=150, highlight=False).print(facts)
    return output.getvalue()


def test_a_person_reads_the_state_first_and_every_fact() -> None:
    facts = facts_with(
        Condition(State.QUARANTINE, Level.CRITICAL, "changes are held back"),
        Condition(State.LAGGING, Level.WARNING, "late", "S713"),
        tables=(FENCED, FAILED, COPIED),
        events=(
            ProcessEvent(NOW, "warning", "interrupted", {"error": "gone"}, "S713", 4, NOW + 3),
        ),
        hosts=(Host("db1:3306", in_use=True), Host("db2:3306", False, False, "purged", "S303")),
    )
    lines = [line.rstrip() for line in printed(render_status(facts)).splitlines()]
    assert lines[:3] == [
        "shop  process 4711 on node1  running for 1 min  14:13:20 UTC",
        "● quarantine  changes are held back",
        "● lagging  late [S713]",
    ]
    text = "\n".join(lines)
    for expected in (
        "1.5 s, 3 transactions, 2.00 kB",
        "12 records/s, 3 transactions/s, 4.10 kB/s",
        "▄█   at most 20 records/s",
        "db1:3306: in use",
        "db2:3306: purged [S303]",
        "quarantine: 14 changes of 2 keys since 14:03:20: too large",
        "copy failed: may not be read",
        "━ 25 of about 100 rows, 15 s left",
        "interrupted [S713] 4 times, last 14:13:23  gone",
    ):
        assert expected in text, (expected, text)


def test_names_steer_no_terminal() -> None:
    name = "shop.[red]\x1b[31m\u202et"
    facts = facts_with(tables=(TableStatus(name), replace(FAILED, name=name)))
    text = printed(render_status(replace(facts, pipeline=name)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("shop.[red]\\u001b[31m\\u202et") == 3


def test_without_figures_what_is_not_known_is_said() -> None:
    facts = replace(facts_with(), lag=None, purge=None, throughput=None, position=None)
    text = printed(render_status(replace(facts, process=None)))
    assert "unknown: the source has not answered" in text
    assert "throughput" not in text

    refusing = [Host("db1:3306", in_use=False, can_continue=False, note="purged", code="S424")]
    text = printed(render_status(replace(facts, hosts=refusing)))
    assert "unknown: no server can continue the stream" in text


def test_the_pace_of_copies_is_told_with_what_holds_it() -> None:
    facts = replace(facts_with(), reading=ReadPace(0.25, "40 running threads", "R331"))
    lines = [" ".join(line.split()) for line in printed(render_status(facts)).splitlines()]
    assert "copies 0.25 reads of the source at a time: 40 running threads [R331]" in lines
    facts = replace(facts, reading=ReadPace(2.0))
    lines = [" ".join(line.split()) for line in printed(render_status(facts)).splitlines()]
    assert "copies 2 reads of the source at a time" in lines


def test_the_first_tables_are_shown_and_how_to_see_the_others() -> None:
    tables = [FENCED, *(TableStatus(f"shop.t{number:02}") for number in range(24))]
    mirrors = [MirrorTable(f"shop.t{number:02}") for number in range(24)]
    mirror = MirrorStatus("m:1", "", None, "", 0, 0.5, 0.0, mirrors)
    facts = facts_with(tables=tuple(tables), mirror=mirror)
    text = printed(render_status(facts))
    hint = "20 are shown: --table PATTERN chooses, --limit N and --all show more"
    assert f"25 tables; {hint}" in text
    assert f"24 mirrors; {hint}" in text
    assert text.count("shop.t") == 19 + 20
    assert printed(render_status(facts, ALL_TABLES)).count("shop.t") == 48
    view = TableView("*.t?1", 1)
    text = printed(render_status(of_tables(facts, view.fits), view))
    assert text.count("shop.t") == 2
    assert "3 tables; 1 are shown" in text
