"""Errors of a server that speak of a pipeline's settings become errors that speak of a URL's parts.

`connector.source` reports all errors of a server in the words of the configuration, which the user
of a URL does not have.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from connector.errors import ConfigError, ProtocolError, SourceRefused, SourceUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOST = "To go on without [a-z ]+ is to lose changes: "
_OVER = "give (the pipeline|it) a new name and (start over|set source.start)"
# Phrases about a pipeline and their replacements; earlier entries are applied first.
_WORDS = [
    (re.compile(pattern), words)
    for pattern, words in (
        # Advice that only a pipeline can take.
        (r", or name (another one|a server that has them) in source\.failover_hosts", ""),
        (rf"{_LOST}{_OVER}, or point (it|the pipeline) at", "Read"),
        (rf"{_OVER}, or point (it|the pipeline) at", "read"),
        (rf"point (it|the pipeline) at (.*?), or {_OVER}", r"read \2"),
        (rf"go back to the first, or {_OVER}", "go back to the first"),
        (_OVER, "start at a place that the server still has"),
        (
            r"name each server itself in source\.host and source\.failover_hosts",
            "name the server itself in the URL",
        ),
        (r"each replica and each pipeline a source\.server_id", "each reader a server-id"),
        # Settings that a URL has, too.
        (r"source\.tls\.mode to (\w+)", lambda found: f"ssl-mode to {found[1].upper()}"),
        (r"source\.tls\.mode", "ssl-mode"),
        (r"source\.tls\.ca", "ssl-ca"),
        (r"source\.tls\.certificate", "ssl-cert"),
        (r"source\.tls\.key", "ssl-key"),
        (r"the account of source\.user", "the URL's user"),
        (r"source\.user and source\.password", "the URL's user and password"),
        (r"source\.host, source\.port", "the URL's host, its port"),
        (r"source\.host and source\.port", "the URL's host and port"),
        (r"source\.host", "the URL's host"),
        (r"source\.read_timeout_seconds", "the read timeout"),
        (r"source\.start(?=[: ])", "start"),
    )
]


@contextmanager
def words_of_urls() -> Iterator[None]:
    """Rewrite errors of a server that pass through this context manager in the words of a URL."""
    try:
        yield
    except (SourceUnavailable, SourceRefused, ConfigError, ProtocolError) as error:
        text = error.text
        for pattern, words in _WORDS:
            text = pattern.sub(words, text)
        raise type(error)(text) from error
