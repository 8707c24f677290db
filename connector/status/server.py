"""The paths of the status: `/` for people, `/status.json` for programs, `/actions/` for both."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from functools import partial
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
    from connector.progress.stream_position import Instance
    from connector.settings.sections import Settings
    from connector.status.facts import Facts
    from connector.status.recent_events import RecentEvents

STATUS_PATH = "/status.json"
# Pages of several browsers are made once in this time.
_KEPT_SECONDS = 0.9
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
    page = partial(_page, acting=actions.allowed)
    pages = {"/": _Kept(live.facts, page).get, STATUS_PATH: _Kept(live.facts, _json).get}
    with server.serving(figures, settings.metrics.listen, pages, actions.by_path()):
        yield


class _Kept:
    """The last answer, and for how long it is current."""

    def __init__(self, facts: Callable[[], Facts], shown: Callable[[Facts], Page]) -> None:
        self._facts = facts
        self._shown = shown
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._made_at = 0.0

    def get(self) -> Page:
        """Return the answer; an old one is made again."""
        with self._lock:
            now = time.monotonic()
            if self._page is None or now - self._made_at > _KEPT_SECONDS:
                self._page = self._shown(self._facts())
                self._made_at = now
            return self._page


def _json(facts: Facts) -> Page:
    return Page("application/json", to_json(facts), (_NOT_KEPT, _NO_SNIFFING))


def _page(facts: Facts, *, acting: bool) -> Page:
    # The template engine is loaded when somebody looks.
    from connector.status.html import html, security_headers  # noqa: PLC0415

    headers = (_NOT_KEPT, _NO_SNIFFING, *security_headers(acting=acting))
    body = html(facts, acting=acting).encode()
    return Page("text/html; charset=utf-8", body, headers)
