"""The page of many pipelines: `/` for people, `/status.json` for programs, both read only.

The processes are asked while a person looks, once in two seconds at most, however many look. So a
page that nobody looks at costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from connector.foundation.http_server import Endpoints, serving
from connector.stream.status import server
from connector.stream.status.model import Level
from connector.stream.status.page import parts_of, security_headers
from connector.stream.status.pipeline_list import PipelineList, to_json

# With more rows, the page would be slow; `/status.json` has all.
_ROWS_MAX = 500


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
    newest = server.Kept(look, server.PAGE_SECONDS)
    pages = {
        "/": lambda _: server.html_page(list_html(newest.get()), security_headers()),
        server.STATUS_PATH: lambda _: server.json_page(to_json(newest.get())),
    }
    with serving(Endpoints(_OwnFigures(), _well, _well, pages), listen):
        yield


class _OwnFigures(Collector):
    """Nothing but what `serving` adds: memory and processor time of the process."""

    def collect(self) -> Iterable[Metric]:
        return ()


def _well() -> tuple[bool, str]:
    # An answer is all that there is to tell.
    return True, "it answers"
