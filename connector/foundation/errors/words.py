"""The reader of a message: a user of a configuration, a user of a URL, or a user of a fence."""

from __future__ import annotations

from enum import Enum


class Words(Enum):
    """Whether a message names settings or parts of a URL, and which fix it gives."""

    CONFIGURATION = "configuration"
    URL = "url"
    FENCE = "fence"  # as a configuration, for a change in quarantine


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
    "source.tls.server_public_key": "server-public-key-path",
    "source.tls.get_server_public_key": "get-server-public-key",
}


# The owner of two parts is named once: "the URL's user and password".
_OWNER = "the URL's "
_BETWEEN_TWO = frozenset({" and ", " or "})


def setting(name: str, words: Words) -> str:
    """Return the name of a setting in `words`; its own name if a URL has no such part."""
    return URL_WORDS.get(name, name) if words is Words.URL else name


def second(shown: str, first: str, between: str) -> str:
    """Return a setting without its owner, if the setting `first` just before it names the owner.

    `between` is the text between the two; `first` is empty if there is no such setting.
    """
    same_owner = between in _BETWEEN_TWO and first.startswith(_OWNER)
    return shown.removeprefix(_OWNER) if same_owner else shown
