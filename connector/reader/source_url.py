"""A URL becomes the settings of a server.

::

    mysql://user:password@host:3306/?ssl-mode=VERIFY_CA&ssl-ca=/etc/ca.pem

Special characters in user and password are percent-encoded. The options have the names and values
of MySQL's clients. `server-id` is the id of this reader as a replica; the default is random.

https://dev.mysql.com/doc/refman/8.4/en/connecting-using-uri-or-key-value-pairs.html
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import ValidationError

from connector.errors import ConfigError, source_url
from connector.errors.message import Message
from connector.settings.sections import SourceSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMES = ("mysql", "mariadb")
_TLS = {
    "ssl-mode": "mode",
    "ssl-ca": "ca",
    "ssl-cert": "certificate",
    "ssl-key": "key",
    "server-public-key-path": "server_public_key",
    "get-server-public-key": "get_server_public_key",
}
_OPTIONS = {"server-id": "server_id", "connect-timeout": "connect_timeout_seconds"}
_NAMES = {"user": "user", "port": "port", **{key: name for name, key in (_OPTIONS | _TLS).items()}}
# Range of the random ids: far from ids that users choose.
_SERVER_IDS = range(2**31, 2**32)


def source_settings(url: str, *, password: str | None = None) -> SourceSettings:
    """Return the settings of `url`; `password` replaces that of the URL.

    Raises ConfigError; its text never contains the password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        # The text is not shown: it may be part of a password that is not encoded.
        raise ConfigError(source_url.NOT_ENCODED) from error
    if parts.scheme not in _SCHEMES or not host or parts.path not in ("", "/") or parts.fragment:
        raise ConfigError(source_url.FORM)
    values: dict[str, Any] = {
        "host": host,
        "server_id": _SERVER_IDS.start + secrets.randbelow(len(_SERVER_IDS)),
        "password": password if password is not None else unquote(parts.password or ""),
    }
    if port is not None:
        values["port"] = port
    if parts.username:
        values["user"] = unquote(parts.username)
    values |= _options(parts)
    try:
        return SourceSettings(**values)
    except ValidationError as error:
        wrong = [_wrong(problem) for problem in error.errors(include_input=False)]
        if len(wrong) == 1:
            raise ConfigError(source_url.WRONG_OPTION, **wrong[0]) from error
        problems = [Message(source_url.WRONG_OPTION, facts) for facts in wrong]
        raise ConfigError(source_url.WRONG_OPTIONS, problems=problems) from error


def _options(parts: SplitResult) -> dict[str, Any]:
    values: dict[str, Any] = {}
    tls: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name == "ssl-mode":
            tls["mode"] = value.lower()
        elif name in _TLS:
            tls[_TLS[name]] = value
        elif name in _OPTIONS:
            values[_OPTIONS[name]] = value
        else:
            known = [*_TLS, *_OPTIONS]
            raise ConfigError(source_url.UNKNOWN_OPTION, option=name, known=known)
    if tls:
        values["tls"] = tls
    return values


def _wrong(problem: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of what pydantic says of one part of the URL."""
    key = problem["loc"][-1] if problem["loc"] else "url"
    return {"option": _NAMES.get(key, key), "why": problem["msg"]}
