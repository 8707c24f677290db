"""What somebody with the token may do by the status page: copy, replay, pause and resume.

Each request has the token itself: there is no session that another site could use. Copies and
replays are requests in `<prefix>.commands`, as those of the command line are. A pause is one of
this process alone, and ends with it.
"""

from __future__ import annotations

import time
from hmac import compare_digest
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING

import structlog

from connector.errors import ConfigError, ConnectorError, TransientError
from connector.metrics.posts import Answer
from connector.quarantine.replay_request import ask_for_replay
from connector.sink.request import page_visitor
from connector.snapshot.copy_request import ask, require_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.metrics.figures import Figures
    from connector.metrics.posts import Posted
    from connector.settings.sections import Settings

    Action = Callable[[Mapping[str, str]], str]

FOLDER = "/actions/"
_TOKEN = "token"  # noqa: S105 - the name of a field
_WRONG_TOKEN_SECONDS = 1.0
_LOGIN = ("WWW-Authenticate", "Bearer")


class Actions:
    """Answers posts to the paths of actions; any thread may call it."""

    def __init__(self, settings: Settings, figures: Figures) -> None:
        """Read the token; raises ConfigError if that fails."""
        self._settings = settings
        self._figures = figures
        self._token = settings.metrics.read_token()
        self._slowed = Lock()

    @property
    def allowed(self) -> bool:
        """Whether there is a token, so that somebody may act."""
        return self._token is not None

    def by_path(self) -> Mapping[str, Callable[[Posted], Answer]]:
        """Return what answers, by the paths."""
        actions: dict[str, tuple[Action, frozenset[str]]] = {
            "snapshot": (self._snapshot, frozenset({"table", "where"})),
            "replay": (self._replay, frozenset({"table"})),
            "pause": (self._pause, frozenset()),
            "resume": (self._resume, frozenset()),
        }

        def answering(name: str) -> Callable[[Posted], Answer]:
            action, known = actions[name]
            return lambda post: self._answer(name, action, known, post)

        return {f"{FOLDER}{name}": answering(name) for name in actions}

    def _answer(self, name: str, action: Action, known: frozenset[str], post: Posted) -> Answer:
        log = structlog.get_logger()
        form = post.form()
        refusal = self._refusal(post.bearer, form)
        if refusal is not None:
            log.warning("refused on the status page", action=name, by=post.address)
            return refusal
        if isinstance(form, Answer):
            return form
        # The page has one form for all actions, so fields may be empty.
        arguments = {key: value for key, value in form.items() if value and key != _TOKEN}
        unknown = sorted(arguments.keys() - known)
        if unknown:
            names = ", ".join(sorted({_TOKEN, *known}))
            return Answer(HTTPStatus.BAD_REQUEST, f"the fields of {name} are {names}")
        log.info("asked on the status page", action=name, by=post.address, **arguments)
        visitor = page_visitor.set(post.address)
        try:
            said = action(arguments)
        except ConfigError as error:
            return Answer(HTTPStatus.BAD_REQUEST, str(error))
        except TransientError as error:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except ConnectorError as error:
            return Answer(HTTPStatus.CONFLICT, str(error))
        finally:
            page_visitor.reset(visitor)
        if post.bearer is not None:
            return Answer(HTTPStatus.ACCEPTED, said)
        # The browser shows the page again, whose events tell what follows.
        return Answer(HTTPStatus.SEE_OTHER, said, (("Location", "/"),))

    def _refusal(self, bearer: str | None, form: Mapping[str, str] | Answer) -> Answer | None:
        """Refuse who may not act, whatever else is wrong with the request."""
        if self._token is None:
            return Answer(
                HTTPStatus.FORBIDDEN, "nobody may act here: metrics.token is not configured"
            )
        given = bearer
        if given is None:
            # A body that is no form has no token.
            given = "" if isinstance(form, Answer) else form.get(_TOKEN, "")
        if not compare_digest(given.encode(), self._token.encode()):
            if not self._slowed.acquire(blocking=False):
                said = "a wrong token came a moment ago: try again"
                return Answer(HTTPStatus.TOO_MANY_REQUESTS, said, (("Retry-After", "1"),))
            # So that few tokens can be tried.
            try:
                time.sleep(_WRONG_TOKEN_SECONDS)
            finally:
                self._slowed.release()
            return Answer(HTTPStatus.UNAUTHORIZED, "this is not the token", (_LOGIN,))
        return None

    def _snapshot(self, arguments: Mapping[str, str]) -> str:
        where = arguments.get("where", "")
        if where:
            require_condition(where)
        asked = ask(self._settings, [arguments.get("table", "")], where)
        names = ", ".join(".".join(name) for name in asked.tables)
        return f"asked for a copy of {names}, request {asked.offset}"

    def _replay(self, arguments: Mapping[str, str]) -> str:
        name = arguments.get("table", "")
        asked = ask_for_replay(self._settings, name)
        return f"asked for a replay of {name}, request {asked.offset}"

    def _pause(self, arguments: Mapping[str, str]) -> str:
        del arguments
        self._figures.paused = True
        return "the stream will pause after the current transaction"

    def _resume(self, arguments: Mapping[str, str]) -> str:
        del arguments
        self._figures.paused = False
        return "the stream goes on"
