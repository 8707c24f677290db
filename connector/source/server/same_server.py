"""Finds the one server of the configured ones that has a UUID: positions belong to its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from connector.errors import SourceUnavailable
from connector.source.server.hosts import candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.progress.server_identity import ServerIdentity
    from connector.settings.sections import SourceSettings


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
