"""The paths of the status: `/` for people, `/status.json` for programs, `/actions/` for both."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from connector.metrics import server
from connector.metrics.http_server import Page
from connector.status.actions import Actions
from connector.status.facts import to_json
from connector.status.live import LiveFacts
from connector.status.mirror import MirrorWatch
from connector.status.samples import Samples
from connector.status.state_report import reporting
from connector.status.summary import Summaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.metrics.figures import Figures
    from connector.metrics.posts import Answer, Posted
    from connector.progress.stream_position import Instance
    from connector.settings.sections import Settings
    from connector.status.facts import Facts
    from connector.status.recent_events import RecentEvents

STATUS_PATH = "/status.json"
# An answer is made once in this time, for all who ask. A browser asks for the page every two
# seconds (page.js), so each of its pages is a new one.
_PAGE_SECONDS = 1.9
_JSON_SECONDS = 0.9
_NOT_KEPT = ("Cache-Control", "no-store")
_NO_SNIFFING = ("X-Content-Type-Options", "nosniff")


@contextmanager
def serving(
    settings: Settings, instance: Instance, figures: Figures, events: RecentEvents
) -> Iterator[None]:
    """Serve figures, health and status at `metrics.listen`, and report to the log, in threads.

    Raises ConfigError if the address cannot be used or the token cannot be read.
    """
    with closing(Samples(figures)) as samples, closing(MirrorWatch(settings.metrics)) as mirror:
        live = LiveFacts(settings, instance, figures, samples, events, mirror)
        samples.start()
        with (
            closing(Summaries(live.facts)) as summaries,
            reporting(live.facts),
            _listening(settings, figures, live),
        ):
            summaries.start()
            yield


@contextmanager
def _listening(settings: Settings, figures: Figures, live: LiveFacts) -> Iterator[None]:
    if settings.metrics.listen is None:
        yield
        return
    actions = Actions(settings, figures)
    page = _Kept(live.facts, partial(_page, acting=actions.allowed), _PAGE_SECONDS)
    pages = {"/": page.get, STATUS_PATH: _Kept(live.facts, _json, _JSON_SECONDS).get}
    by_path = {path: _shown_at_once(act, page) for path, act in actions.by_path().items()}
    with server.serving(figures, settings.metrics.listen, pages, by_path):
        yield


def _shown_at_once(act: Callable[[Posted], Answer], page: _Kept) -> Callable[[Posted], Answer]:
    """Let the page that a browser is sent to show what was asked for."""

    def answer(post: Posted) -> Answer:
        said = act(post)
        if said.status is HTTPStatus.SEE_OTHER:
            page.forget()
        return said

    return answer


class _Kept:
    """The last answer, and for how long it is current."""

    def __init__(
        self, facts: Callable[[], Facts], shown: Callable[[Facts], Page], seconds: float
    ) -> None:
        self._facts = facts
        self._shown = shown
        self._seconds = seconds
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._made_at = 0.0

    def get(self) -> Page:
        """Return the answer; an old one is made again."""
        with self._lock:
            now = time.monotonic()
            if self._page is None or now - self._made_at > self._seconds:
                self._page = self._shown(self._facts())
                self._made_at = now
            return self._page

    def forget(self) -> None:
        """Make the next answer again."""
        with self._lock:
            self._page = None


def _json(facts: Facts) -> Page:
    return Page("application/json", to_json(facts), (_NOT_KEPT, _NO_SNIFFING))


def _page(facts: Facts, *, acting: bool) -> Page:
    # The template engine is loaded when somebody looks.
    from connector.status.html import html, security_headers  # noqa: PLC0415

    headers = (_NOT_KEPT, _NO_SNIFFING, *security_headers(acting=acting))
    body = html(facts, acting=acting).encode()
    return Page("text/html; charset=utf-8", body, headers)
