"""The page of many pipelines: `/` for people, `/status.json` for programs, both read only.

The processes are asked while a person looks, once in two seconds at most, however many look. So a
page that nobody looks at costs nothing.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from connector.foundation.http_server import Endpoints, Page, serving
from connector.stream.status.model import Level
from connector.stream.status.page import parts_of, security_headers
from connector.stream.status.pipeline_list import PipelineList, to_json
from connector.stream.status.server import STATUS_PATH

# A browser asks every two seconds (page.js), so each of its pages is a new one.
_KEPT_SECONDS = 1.9
# With more rows, the page would be slow; `/status.json` has all.
_ROWS_MAX = 500
_HEADERS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))


def list_html(listed: PipelineList) -> str:
    """Return the page."""
    parts = parts_of("pipelines.html")
    return parts.template.render(
        listed=listed,
        counts=listed.counts(),
        sick=sum(one.level is not Level.GOOD for one in listed.pipelines),
        shown=listed.pipelines[:_ROWS_MAX],
        more=max(0, len(listed.pipelines) - _ROWS_MAX),
        style=parts.style,
        script=parts.script,
    )


@contextmanager
def serving_list(listen: str, look: Callable[[], PipelineList]) -> Iterator[None]:
    """Serve what `look` returns at http://`listen`, in threads.

    Raises ConfigError if the address cannot be used.
    """
    newest = _Newest(look)
    pages = {"/": lambda: _page(newest.get()), STATUS_PATH: lambda: _json(newest.get())}
    with serving(Endpoints(_OwnFigures(), _well, _well, pages), listen):
        yield


class _Newest:
    """The last list; an old one is made again."""

    def __init__(self, look: Callable[[], PipelineList]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._listed: PipelineList | None = None
        self._made_at = 0.0

    def get(self) -> PipelineList:
        """Return it; others who ask meanwhile wait for the same one."""
        with self._lock:
            if self._listed is None or time.monotonic() - self._made_at > _KEPT_SECONDS:
                self._listed = self._look()
                self._made_at = time.monotonic()
            return self._listed


class _OwnFigures(Collector):
    """Nothing but what `serving` adds: memory and processor time of the process."""

    def collect(self) -> Iterable[Metric]:
        return ()


def _well() -> tuple[bool, str]:
    # An answer is all that there is to tell.
    return True, "it answers"


def _page(listed: PipelineList) -> Page:
    headers = (*_HEADERS, *security_headers())
    return Page("text/html; charset=utf-8", list_html(listed).encode(), headers)


def _json(listed: PipelineList) -> Page:
    return Page("application/json", to_json(listed), _HEADERS)
