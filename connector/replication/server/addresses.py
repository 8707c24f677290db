"""The servers that a user names: by a URL, or by `source.host` and `source.failover_hosts`.

::

    mysql://user:password@host:3306/?ssl-mode=VERIFY_CA&ssl-ca=/etc/ca.pem

Special characters in user and password are percent-encoded. The options have the names and values
of MySQL's clients. `server-id` is the id of this reader as a replica; the default is random.

The configured servers are asked in their order. `open_same_server` finds the one that has a UUID,
because a position belongs to the log of one server.

https://dev.mysql.com/doc/refman/8.4/en/connecting-using-uri-or-key-value-pairs.html
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from pydantic import ValidationError

from connector.foundation.errors import ConfigError, SourceUnavailable
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import SourceSettings
from connector.replication import server_errors
from connector.replication.start_point import ServerIdentity


def candidates(settings: SourceSettings, latest: str = "") -> list[SourceSettings]:
    """Return the settings of each server that may be read, the one to ask first at the front.

    `latest` is the address of the server that was read last, in the form of `address_of`. It stays
    the first, because each change of the server begins a new epoch. If the configuration no longer
    names it, it is left out. A host without a port has `source.port`.
    """
    servers = [settings]
    for text in settings.failover_hosts:
        host, port = _host_and_port(text, settings.port)
        other = settings.model_copy(update={"host": host, "port": port})
        if address_of(other) not in {address_of(known) for known in servers}:
            servers.append(other)
    servers.sort(key=lambda candidate: address_of(candidate) != latest)
    return servers


def address_of(settings: SourceSettings) -> str:
    """Return HOST:PORT."""
    return f"{settings.host}:{settings.port}"


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Split HOST, HOST:PORT, [IPV6] or [IPV6]:PORT."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    return host, int(port) if port else default_port


class Session(Protocol):
    """A session on a server."""

    @property
    def identity(self) -> ServerIdentity:
        """Who it is."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


Opened = TypeVar("Opened", bound=Session)


def open_same_server(
    settings: SourceSettings,
    latest: str,
    server_uuid: str,
    connect: Callable[[SourceSettings], Opened],
) -> Opened | None:
    """Return a session on the server with `server_uuid`; None if none of the servers is it.

    `latest` is the address at which it was last read. Raises SourceUnavailable if one of the
    servers cannot be reached and none of the others is it, and what else `connect` raises.
    """
    unreachable: SourceUnavailable | None = None
    for candidate in candidates(settings, latest):
        try:
            session = connect(candidate)
        except SourceUnavailable as error:
            unreachable = unreachable or error
            continue
        if session.identity.server_uuid == server_uuid:
            return session
        session.close()
    if unreachable is not None:
        raise unreachable
    return None


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


def split_path(url: str) -> tuple[str, str]:
    """Return the URL of a server without its path, and the path, decoded.

    Raises ConfigError if the path may be a part of a password that is not encoded.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(server_errors.NOT_ENCODED) from error
    path = parts.path.strip("/")
    if "@" in path or "/" in path:
        raise ConfigError(server_errors.NOT_ENCODED)
    return urlunsplit(parts._replace(path="")), unquote(path)


def source_settings(url: str, *, password: str | None = None) -> SourceSettings:
    """Return the settings of `url`; `password` replaces that of the URL.

    Raises ConfigError; its text never contains the password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        # The text is not shown: it may be part of a password that is not encoded.
        raise ConfigError(server_errors.NOT_ENCODED) from error
    if parts.scheme not in _SCHEMES or not host or parts.path not in ("", "/") or parts.fragment:
        raise ConfigError(server_errors.FORM)
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
            raise ConfigError(server_errors.WRONG_OPTION, **wrong[0]) from error
        problems = [Message(server_errors.WRONG_OPTION, facts) for facts in wrong]
        raise ConfigError(server_errors.WRONG_OPTIONS, problems=problems) from error


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
        elif "@" in parts.query:
            # A password with a question mark that is not encoded ends here.
            raise ConfigError(server_errors.NOT_ENCODED)
        else:
            known = [*_TLS, *_OPTIONS]
            raise ConfigError(server_errors.UNKNOWN_OPTION, option=name, known=known)
    if tls:
        values["tls"] = tls
    return values


def _wrong(problem: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of what pydantic says of one part of the URL."""
    key = problem["loc"][-1] if problem["loc"] else "url"
    return {"option": _NAMES.get(key, key), "why": problem["msg"]}
