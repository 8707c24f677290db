"""Types of single settings, whose errors say in words what is wanted."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from connector.settings.nearest import did_you_mean, nearest

_PORT_MAX = 65535


def _with_possible_port(address: str) -> str:
    _, colon, port = address.rpartition(":")
    if colon and port.isdigit() and not 1 <= int(port) <= _PORT_MAX:
        reason = f"a port is a number from 1 to {_PORT_MAX}"
        raise ValueError(reason)
    return address


def _matching(pattern: str, wanted: str) -> AfterValidator:
    """Return a check whose error says in words what is `wanted`, and not the pattern."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(wanted)
        return value

    return AfterValidator(check)


def _as_table_pattern(value: str) -> str:
    database, _, table = value.partition(".")
    if not (database and table):
        meant = did_you_mean(None if "." in value or not value else f'"{value}.*"')
        reason = f'"{value}" does not name a table: write DATABASE.TABLE, * for any name{meant}'
        raise ValueError(reason)
    return value


def _as_start(value: str) -> str:
    if not re.fullmatch(_START, value, re.DOTALL):
        word, colon, rest = value.partition(":")
        if word in _START_FORMS:
            reason = f'"{value}" is not {_START_FORMS[word]}'
            raise ValueError(reason)
        meant = nearest(word, [*_START_WORDS, *_START_FORMS])
        hint = did_you_mean(None if meant is None else f'"{meant}{colon}{rest}"')
        reason = (
            f'"{value}" is not snapshot, earliest, latest, gtid:SET, position:FILE:POS or '
            f"timestamp:TIME{hint}"
        )
        raise ValueError(reason)
    return value


_START_WORDS = ("snapshot", "earliest", "latest")
_START_FORMS = {
    "gtid": "gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or gtid:0-1-77",
    "position": "position:FILE:POS, such as position:binlog.000042:4",
    "timestamp": "timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z",
}
_START = (
    r"snapshot|earliest|latest|gtid:.*|position:[^:]+\.[0-9]+:[0-9]+"
    r"|timestamp:[0-9]{4}-[0-9]{2}-[0-9]{2}.+"
)

Port = Annotated[int, Field(ge=1, le=65535)]
TablePattern = Annotated[str, AfterValidator(_as_table_pattern)]
StartPlace = Annotated[str, AfterValidator(_as_start)]
ServerAddress = Annotated[
    str,
    _matching(
        r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+)(:[0-9]{1,5})?",
        "give HOST or HOST:PORT, an IPv6 address in brackets",
    ),
    AfterValidator(_with_possible_port),
]
ListenAddress = Annotated[
    str,
    _matching(
        r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+):[0-9]{1,5}",
        "give HOST:PORT to listen on, such as 127.0.0.1:9400",
    ),
]
PipelineName = Annotated[
    str, _matching(r"[A-Za-z0-9._-]+", "a name has ASCII letters, digits, dots, _ and - alone")
]
TopicPrefix = Annotated[
    str, _matching(r"[A-Za-z0-9_-]+", "a prefix has ASCII letters, digits, _ and - alone")
]
