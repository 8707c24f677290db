"""Dashboard and rules ask only for figures and labels that the processes serve."""

from __future__ import annotations

import re

import pytest

from connector.metrics.exposition import FiguresCollector as OfConnector
from stream_jobs.report.exposition import FiguresCollector as OfMirror
from tests.metrics.queries import CONFIGS, DASHBOARD, panel_queries, panels, rules
from tests.metrics.served import served_figures
from tests.metrics.test_exposition import complete
from tests.stream_jobs.report.test_figures import complete as complete_mirror
from tests.verification.test_figures import compared
from verification.exposition import FiguresCollector as OfVerify
from verification.report import TableResult

SERVED = [
    *served_figures(OfConnector(complete()), ""),
    *served_figures(OfMirror(complete_mirror()), ""),
    *served_figures(OfVerify(compared(TableResult("shop.orders"))), ""),
]
QUERIES = sorted({*panel_queries(".*").values(), *(rule["expr"] for rule in rules())})
ALERTS = CONFIGS.parent / "docs" / "alerts.md"
GROUPS = re.compile(r"by \(([^)]*)\)")
# A name with its selector, in which a range or a comparison may follow.
USED = re.compile(r"((?:pipeline:)?binlog_connector_\w+(?::\w+)?|\bup\b)(?:\{([^}]*)\})?")


def labels_by_name() -> dict[str, set[str]]:
    """Return the labels of each figure, and of each recorded one."""
    found: dict[str, set[str]] = {"up": {"job", "instance"}}
    for rule in rules():
        if "record" in rule:
            found[rule["record"]] = set(GROUPS.findall(rule["expr"])[0].split(", ")) - {"le"}
    for name in SERVED:
        metric, _, labels = name.partition("{")
        found.setdefault(metric, set()).update(re.findall(r'(\w+)="', labels))
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_asks_for_figures_and_labels_that_are_there(query: str) -> None:
    known = labels_by_name()
    used = USED.findall(query)
    assert used
    assert {name for name, _ in used} <= known.keys()
    for name, selector in used:
        assert set(re.findall(r"(\w+)=", selector)) <= known[name], name
    grouped = {label for by in GROUPS.findall(query) for label in by.split(", ")}
    assert grouped <= set.union(*(known[name] for name, _ in used))


def test_every_legend_names_labels_that_its_query_leaves() -> None:
    known = labels_by_name()
    for panel in panels():
        for target in panel["targets"]:
            legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            grouped = GROUPS.findall(target["expr"])
            left = (
                set(grouped[-1].split(", "))
                if grouped
                else set.union(*(known[name] for name, _ in USED.findall(target["expr"])))
            )
            assert legend <= left, panel["title"]


def test_every_panel_says_what_it_shows() -> None:
    assert all(panel["title"] and panel["description"] for panel in panels())
    titles = [panel["title"] for panel in panels()]
    assert len(set(titles)) == len(titles)
    assert "${datasource}" in DASHBOARD.read_text("utf-8")


def test_every_alert_links_to_what_to_do() -> None:
    headings = re.findall(r"^### (\w+)$", ALERTS.read_text("utf-8"), flags=re.MULTILINE)
    alerts = [rule for rule in rules() if "alert" in rule]
    assert headings == [rule["alert"] for rule in alerts]
    links = [rule["annotations"]["runbook_url"] for rule in alerts]
    assert links == [f"https://docs.example.com/{ALERTS.name}#{name.lower()}" for name in headings]
