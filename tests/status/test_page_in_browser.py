"""The page in a browser: it is live, its policy is kept, and it tells of a dead process.

A server answers with pages of facts, one after the other.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from connector.status.facts import Condition, Level, State, TableFacts
from connector.status.html import html, security_headers
from tests.status.browser import browse, needs_browser
from tests.status.examples import COPIED, FENCED, facts_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_browser
# So the script looks again some times, and the browser does not wait.
IN_SECONDS = "--virtual-time-budget=7000"
HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
BEFORE = facts_with(tables=(replace(COPIED, name=HOSTILE),))
AFTER = facts_with(
    Condition(State.LAGGING, Level.WARNING, "the stream is 40 s late"),
    tables=(TableFacts("shop.first"), FENCED),
)


@contextmanager
def serving(*pages: str) -> Iterator[str]:
    """Answer each request with the next page; after the last one with an error."""
    left = list(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if left else 503)
            for name, value in security_headers():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((left.pop(0) if left else "").encode())

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


def browsed(address: str, folder: Path) -> tuple[str, str]:
    """Return the page after some seconds, and what the browser complained of."""
    done = browse(address, folder, "--dump-dom", IN_SECONDS)
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, "\n".join(complaints)


def test_the_page_follows_the_facts_and_its_policy_is_kept(tmp_path: Path) -> None:
    with serving(html(BEFORE), *[html(AFTER)] * 20) as address:
        page, complaints = browsed(address, tmp_path)
    assert complaints == ""
    assert "<title>lagging · shop</title>" in page
    for shown in ("the stream is 40 s late", "shop.first", "14 changes of 2 keys"):
        assert shown in page
    assert HOSTILE not in page
    assert '<p id="offline" role="alert" hidden="">' in page


def test_a_hostile_name_is_text_and_a_dead_process_is_told(tmp_path: Path) -> None:
    with serving(html(BEFORE)) as address:
        page, complaints = browsed(address, tmp_path)
    assert "<title>no answer · streaming · shop</title>" in page
    assert "The process has not answered since " in page
    assert "&lt;img src=x onerror=" in page
    assert "Content Security Policy" not in complaints
