"""Dashboard and rules ask only for figures and labels that the processes serve."""

from __future__ import annotations

import re

import pytest

from connector.stream.metrics.prometheus import MetricsCollector as OfConnector
from stream_jobs.run.metrics_server import MetricsCollector as OfMirror
from tests.stream.metrics.queries import CONFIGS, DASHBOARD, panel_queries, panels, rules
from tests.stream.metrics.served import served_figures
from tests.stream.metrics.test_exposition import complete
from tests.stream_jobs.report.test_figures import complete as complete_mirror
from tests.verification.test_figures import EQUAL, compared
from verification.metrics import MetricsCollector as OfVerify

SERVED = [
    *served_figures(OfConnector(complete()), ""),
    *served_figures(OfMirror(complete_mirror()), ""),
    *served_figures(OfVerify(compared(EQUAL)), ""),
]
QUERIES = sorted({*panel_queries(".*").values(), *(rule["expr"] for rule in rules())})
ALERTS = CONFIGS.parent / "docs" / "alerts.md"
GROUPS = re.compile(r"by \(([^)]*)\)")
# Of the client library, for each process.
OF_PROCESSES = (
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_resident_memory_bytes",
)
# For queries of one's own: no panel and no alert needs them.
NOT_SHOWN = {
    "binlog_connector_cascaded_tables",
    "binlog_connector_epoch",
    "binlog_connector_last_commit_age_seconds",
    "binlog_connector_last_transaction_timestamp_seconds",
    "binlog_connector_mirror_batch_seconds",
    "binlog_connector_mirror_batches_total",
    "binlog_connector_mirror_last_batch_age_seconds",
    "binlog_connector_mirror_last_commit_timestamp_seconds",
    "binlog_connector_mirror_tables",
    "binlog_connector_mirror_tables_without_mirror",
    "binlog_connector_mirror_version",
    "binlog_connector_position",
    "binlog_connector_snapshot_rows_per_second",
    "binlog_connector_verified_rows_total",
    "binlog_connector_verify_rounds_total",
    "binlog_connector_verify_round_tables",
    "binlog_connector_verify_round_tables_compared",
    "binlog_connector_verify_round_rows",
    "binlog_connector_verify_unfinished",
}
# A name with its selector, in which a range or a comparison may follow.
USED = re.compile(
    r"((?:pipeline:)?binlog_connector_\w+(?::\w+)?|\bprocess_\w+|\bup\b)(?:\{([^}]*)\})?"
)


def labels_by_name() -> dict[str, set[str]]:
    """Return the labels of each figure, and of each recorded one."""
    found = {name: {"job", "instance"} for name in ("up", *OF_PROCESSES)}
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


def test_every_figure_is_on_the_dashboard_or_in_an_alert() -> None:
    used = {name for query in QUERIES for name, _ in USED.findall(query)}
    served = {name.partition("{")[0] for name in SERVED}
    parts = re.compile("_(bucket|sum|count|created)$")
    hidden = {parts.sub("", name) for name in served} - {parts.sub("", name) for name in used}
    assert hidden == NOT_SHOWN


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
