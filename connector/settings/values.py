"""Types of single settings, whose errors say in words what is wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from connector.errors import settings_values
from connector.errors.message import Message
from connector.settings.nearest import nearest

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode

_PORT_MAX = 65535


class WrongValue(ValueError):
    """The value of a setting is wrong: what the validators of pydantic may raise."""

    def __init__(self, code: ErrorCode, /, **facts: object) -> None:
        """Raise TypeError unless `facts` are what the templates of `code` name."""
        self.message = Message(code, facts)
        super().__init__(self.message.text)


def _with_possible_port(address: str) -> str:
    _, colon, port = address.rpartition(":")
    if colon and port.isdigit() and not 1 <= int(port) <= _PORT_MAX:
        raise WrongValue(settings_values.PORT, last=_PORT_MAX)
    return address


def _matching(pattern: str, wanted: ErrorCode) -> AfterValidator:
    """Return a check whose error says in words what is `wanted`, and not the pattern."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise WrongValue(wanted)
        return value

    return AfterValidator(check)


def _as_table_pattern(value: str) -> str:
    database, _, table = value.partition(".")
    if not (database and table):
        if value and "." not in value:
            raise WrongValue(settings_values.TABLE_PATTERN_MEANT, value=value, meant=f"{value}.*")
        raise WrongValue(settings_values.TABLE_PATTERN, value=value)
    return value


def _as_start(value: str) -> str:
    if not re.fullmatch(_START, value, re.DOTALL):
        word, colon, rest = value.partition(":")
        if word in _START_FORMS:
            raise WrongValue(_START_FORMS[word], value=value)
        meant = nearest(word, [*_START_WORDS, *_START_FORMS])
        if meant is None:
            raise WrongValue(settings_values.START, value=value)
        raise WrongValue(settings_values.START_MEANT, value=value, meant=f"{meant}{colon}{rest}")
    return value


_START_WORDS = ("snapshot", "earliest", "latest")
_START_FORMS = {
    "gtid": settings_values.START_GTID,
    "position": settings_values.START_POSITION,
    "timestamp": settings_values.START_TIMESTAMP,
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
        settings_values.ADDRESS,
    ),
    AfterValidator(_with_possible_port),
]
ListenAddress = Annotated[
    str,
    _matching(
        r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]+):[0-9]{1,5}",
        settings_values.LISTEN_ADDRESS,
    ),
]
PipelineName = Annotated[str, _matching(r"[A-Za-z0-9._-]+", settings_values.PIPELINE_NAME)]
TopicPrefix = Annotated[str, _matching(r"[A-Za-z0-9_-]+", settings_values.TOPIC_PREFIX)]
