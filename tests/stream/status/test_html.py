"""The page: what it says, and that names of the source are harmless in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from connector.stream.status import terminal
from connector.stream.status.model import (
    Condition,
    Host,
    Level,
    MirrorStatus,
    MirrorTable,
    PipelineStatus,
    ProcessEvent,
    Purge,
    RatePoint,
    State,
    TableStatus,
    from_json,
    to_json,
)
from connector.stream.status.page import (
    HEIGHT,
    WIDTH,
    PageView,
    html,
    lags,
    rates,
    security_headers,
)
from tests.stream.status.examples import COPIED, FAILED, FENCED, NOW, WAITING, facts_with

if TYPE_CHECKING:
    from connector.stream.metrics.pipeline_metrics import FencedTable

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}\u202e"
AWAY = Condition(State.KAFKA_AWAY, Level.WARNING, "Kafka has not answered", "K131")
VOID = {"meta", "link", "rect", "path", "input"}


class Outline(HTMLParser):
    """The elements of a page, and whether each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_every_element_is_closed_in_each_state() -> None:
    for facts in (
        facts_with(tables=(COPIED, FENCED, FAILED), events=(ProcessEvent(NOW, "info", "DDL", {}),)),
        facts_with(AWAY, Condition(State.LAGGING, Level.WARNING, "late")),
        replace(facts_with(), lag=None, purge=None, throughput=None, position=None, process=None),
        facts_with(purge=Purge(None, None)),
    ):
        page = Outline(html(facts))
        assert page.open == []


def test_only_a_page_that_may_act_has_forms() -> None:
    page = Outline(html(facts_with(), acting=True))
    assert page.open == []
    assert page.tags.count("form") == 1
    assert "form-action 'self'" in dict(security_headers(acting=True))["Content-Security-Policy"]
    assert "form" not in Outline(html(facts_with())).tags
    assert "form-action 'none'" in dict(security_headers())["Content-Security-Policy"]


def test_hostile_names_are_text_wherever_they_stand() -> None:
    table = TableStatus(HOSTILE)
    event = ProcessEvent(NOW, "warning", HOSTILE, {HOSTILE: HOSTILE, "error": HOSTILE}, HOSTILE)
    hostile = facts_with(
        Condition(State.QUARANTINE, Level.CRITICAL, HOSTILE, HOSTILE),
        tables=(
            table,
            replace(FENCED, name=HOSTILE, kept_back=_with_reason(FENCED)),
            replace(FAILED, name=HOSTILE),
        ),
        events=(event,),
        hosts=(Host(HOSTILE, in_use=False, note=HOSTILE, code=HOSTILE),),
    )
    hostile = replace(hostile, pipeline=HOSTILE)
    plain = _with_plain_names(hostile)
    page = html(hostile)
    assert Outline(page).tags == Outline(html(plain)).tags
    assert "<img" not in page
    assert "<script>alert" not in page
    assert page.count("\u202e") == 0
    assert "49" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def _with_reason(table: TableStatus) -> FencedTable:
    assert table.kept_back is not None
    return replace(table.kept_back, reason=HOSTILE)


def _with_plain_names(facts: PipelineStatus) -> PipelineStatus:
    """Return the same facts with harmless names."""
    text = to_json(facts).decode()
    return from_json(text.replace(json.dumps(HOSTILE, ensure_ascii=False)[1:-1], "n").encode())


def test_the_policy_names_the_style_and_the_script_of_the_page() -> None:
    page = html(facts_with())
    policy = dict(security_headers())["Content-Security-Policy"]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_facts_are_in_the_page_without_a_script() -> None:
    page = html(facts_with(AWAY, tables=(COPIED, FENCED, FAILED, WAITING)))
    text = re.sub(r"<[^>]+>", "", page)
    for fact in (
        "Kafka away", "K131", "1.5 s", "3 transactions · 2.00 kB not delivered", "25 of about 100",
        "15 s left", "14 changes of 2 keys", "too large", "may not be read", "binlog.000042:1187",
        "of 3 d that the source keeps its logs", "db1:3306", "waits to be copied",
    ):  # fmt: skip
        assert fact in text, fact


MANY = tuple(TableStatus(f"shop.t{number:03}") for number in range(230))


def shown(page: str) -> list[str]:
    return re.findall(r'<th role="rowheader" scope="row"><bdi>(.*?)</bdi>', page)


def test_many_tables_are_shown_by_the_hundred() -> None:
    names = [table.name for table in MANY]
    page = html(facts_with(tables=MANY))
    assert shown(page) == names[:100]
    assert "1 to 100 of 230" in page
    assert re.findall(r'rel="(prev|next)" href="(.*?)"', page) == [("next", "?tables=2")]
    page = html(facts_with(tables=MANY), PageView(tables=2))
    assert re.findall(r'rel="(prev|next)" href="(.*?)"', page) == [
        ("prev", "?"),
        ("next", "?tables=3"),
    ]
    page = html(facts_with(tables=MANY), PageView(tables=9))
    assert shown(page) == names[200:]
    assert "201 to 230 of 230" in page


