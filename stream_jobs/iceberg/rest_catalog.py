"""A client of Iceberg REST catalogs, with the requests that a publisher needs.

    catalog = RestCatalog(CatalogAccess("https://catalog.example", "main", login))
    catalog.load(name)        a table as the catalog has it; None if there is none
    catalog.commit(changes)   updates of tables: all of them or none

The catalog writes `metadata.json` of its tables; all other files are ours. A change whose outcome
is unknown is not sent a second time: who asks for it loads the table, and sees.

https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml
"""

import threading
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode
from urllib.request import Request, build_opener

import orjson

from connector.foundation.errors.code import ErrorCode
from connector.foundation.http_requests import NoAnswer, ask
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import catalog_errors
from stream_jobs.iceberg.catalog_answer import Answer
from stream_jobs.iceberg.catalog_errors import UnsignedError
from stream_jobs.iceberg.catalog_login import CatalogAccess
from stream_jobs.iceberg.metadata import TableMetadata

Change = dict[str, Any]

_SECONDS: Final = 30.0
# The metadata of a table with all of its snapshots.
_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
_JSON: Final = "application/json"
# Attempts, of which the catalog has certainly done none; and the pause before the first of them.
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.2
_LOGIN: Final = (HTTPStatus.UNAUTHORIZED, 419)
# A token that does not permit something is read once more, but not for each of many tables.
_REREAD_SECONDS: Final = 30.0
_UNDONE: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_LATER: Final = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
# What a catalog answers to a request that it does not know.
_UNKNOWN: Final = (
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.NOT_IMPLEMENTED,
)
# What one answers that makes tables only at once.
_UNSTAGED: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.NOT_IMPLEMENTED,
)
_TRANSACTIONS: Final = "/transactions/commit"
# What is staged at the start of the job, and never made.
_TRIAL: Final = "binlog_connector_trial"
_TRIAL_COLUMN: Final = {"id": 1, "name": "id", "required": False, "type": "long"}


class CatalogName(NamedTuple):
    """The name of a table in a catalog."""

    namespace: tuple[str, ...]
    table: str

    def __str__(self) -> str:
        """Return it as people write it."""
        return ".".join((*self.namespace, self.table))

    @property
    def identifier(self) -> dict[str, Any]:
        """The name as the protocol has it."""
        return {"namespace": list(self.namespace), "name": self.table}


class CatalogAway(MirrorError):
    """The catalog has not answered, or not said whether it has done something."""


class CatalogConflict(MirrorError):
    """Something is not, or no longer, as the request expects it."""


