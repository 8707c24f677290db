"""Settings as the configuration calls them, and as a URL does."""

from __future__ import annotations

from enum import Enum


class Words(Enum):
    """In whose words a message names a setting."""

    CONFIGURATION = "configuration"
    URL = "url"


# `mysql://user:password@host:port/?ssl-mode=…` has these parts.
URL_WORDS = {
    "source.host": "the URL's host",
    "source.port": "the URL's port",
    "source.user": "the URL's user",
    "source.password": "the URL's password",
    "source.server_id": "server-id",
    "source.start": "start",
    "source.read_timeout_seconds": "the read timeout",
    "source.tls.mode": "ssl-mode",
    "source.tls.ca": "ssl-ca",
    "source.tls.certificate": "ssl-cert",
    "source.tls.key": "ssl-key",
}


def setting(name: str, words: Words) -> str:
    """Return what `words` call the setting `name`; its own name if a URL has no such part."""
    return URL_WORDS.get(name, name) if words is Words.URL else name
