"""What is said of a server to the user of a URL speaks of no configuration and no pipeline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from connector.binlog.log_errors import ProtocolError
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message, Words
from connector.replication import answer_errors, dump_errors, server_errors
from connector.stream.source import setup_errors

if TYPE_CHECKING:
    from types import ModuleType

# A reader has no progress from which it goes on.
OF_PIPELINES = (server_errors.NO_GTID_NEXT,)
MODULES = (server_errors, answer_errors, dump_errors)
SETTING = re.compile(r"\b(source|kafka|retry)\.\w|pipeline")


def codes_of(module: ModuleType) -> list[ErrorCode]:
    return [value for value in vars(module).values() if isinstance(value, ErrorCode)]


MET = [
    code
    for module in MODULES
    for code in codes_of(module)
    if code.code and code not in OF_PIPELINES
]


@pytest.mark.parametrize("code", MET, ids=lambda code: f"{code} {code.was}")
def test_no_text_speaks_of_what_a_reader_does_not_have(code: ErrorCode) -> None:
    assert not SETTING.search(Message(code, dict.fromkeys(code.facts, 1), Words.URL).text)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (
            answer_errors.PURGED,
            "what was not read is gone from this server: read a replica that still has the log",
        ),
        (answer_errors.SAME_SERVER_ID, "give each reader a server-id of its own"),
        (server_errors.NO_TLS, "set up TLS on the server, or set ssl-mode to PREFERRED"),
        (answer_errors.STOPPING, "start the server again"),
        (
            server_errors.UNREACHABLE,
            "check that the server runs, the URL's host, the URL's port and firewalls",
        ),
    ],
)
def test_advice_is_what_a_reader_can_do(code: ErrorCode, advice: str) -> None:
    assert Message(code, dict.fromkeys(code.facts, 1), Words.URL).fix == advice


@pytest.mark.parametrize("kind", [SourceRefused, SourceUnavailable, ProtocolError])
def test_every_kind_of_error_has_both_words(
    kind: type[SourceRefused | SourceUnavailable | ProtocolError],
) -> None:
    error = kind(server_errors.NO_TLS, server="source db:3306")
    turned = error.in_words(Words.URL)
    assert type(turned) is kind
    assert turned.code is error.code
    what = "source db:3306: the server offers no TLS; set up TLS on the server, or set "
    assert error.text == f"{what}source.tls.mode to preferred"
    assert turned.text == f"{what}ssl-mode to PREFERRED"


def test_an_error_inside_of_another_one_is_in_the_same_words() -> None:
    inner = SourceRefused(server_errors.NO_TLS, server="source db:3306")
    outer = SourceRefused(setup_errors.NONE, problems=[inner])
    assert "ssl-mode to PREFERRED" in outer.in_words(Words.URL).text
