"""The page in a browser: it is live and cheap, its policy is kept, and it tells of a dead process.

A server answers with pages of facts, one after the other.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from connector.stream.status.model import (
    Condition,
    Level,
    ProcessEvent,
    RatePoint,
    State,
    TableStatus,
)
from connector.stream.status.page import PageView, html, security_headers
from tests.stream.status.browser import browse, needs_browser
from tests.stream.status.examples import COPIED, FENCED, NOW, facts_with
from tests.stream.status.tab import tab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = needs_browser
# So the script looks again some times, and the browser does not wait.
IN_SECONDS = "--virtual-time-budget=7000"
# Notes each node that the script changes: the way to it, and what it is now.
WATCH = """
const changed = [];
new MutationObserver((records) => {
  for (const { type, target, attributeName } of records) {
    const node = target.nodeType === Node.TEXT_NODE ? target.parentElement : target;
    const now = type === "attributes" ? node.getAttribute(attributeName) : node.textContent;
    changed.push(`${node.closest("[aria-labelledby], header, svg").nodeName} ${type}: ${now}`);
  }
}).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
"""
HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
BEFORE = facts_with(tables=(replace(COPIED, name=HOSTILE),))
AFTER = facts_with(
    Condition(State.LAGGING, Level.WARNING, "the stream is 40 s late"),
    tables=(TableStatus("shop.first"), FENCED),
)


@contextmanager
def answering(page_of: Callable[[str], str]) -> Iterator[str]:
    """Answer each request with the page for its query; with an error if there is none."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = page_of(urlsplit(self.path).query)
            self.send_response(200 if page else 503)
            for name, value in security_headers():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def serving(left: list[str]) -> AbstractContextManager[str]:
    """Answer each request with the page that is first, and take it away; then with an error."""
    return answering(lambda _: left.pop(0) if left else "")


def browsed(address: str, folder: Path) -> tuple[str, str]:
    """Return the page after some seconds, and what the browser complained of."""
    done = browse(address, folder, "--dump-dom", IN_SECONDS)
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, "\n".join(complaints)


def test_the_page_follows_the_facts_and_its_policy_is_kept(tmp_path: Path) -> None:
    with serving([html(BEFORE), *[html(AFTER)] * 20]) as address:
        page, complaints = browsed(address, tmp_path)
    assert complaints == ""
    assert "<title>lagging · shop</title>" in page
    for shown in ("the stream is 40 s late", "shop.first", "14 changes of 2 keys"):
        assert shown in page
    assert HOSTILE not in page
    assert '<p id="offline" role="alert" hidden="">' in page


def test_a_hostile_name_is_text_and_a_dead_process_is_told(tmp_path: Path) -> None:
    with serving([html(BEFORE)]) as address:
        page, complaints = browsed(address, tmp_path)
    assert "<title>no answer · streaming · shop</title>" in page
    assert "The process has not answered since " in page
    assert "&lt;img src=x onerror=" in page
    assert "Content Security Policy" not in complaints


def test_only_what_is_different_is_changed_and_the_curve_waits_for_a_point(tmp_path: Path) -> None:
    first = facts_with(tables=(COPIED, FENCED), events=(ProcessEvent(NOW, "info", "DDL", {}),))
    second = replace(first, at=NOW + 2)
    assert first.throughput is not None
    points = [*first.throughput.hour, RatePoint(NOW + 15, 10.0)]
    third = replace(second, throughput=replace(first.throughput, hour=points))
    with serving([html(first), html(second), html(third)]) as address, tab(tmp_path) as page:
        page.open(address)
        page.value(WATCH)
        page.let_pass(3)
        assert page.value("changed.splice(0)") == [
            "HEADER attributes: 2026-09-21T14:13:22Z",
            "HEADER characterData: 14:13:22",
            "SECTION characterData: 3.0 s ago",
        ]
        page.let_pass(2)
        changed = page.value("changed.splice(0)")
    assert [one for one in changed if one.startswith("svg attributes: M")]


def test_a_hidden_page_asks_for_nothing_and_is_fresh_once_it_is_shown(tmp_path: Path) -> None:
    left = [html(BEFORE), *[html(AFTER)] * 20]
    with serving(left) as address, tab(tmp_path) as page:
        page.open(address)
        page.hide()
        page.let_pass(60)
        assert len(left) == 20
        assert page.value("document.title") == "streaming \u00b7 shop"
        page.show()
        page.let_pass(1)
        assert len(left) == 19
        assert page.value("document.title") == "lagging \u00b7 shop"
        page.let_pass(8)
        assert len(left) == 15


def test_a_person_finds_a_table_and_goes_from_page_to_page(tmp_path: Path) -> None:
    facts = facts_with(tables=tuple(TableStatus(f"shop.t{number:03}") for number in range(230)))
    first = 'document.querySelector("tbody bdi").textContent'
    with answering(lambda query: html(facts, PageView.of(query))) as at, tab(tmp_path) as page:
        page.open(at)
        page.value('document.querySelector("a[rel=next]").click()')
        page.let_pass(1)
        assert page.value(f"{first} + location.search") == "shop.t100?tables=2"
        page.value(
            'const field = document.getElementById("search"); field.focus(); field.value = "T20";'
            'field.dispatchEvent(new Event("input", { bubbles: true }))'
        )
        page.let_pass(1)
        assert page.value(f"{first} + location.search") == "shop.t200?table=T20"
        assert page.value('document.querySelectorAll("tbody tr").length') == 10
        page.let_pass(5)
        assert page.value('document.activeElement === field && field.value === "T20"') is True
