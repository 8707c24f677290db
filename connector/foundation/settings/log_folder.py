"""A folder in `kafka.bootstrap_servers`, as `file:///var/lib/cdc/log`: it has the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from connector.foundation.settings import settings_errors
from connector.foundation.settings.credentials import KafkaLogin
from connector.foundation.settings.file_settings import UnfitValueError

_SCHEME: Final = "file"


def is_folder(address: str) -> bool:
    """Return whether an address names a folder."""
    return address.startswith(f"{_SCHEME}:")


def folder_of(servers: str | Sequence[str]) -> Path | None:
    """Return the folder that addresses of clients name; None if they name brokers."""
    (first, *_) = [servers] if isinstance(servers, str) else servers
    return Path(unquote(urlsplit(first).path)) if is_folder(first) else None


def require_folder(address: str) -> str:
    """Return a URL; raises UnfitValueError unless it names a folder by its absolute path."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = None
    if (
        parts is None
        or parts.netloc not in ("", "localhost")
        or not parts.path.strip("/")
        or not address.startswith(f"{_SCHEME}://")
        or parts.query
        or parts.fragment
    ):
        raise UnfitValueError(settings_errors.FOLDER_URL, value=address)
    return address


def require_fit(servers: Sequence[str], login: KafkaLogin) -> None:
    """Raise UnfitValueError if a folder is named that the other settings do not fit."""
    if not any(map(is_folder, servers)):
        return
    if len(servers) > 1:
        raise UnfitValueError(settings_errors.FOLDER_ALONE, servers=list(servers))
    require_folder(servers[0])
    if login.security_protocol != "PLAINTEXT":
        raise UnfitValueError(settings_errors.FOLDER_LOGIN, protocol=login.security_protocol)
