"""Speaks WebHDFS, the REST interface of HDFS, with simple authentication: a user says its name.

A request about a file's bytes is sent on by the namenode to a datanode. With several namenodes, the
active one answers, and the others say that they are standby.

https://hadoop.apache.org/docs/stable/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import orjson
import urllib3
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urllib3 import BaseHTTPResponse

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 60.0
_ATTEMPTS: Final = 4
_REDIRECT: Final = 307
_ERRORS: Final = 400
_UNAUTHORIZED: Final = 401
# What a namenode says that another one, or a later request, may do better.
_ELSEWHERE: Final = frozenset({"StandbyException", "RetriableException"})


class HdfsError(Exception):
    """An answer that is an error; `kind` is the exception of Java that HDFS names."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind = kind
        self.said = said


class UnavailableError(HdfsError):
    """No namenode has answered, or none of them is active."""


class LoginError(HdfsError):
    """The server wants more than a name."""


@dataclass(frozen=True, slots=True)
class WebHdfs:
    """The namenodes of a file system, and the user that asks them."""

    scheme: str  # http or https
    hosts: tuple[str, ...]  # HOST:PORT
    user: str

    def call(
        self,
        method: str,
        path: str,
        op: str,
        asked: Mapping[str, str] = _NOTHING,
        body: bytes | memoryview | None = None,
    ) -> bytes:
        """Return the answer to a request about `path`, which begins with a slash.

        Each request can be repeated. Raises HdfsError.
        """
        retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random(0.1, 1),
            reraise=True,
        )
        query = urlencode({"op": op, "user.name": self.user} | dict(asked))
        target = f"/webhdfs/v1{quote(path)}?{query}"
        answer: bytes = retrying(self._call_any, method, target, body)
        return answer

    def ask(self, method: str, path: str, op: str) -> dict[str, Any]:
        """Return the answer to a request as JSON; raises HdfsError."""
        answer = self.call(method, path, op)
        document: dict[str, Any] = orjson.loads(answer) if answer else {}
        return document

    def _call_any(self, method: str, target: str, body: bytes | memoryview | None) -> bytes:
        """Ask one namenode after the other."""
        errors = []
        for host in self.hosts:
            try:
                return self._call(method, f"{self.scheme}://{host}{target}", body)
            except UnavailableError as error:
                errors.append(error)
        raise errors[0]

    def _call(self, method: str, url: str, body: bytes | memoryview | None) -> bytes:
        try:
            answer = _pool().request(method, url, redirect=False)
            if answer.status == _REDIRECT:
                # The namenode must not get the content: it does not read it.
                place = answer.headers["Location"]
                kind = {"Content-Type": "application/octet-stream"}
                content = None if body is None else bytes(body)
                answer = _pool().request(method, place, body=content, headers=kind, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise UnavailableError(type(error).__name__, str(error)) from error
        if answer.status >= _ERRORS:
            raise _error(answer)
        return answer.data


def _error(answer: BaseHTTPResponse) -> HdfsError:
    if answer.status == _UNAUTHORIZED:
        return LoginError("Unauthorized", answer.headers.get("WWW-Authenticate", ""))
    try:
        found = orjson.loads(answer.data)["RemoteException"]
        kind, message = str(found["exception"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = f"HTTP {answer.status}", answer.reason or ""
    # A stack trace follows.
    said = message.partition("\n")[0]
    return UnavailableError(kind, said) if kind in _ELSEWHERE else HdfsError(kind, said)


@cache
def _pool() -> urllib3.PoolManager:
    """Return the connections of this process; threads share them."""
    timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    return urllib3.PoolManager(num_pools=64, maxsize=64, retries=False, timeout=timeout)
