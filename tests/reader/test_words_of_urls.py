"""What is said of a server to whoever gave a URL speaks of no configuration and no pipeline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from connector.reader.words_of_urls import words_of_urls

from connector.errors import ProtocolError, SourceRefused, SourceUnavailable
from tests.errors.cause import End
from tests.errors.texts import CAUSES, GROUPS, text

if TYPE_CHECKING:
    from connector.errors import ConnectorError
    from tests.errors.cause import Cause

# Groups of which a reader may meet any text, and what it may meet of starting behind a GTID set.
TITLES = {
    "Network, login and TLS",
    "Conditions of a server that pass",
    "Server settings and grants",
    "Start points",
    "What a server says to a dump",
    "The connection of the stream, and of copies",
}
GOING_ON = ("purged", "purged_mariadb", "lags", "lacks", "reset", "diverged")
MET = [
    *(
        cause
        for group in GROUPS
        if group.title in TITLES
        for cause in group.causes
        if cause.end is not End.LOGGED  # by a pipeline alone
    ),
    *(CAUSES[f"failover.{name}"] for name in GOING_ON),
]
SETTING = re.compile(r"\b(source|kafka|retry)\.\w|pipeline")


def in_words_of_urls(said: str, kind: type[ConnectorError] = SourceRefused) -> str:
    with pytest.raises(kind) as raised, words_of_urls():
        raise kind(said)
    return str(raised.value)


def test_the_groups_are_those_of_the_table() -> None:
    assert {group.title for group in GROUPS} > TITLES


@pytest.mark.parametrize("cause", MET, ids=lambda cause: cause.key)
def test_no_text_speaks_of_what_a_reader_does_not_have(cause: Cause) -> None:
    assert not SETTING.search(in_words_of_urls(cause.text))


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("dump.purged", "read a replica that still has the log"),
        ("server.4052", "give each reader a server-id of its own"),
        ("tls.none", "set up TLS on the server, or set ssl-mode to PREFERRED"),
        ("server.1053", "start the server again"),
    ],
)
def test_advice_is_what_a_reader_can_do(key: str, advice: str) -> None:
    values = {"place": "source db:3306", "said": "no"}
    if key == "tls.none":
        del values["said"]
    assert in_words_of_urls(text(key, **values)).endswith(f": {advice}")


@pytest.mark.parametrize("kind", [SourceUnavailable, ProtocolError])
def test_every_kind_of_error_is_turned(kind: type[ConnectorError]) -> None:
    assert in_words_of_urls("set source.tls.mode to required", kind) == "set ssl-mode to REQUIRED"