class RestCatalog:
    """A catalog; threads may share it."""

    def __init__(self, access: CatalogAccess) -> None:
        """Nothing is asked before the first call."""
        self.url = access.url
        self._access = access
        self._opener = build_opener()
        self._lock = threading.Lock()
        # Some catalogs fail if two are made at the same time.
        self._namespaces = threading.Lock()
        self._base: str | None = None
        self._token: str | None = None
        self._expires_at = float("inf")
        self._reread_at = float("-inf")
        # Whether several tables can be committed in one request.
        self.is_joint = True

    def verify(self) -> None:
        """Ask for what can be asked without a table.

        Raises MirrorError if the catalog is away, or refuses the login or the warehouse.
        """
        self._get("/namespaces")

    def verify_namespace(self, levels: tuple[str, ...]) -> None:
        """Try to make a table of format version 3, which no reader sees; its namespace stays.

        A catalog that cannot stage tables is not tried any further. Raises MirrorError if the
        catalog is away, or refuses.
        """
        name = CatalogName(levels, _TRIAL)
        if self.stage(name, _trial(3)) is None and self.stage(name, _trial(2)) is not None:
            path = f"{_namespace(levels)}/tables"
            raise self._error(catalog_errors.NO_VERSION_3, "POST", path)

    def load(self, name: CatalogName) -> TableMetadata | None:
        """Return a table as the catalog has it; None if there is none. Raises MirrorError."""
        answer = self._ask("GET", _path(name))
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        return self._metadata(answer, "GET", _path(name))

    def stage(self, name: CatalogName, wanted: Mapping[str, Any]) -> TableMetadata | None:
        """Return what the catalog would make of a new table; None if it does not say before.

        Nothing is made but its namespace. Raises MirrorError.
        """
        path, answer = self._new_table(name, {**wanted, "stage-create": True})
        if answer.status in _UNSTAGED and self._refusal(answer) is None:
            return None
        return self._metadata(answer, "POST", path)

    def create(self, name: CatalogName, wanted: Mapping[str, Any]) -> TableMetadata:
        """Make a table, which readers see; return it. Raises MirrorError."""
        path, answer = self._new_table(name, {**wanted, "stage-create": False})
        return self._metadata(answer, "POST", path)

    def _new_table(self, name: CatalogName, wanted: Mapping[str, Any]) -> tuple[str, Answer]:
        path, body = f"{_namespace(name.namespace)}/tables", {"name": name.table, **wanted}
        answer = self._ask("POST", path, body)
        if answer.status == HTTPStatus.NOT_FOUND:
            with self._namespaces:
                self._make_namespace(name.namespace)
            answer = self._ask("POST", path, body)
        return path, answer

    def commit(self, changes: Sequence[Change]) -> None:
        """Commit changes of tables: all or none, as far as the catalog keeps this promise.

        Raises CatalogConflict if a table has changed, CatalogAway if it is not known whether they
        are committed, and MirrorError.
        """
        if len(changes) == 1:
            own = changes[0]["identifier"]
            path = _path(CatalogName(tuple(own["namespace"]), own["name"]))
            self._done(self._ask("POST", path, changes[0]), "POST", path)
            return
        answer = self._ask("POST", _TRANSACTIONS, {"table-changes": list(changes)})
        if answer.status in _UNKNOWN:
            self.is_joint = False
        self._done(answer, "POST", _TRANSACTIONS)

    def drop(self, name: CatalogName) -> None:
        """Remove a table from the catalog; its files stay. Raises MirrorError."""
        path = f"{_path(name)}?purgeRequested=false"
        answer = self._ask("DELETE", path)
        if answer.status != HTTPStatus.NOT_FOUND:
            self._done(answer, "DELETE", path)

    def _make_namespace(self, levels: tuple[str, ...]) -> None:
        for count in range(1, len(levels) + 1):
            answer = self._ask("POST", "/namespaces", {"namespace": list(levels[:count])})
            if answer.status != HTTPStatus.CONFLICT:
                self._done(answer, "POST", "/namespaces")

    def _metadata(self, answer: Answer, method: str, path: str) -> TableMetadata:
        self._done(answer, method, path)
        document = answer.document
        known = document.get("metadata") if isinstance(document, dict) else None
        if not isinstance(known, dict):
            raise self._error(catalog_errors.NO_DOCUMENT, method, path)
        metadata: TableMetadata = known
        return metadata

    def _get(self, path: str) -> Answer:
        answer = self._ask("GET", path)
        self._done(answer, "GET", path)
        return answer

    def _done(self, answer: Answer, method: str, path: str) -> None:
        """Raise the error that an answer is."""
        if answer.is_done:
            return
        status, doing = answer.status, f"{method} {path}"
        facts: dict[str, Any] = {"catalog": self.url, "doing": doing, "why": answer.said}
        refusal = self._refusal(answer)
        if refusal is not None:
            raise MirrorError(refusal, **facts)
        if status in _LOGIN:
            raise MirrorError(catalog_errors.LOGIN, **facts)
        if status == HTTPStatus.FORBIDDEN:
            raise MirrorError(catalog_errors.RIGHTS, **facts)
        if status == HTTPStatus.CONFLICT:
            raise CatalogConflict(catalog_errors.CONFLICT, **facts)
        if status in _LATER or (
            status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in _UNKNOWN
        ):
            raise CatalogAway(catalog_errors.AWAY, **facts)
        said = answer.said
        raise MirrorError(catalog_errors.SAID, catalog=self.url, doing=doing, said=said)

    def _error(self, code: Any, method: str, path: str) -> MirrorError:
        return MirrorError(code, catalog=self.url, doing=f"{method} {path}")

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Return the answer about a path below that of the warehouse."""
        return self._send(method, f"{self._configured()}{path}", path, body)

    def _refusal(self, answer: Answer) -> ErrorCode | None:
        """Return how an answer refuses a signature; None if it does not."""
        if self._access.signer is None or answer.is_done:
            return None
        return self._access.signer.refusal(answer.text)

    def _configured(self) -> str:
        """Return the URL of the warehouse, for which the catalog is asked once."""
        if self._base is not None:
            return self._base
        warehouse = self._access.warehouse
        path = "/v1/config" + (
            f"?{urlencode({'warehouse': warehouse}, quote_via=quote)}" if warehouse else ""
        )
        answer = self._send("GET", f"{self.url}{path}", path, None)
        self._done(answer, "GET", path)
        document = answer.document
        if not isinstance(document, dict) or not ({"defaults", "overrides"} & document.keys()):
            raise self._error(catalog_errors.NO_DOCUMENT, "GET", path)
        given = (document.get("defaults") or {}) | (document.get("overrides") or {})
        url, prefix = str(given.get("uri") or self.url).rstrip("/"), str(given.get("prefix") or "")
        endpoints = document.get("endpoints")
        if endpoints is not None:
            self.is_joint = any(str(each).endswith(_TRANSACTIONS) for each in endpoints)
        # It may be encoded, as that of S3 Tables is.
        self._base = f"{url}/v1" + (f"/{quote(prefix, safe='/:@%')}" if prefix else "")
        return self._base

    def _send(self, method: str, url: str, path: str, body: Any) -> Answer:
        """Send a request, and once more with another login if the catalog refuses this one."""
        content, token = None if body is None else orjson.dumps(body), self._token
        answer = self._attempted(method, url, path, content)
        if self._is_renewed(answer, token):
            answer = self._attempted(method, url, path, content)
        return answer

    def _is_renewed(self, answer: Answer, token: str | None) -> bool:
        """Return whether an answer refuses the login, and another one is tried: it may have ended.

        What is known of it is forgotten. `token` was known before the request.
        """
        if self._access.signer is not None:
            if self._refusal(answer) in (None, catalog_errors.CLOCK):
                return False
            self._access.signer.renew()
            return True
        if answer.status == HTTPStatus.FORBIDDEN:
            return token is not None and self._is_reread(token)
        if answer.status not in _LOGIN or not self._access.login.is_given:
            return False
        with self._lock:
            self._token = None
        return True

    def _is_reread(self, token: str) -> bool:
        """Return whether file or command have another token now.

        To some catalogs, an account whose token has ended is one without rights.
        """
        login = self._access.login
        if not (login.token_file or login.token_command):
            return False
        with self._lock:
            at = time.monotonic()
            if self._token == token and at >= self._reread_at + _REREAD_SECONDS:
                self._token, self._reread_at = login.read_token(self.url), at
            return self._token != token

    def _attempted(self, method: str, url: str, path: str, content: bytes | None) -> Answer:
        """Send a request, and again while the catalog has certainly not begun with it."""
        attempt = 1
        while True:
            answer = self._sent_once(method, url, path, content)
            if answer.status not in _UNDONE or attempt == _ATTEMPTS:
                return answer
            time.sleep(_PAUSE_SECONDS * 2**attempt)
            attempt += 1

    def _sent_once(self, method: str, url: str, path: str, content: bytes | None) -> Answer:
        headers = {"Accept": _JSON, "Content-Type": _JSON}
        # The setting is checked; a catalog may name another URL of the same kinds.
        request = Request(url, content, headers, method=method)  # noqa: S310
        identity = self._identity(method, url, path, content)
        return self._open(request, f"{method} {path}", identity)

    def _identity(
        self, method: str, url: str, path: str, content: bytes | None
    ) -> Mapping[str, str]:
        if self._access.signer is None:
            token = self._bearer()
            return {"Authorization": f"Bearer {token}"} if token else {}
        try:
            return self._access.signer.signed(method, url, _JSON, content)
        except UnsignedError as error:
            facts = {"catalog": self.url, "doing": f"{method} {path}", "why": str(error)}
            kind = CatalogAway if error.may_pass else MirrorError
            raise kind(catalog_errors.CREDENTIALS, **facts) from error

    def _open(
        self, request: Request, doing: str, identity: Mapping[str, str] = MappingProxyType({})
    ) -> Answer:
        try:
            status, content = ask(self._opener, request, identity, _SECONDS, _ANSWER_BYTES_MAX)
        except NoAnswer as error:
            raise CatalogAway(
                catalog_errors.AWAY, catalog=self.url, doing=doing, why=str(error)
            ) from error
        return Answer.of(status, content)

    def _bearer(self) -> str:
        """Return the token; ask for one if there is none that is valid."""
        with self._lock:
            if self._token is None or time.monotonic() >= self._expires_at:
                self._token, self._expires_at = self._new_token()
            return self._token

    def _new_token(self) -> tuple[str, float]:
        login = self._access.login
        if not login.client_id:
            return login.read_token(self.url), float("inf")
        url = login.token_url or f"{self.url}/v1/oauth/tokens"
        form = {
            "grant_type": "client_credentials",
            "client_id": login.client_id,
            "client_secret": login.read_client_secret(self.url),
            "scope": login.scope,
        }
        content = urlencode(form).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        doing = f"POST {url}"
        answer = self._open(Request(url, content, kind), doing)  # noqa: S310 - as above
        facts = answer.document if isinstance(answer.document, dict) else {}
        token = facts.get("access_token")
        if answer.status == HTTPStatus.BAD_REQUEST:
            # The answer of OAuth2 to a wrong login.
            raise MirrorError(catalog_errors.LOGIN, catalog=self.url, doing=doing, why=answer.said)
        self._done(answer, "POST", url)
        if not isinstance(token, str):
            raise self._error(catalog_errors.NO_DOCUMENT, "POST", url)
        lasts = facts.get("expires_in")
        # Before it expires, so that it is valid while a request is on its way.
        seconds = lasts * 0.8 if isinstance(lasts, (int, float)) else float("inf")
        return token, time.monotonic() + seconds


def _trial(version: int) -> dict[str, Any]:
    """Return a table to stage, of a format version."""
    schema = {"type": "struct", "schema-id": 0, "fields": [_TRIAL_COLUMN]}
    return {"schema": schema, "properties": {"format-version": str(version)}}


def _namespace(levels: tuple[str, ...]) -> str:
    # The separator of levels, as all catalogs know it.
    return "/namespaces/" + "%1F".join(quote(level, safe="") for level in levels)


def _path(name: CatalogName) -> str:
    return f"{_namespace(name.namespace)}/tables/{quote(name.table, safe='')}"
