"""C500: arguments of commands that read no log."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

UNKNOWN_CODE = ErrorCode(
    "C501",
    "there is no error code {code!r}",
    "run `binlog-connector explain` for a list of all codes",
    end=End.CONFIGURATION,
    cause="A code is a letter and three digits. It stands in brackets before the text of an error.",
    example={"code": "S999"},
)
SIMILAR_CODE = ErrorCode(
    "C502",
    "there is no error code {code!r}",
    "did you mean {similar}? Run `binlog-connector explain` for a list of all codes",
    end=End.CONFIGURATION,
    cause="A code is a letter and three digits. It stands in brackets before the text of an error.",
    example={"code": "L10", "similar": "L101"},
)
