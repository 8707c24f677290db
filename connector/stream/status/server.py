"""The paths of the status: `/` for people, `/status.json` for programs, `/actions/` for both.

A client with the token may copy, replay, pause and resume. Each request has the token itself: there
is no session that another site could use. Copies and replays are requests in `<prefix>.commands`,
like those of the command line. A pause is for this process alone, and ends with it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hmac import compare_digest
from http import HTTPStatus
from threading import Lock
from typing import Generic, TypeVar

import structlog

from connector.foundation.errors import ConfigError, ConnectorError, TransientError
from connector.foundation.http_server import Page, PostRequest, PostResponse
from connector.foundation.settings.sections import Settings
from connector.stream.commands.requests import page_visitor
from connector.stream.metrics import prometheus
from connector.stream.metrics.control import Control
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.quarantine.topics import request_replay
from connector.stream.snapshot.copy_requests import request_copies, require_condition
from connector.stream.status.model import PipelineStatus, to_json

Action = Callable[[Mapping[str, str]], str]


FOLDER = "/actions/"
_TOKEN = "token"  # noqa: S105 - the name of a field
_WRONG_TOKEN_SECONDS = 1.0
_LOGIN = ("WWW-Authenticate", "Bearer")


class Actions:
    """Answers posts to the paths of actions; any thread may call it."""

    def __init__(self, settings: Settings, control: Control) -> None:
        """Read the token; raises ConfigError if that fails."""
        self._settings = settings
        self._control = control
        self._token = settings.metrics.read_token()
        self._slowed = Lock()

    @property
    def allowed(self) -> bool:
        """Whether there is a token, so that somebody may act."""
        return self._token is not None

    def by_path(self) -> Mapping[str, Callable[[PostRequest], PostResponse]]:
        actions: dict[str, tuple[Action, frozenset[str]]] = {
            "snapshot": (self._snapshot, frozenset({"table", "where"})),
            "replay": (self._replay, frozenset({"table"})),
            "pause": (self._pause, frozenset()),
            "resume": (self._resume, frozenset()),
        }

        def answering(name: str) -> Callable[[PostRequest], PostResponse]:
            action, known = actions[name]
            return lambda post: self._answer(name, action, known, post)

        return {f"{FOLDER}{name}": answering(name) for name in actions}

    def _answer(
        self, name: str, action: Action, known: frozenset[str], post: PostRequest
    ) -> PostResponse:
        log = structlog.get_logger()
        form = post.form()
        refusal = self._refusal(post.bearer, form)
        if refusal is not None:
            log.warning("refused on the status page", action=name, by=post.address)
            return refusal
        if isinstance(form, PostResponse):
            return form
        # The page has one form for all actions, so fields may be empty.
        arguments = {key: value for key, value in form.items() if value and key != _TOKEN}
        unknown = sorted(arguments.keys() - known)
        if unknown:
            names = ", ".join(sorted({_TOKEN, *known}))
            return PostResponse(HTTPStatus.BAD_REQUEST, f"the fields of {name} are {names}")
        log.info("asked on the status page", action=name, by=post.address, **arguments)
        visitor = page_visitor.set(post.address)
        try:
            answer = action(arguments)
        except ConfigError as error:
            return PostResponse(HTTPStatus.BAD_REQUEST, str(error))
        except TransientError as error:
            return PostResponse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except ConnectorError as error:
            return PostResponse(HTTPStatus.CONFLICT, str(error))
        finally:
            page_visitor.reset(visitor)
        if post.bearer is not None:
            return PostResponse(HTTPStatus.ACCEPTED, answer)
        # The browser shows the page again, whose events tell what follows.
        return PostResponse(HTTPStatus.SEE_OTHER, answer, (("Location", "/"),))

    def _refusal(
        self, bearer: str | None, form: Mapping[str, str] | PostResponse
    ) -> PostResponse | None:
        """Refuse who may not act, whatever else is wrong with the request."""
        if self._token is None:
            return PostResponse(
                HTTPStatus.FORBIDDEN, "nobody may act here: metrics.token is not configured"
            )
        given = bearer
        if given is None:
            # A body that is no form has no token.
            given = "" if isinstance(form, PostResponse) else form.get(_TOKEN, "")
        if not compare_digest(given.encode(), self._token.encode()):
            if not self._slowed.acquire(blocking=False):
                reason = "a wrong token came a moment ago: try again"
                return PostResponse(HTTPStatus.TOO_MANY_REQUESTS, reason, (("Retry-After", "1"),))
            # So that few tokens can be tried.
            try:
                time.sleep(_WRONG_TOKEN_SECONDS)
            finally:
                self._slowed.release()
            return PostResponse(HTTPStatus.UNAUTHORIZED, "this is not the token", (_LOGIN,))
        return None

    def _snapshot(self, arguments: Mapping[str, str]) -> str:
        where = arguments.get("where", "")
        if where:
            require_condition(where)
        asked = request_copies(self._settings, [arguments.get("table", "")], where)
        names = ", ".join(".".join(name) for name in asked.tables)
        return f"asked for a copy of {names}, request {asked.offset}"

    def _replay(self, arguments: Mapping[str, str]) -> str:
        name = arguments.get("table", "")
        asked = request_replay(self._settings, name)
        return f"asked for a replay of {name}, request {asked.offset}"

    def _pause(self, arguments: Mapping[str, str]) -> str:
        del arguments
        self._control.pause(paused=True)
        return "the stream will pause after the current transaction"

    def _resume(self, arguments: Mapping[str, str]) -> str:
        del arguments
        self._control.pause(paused=False)
        return "the stream goes on"


STATUS_PATH = "/status.json"
# An answer is made once in this time, for all who ask. A browser asks for the page every two
# seconds (page.js), so each of its pages is a new one.
PAGE_SECONDS = 1.9
_JSON_SECONDS = 0.9
# Views that are kept: few people look at the same time.
_VIEWS_MAX = 16
_Made = TypeVar("_Made")
_NOT_KEPT = ("Cache-Control", "no-store")
_NO_SNIFFING = ("X-Content-Type-Options", "nosniff")


@contextmanager
def serving(
    settings: Settings,
    listen: str,
    metrics: PipelineMetrics,
    facts: Callable[[], PipelineStatus],
) -> Iterator[None]:
    """Serve metrics, health and the status of `facts` at http://`listen`, in threads.

    Raises ConfigError if the address cannot be used or the token cannot be read.
    """
    actions = Actions(settings, metrics.control)
    views = _Views(facts, acting=actions.allowed)
    document = Kept(lambda: json_page(to_json(facts())), _JSON_SECONDS)
    pages: dict[str, Callable[[str], Page]] = {
        "/": views.get,
        STATUS_PATH: lambda _: document.get(),
    }
    by_path = {path: _shown_at_once(act, views) for path, act in actions.by_path().items()}
    with prometheus.serving(metrics, listen, pages, by_path):
        yield


class Kept(Generic[_Made]):
    """The last answer, and for how long it is current."""

    def __init__(self, make: Callable[[], _Made], seconds: float) -> None:
        """Make it for the first request, and again for one that comes `seconds` later."""
        self._make = make
        self._seconds = seconds
        self._lock = threading.Lock()
        self._made: _Made | None = None
        self._made_at = 0.0

    def get(self) -> _Made:
        """Return it; requests that come while it is made wait for the same one."""
        with self._lock:
            if self._made is None or time.monotonic() - self._made_at > self._seconds:
                self._made = self._make()
                self._made_at = time.monotonic()
            return self._made

    def forget(self) -> None:
        """Make it again for the next request."""
        with self._lock:
            self._made = None


class _Views:
    """The page as it was made for each view that somebody has asked for."""

    def __init__(self, facts: Callable[[], PipelineStatus], *, acting: bool) -> None:
        self._facts = Kept(facts, PAGE_SECONDS)
        self._acting = acting
        self._lock = threading.Lock()
        self._of: PipelineStatus | None = None
        self._made: dict[str, Page] = {}

    def get(self, query: str) -> Page:
        """Return the page for the query of an address; requests for the same one share it."""
        with self._lock:
            facts = self._facts.get()
            if facts is not self._of or len(self._made) >= _VIEWS_MAX:
                self._of = facts
                self._made.clear()
            if query not in self._made:
                self._made[query] = _page(facts, query, acting=self._acting)
            return self._made[query]

    def forget(self) -> None:
        """Make each again for the next request."""
        self._facts.forget()


def _shown_at_once(
    act: Callable[[PostRequest], PostResponse], views: _Views
) -> Callable[[PostRequest], PostResponse]:
    """Let the page that a browser is sent to show what was asked for."""

    def answer(post: PostRequest) -> PostResponse:
        response = act(post)
        if response.status is HTTPStatus.SEE_OTHER:
            views.forget()
        return response

    return answer


def json_page(document: bytes) -> Page:
    """Return the answer to a program."""
    return Page("application/json", document, (_NOT_KEPT, _NO_SNIFFING))


def html_page(text: str, security: Iterable[tuple[str, str]]) -> Page:
    """Return the answer to a browser, with the headers for its `security`."""
    headers = (_NOT_KEPT, _NO_SNIFFING, *security)
    return Page("text/html; charset=utf-8", text.encode(), headers)


def _page(facts: PipelineStatus, query: str, *, acting: bool) -> Page:
    # The template engine is loaded when somebody looks.
    from connector.stream.status import page  # noqa: PLC0415

    text = page.html(facts, page.PageView.of(query), acting=acting)
    return html_page(text, page.security_headers(acting=acting))
