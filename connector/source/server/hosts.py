"""`source.host` and `source.failover_hosts` become the servers to ask, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.settings.sections import SourceSettings


def candidates(settings: SourceSettings, latest: str = "") -> list[SourceSettings]:
    """Return the settings of each server that may be read, the one to ask first at the front.

    `latest` is the address of the server that was read last, in the form of `address_of`. It stays
    the first, because each change of the server begins a new epoch. If the configuration no longer
    names it, it is left out. A host without a port has `source.port`.
    """
    found = [settings]
    for text in settings.failover_hosts:
        host, port = _host_and_port(text, settings.port)
        other = settings.model_copy(update={"host": host, "port": port})
        if address_of(other) not in {address_of(known) for known in found}:
            found.append(other)
    found.sort(key=lambda candidate: address_of(candidate) != latest)
    return found


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