def test_tables_and_mirrors_are_found_by_a_part_of_their_names_or_a_pattern() -> None:
    mirrors = [MirrorTable(table.name) for table in MANY]
    mirror = MirrorStatus("m:1", "", None, "", 0, 0.5, 0.0, mirrors)
    facts = facts_with(tables=(FENCED, *MANY), mirror=mirror)
    assert shown(html(facts, PageView("T22"))) == [f"shop.t22{n}" for n in range(10)] * 2
    page = html(facts, PageView("shop.t??0", mirrors=2))
    assert shown(page) == [f"shop.t{n:03}" for n in range(0, 230, 10)] * 2
    assert "23 of 231" in page
    page = html(facts, PageView("shop.t", tables=2, mirrors=2))
    assert "?table=shop.t&amp;mirrors=2" in page
    page = html(facts, PageView(HOSTILE))
    assert shown(page) == []
    assert "No such table has had rows" in page
    assert page.count("<script>") == 1
    assert page.count('id="search"') == 1
    assert 'id="search"' not in html(facts_with(tables=(FENCED,)))


def test_a_wrong_query_is_the_first_page() -> None:
    assert PageView.of("table=+shop.%2A+&tables=3&mirrors=2") == PageView("shop.*", 3, 2)
    for wrong in ("", "tables=0&mirrors=x", "tables=-1", "tables=1234567", "a=1&" * 9, "%ff"):
        assert PageView.of(wrong) == PageView()


@pytest.mark.parametrize(
    ("highest", "top"), [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.2, 2.0), (14_000, 20_000),
                         (21_000, 25_000), (26_000, 50_000), (99_000, 100_000)],
)  # fmt: skip
def test_a_curve_ends_at_a_round_number(highest: float, top: float) -> None:
    assert rates([RatePoint(NOW, highest)], NOW).top == top


def test_a_curve_goes_from_an_hour_ago_to_now() -> None:
    points = [RatePoint(NOW - 3600, 0.0), RatePoint(NOW - 1800, 10.0), RatePoint(NOW, 5.0)]
    drawn = rates(points, NOW)
    assert drawn.line == f"M0.0,{HEIGHT}.0 {WIDTH / 2},0.0 {WIDTH}.0,{HEIGHT / 2}"
    assert drawn.area.endswith(f"L{WIDTH}.0,{HEIGHT} 0.0,{HEIGHT} Z")
    assert drawn.words.startswith("the last 1 h: mean 5, most 10 at ")
    assert drawn.span_seconds == 3600
    assert rates(points[:1], NOW).line == ""


def test_the_curve_of_a_young_process_is_wider() -> None:
    drawn = rates([RatePoint(NOW - 60, 10.0), RatePoint(NOW, 10.0)], NOW)
    assert drawn.span_seconds == 300
    assert drawn.line == f"M{WIDTH * 0.8},0.0 {WIDTH}.0,0.0"


def test_a_peak_is_cut_and_told_and_the_usual_values_are_seen() -> None:
    values = [10.0 + number % 3 for number in range(60)] + [48_000.0]
    points = [RatePoint(NOW - 15 * (61 - n), value) for n, value in enumerate(values, 1)]
    drawn = rates(points, NOW)
    assert drawn.top == 20
    assert "most 48,000, above the upper edge, at " in drawn.words
    assert drawn.line.endswith(",0.0"), "the peak is at the upper edge"


def test_bursts_between_pauses_are_no_peaks() -> None:
    points = [RatePoint(NOW - 15 * n, 900.0 if n % 20 == 0 else 0.0) for n in range(60, -1, -1)]
    assert rates(points, NOW).top == 1000


def test_the_curve_of_the_lag_shows_its_peak() -> None:
    points = [RatePoint(NOW - 15 * n, 5.0, 140.0 if n == 30 else 0.2) for n in range(60, -1, -1)]
    points.insert(0, RatePoint(NOW - 1000, 5.0, None))
    drawn = lags(points, NOW)
    assert drawn.top == 200
    assert ": mean 2.5 s, most 2 min 20 s at " in drawn.words
    page = html(facts_with())
    assert 'aria-label="Lag, the curve begins after half a minute"' in page


def test_the_first_row_tells_how_late_the_latest_mirror_is() -> None:
    tables = [MirrorTable("shop.a", lag_seconds=0.0), MirrorTable("shop.b", lag_seconds=70.0)]
    mirror = MirrorStatus("m:1", "", None, "", 0, 0.5, 0.0, tables, catch_up_seconds=240.0)
    facts = facts_with(mirror=mirror)
    assert facts.end_to_end_seconds == 70
    text = re.sub(r"<[^>]+>", "", html(facts))
    assert "Lag of the mirrors\n1 min 10 s\nfrom the source to the latest mirror" in text
    assert "caught up in about 4 min" in text
    # One that has all that is in Kafka is as late as the stream.
    assert replace(facts, mirror=replace(mirror, tables=tables[:1])).end_to_end_seconds == 1.5
    assert replace(facts, mirror=replace(mirror, tables=[])).end_to_end_seconds is None


def test_the_column_of_copies_is_there_only_if_it_has_something_to_say() -> None:
    plain = TableStatus("shop.plain", 1, 90, NOW)
    title = "Copy and quarantine"
    assert title in html(facts_with(tables=(plain, COPIED)))
    page = html(facts_with(tables=(plain,)))
    assert title not in page
    assert Outline(page).open == []
    for tables, is_there in (((plain,), False), ((plain, COPIED), True)):
        out = StringIO()
        Console(file=out, width=160).print(terminal.render_status(facts_with(tables=tables)))
        assert (title.lower() in out.getvalue()) is is_there


def test_words_between_backticks_are_code_and_nothing_else_of_them_is() -> None:
    said = "`snapshot <b>` copies ``; `lone"
    page = html(facts_with(Condition(State.COPY_FAILED, Level.CRITICAL, said)))
    assert "<code>snapshot &lt;b&gt;</code> copies ``; `lone" in page
