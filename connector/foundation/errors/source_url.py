"""C200: the URL of a server, and where to start on it."""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode

_END = End.CONFIGURATION

NOT_ENCODED = ErrorCode(
    "C201",
    "the source's URL is not mysql://user:password@host:port/",
    "percent-encode user and password",
    end=_END,
    cause=(
        "A character of the user or of the password has a meaning of its own in a URL. Nothing of "
        "the URL is shown: it may be a part of the password."
    ),
)
FORM = ErrorCode(
    "C202",
    "the source's URL is not mysql://user:password@host:port/",
    "write it in this form; options follow a question mark",
    end=_END,
    cause="The URL has another scheme, no host, a path or a fragment.",
)
UNKNOWN_OPTION = ErrorCode(
    "C203",
    "the source's URL has the unknown option {option}",
    "there are {known}",
    end=_END,
    cause="The options have the names of MySQL's clients.",
    example={"option": "ssl-mod", "known": ("ssl-mode", "ssl-ca")},
)
WRONG_OPTION = ErrorCode(
    "C204",
    "the source's URL: {option}: {why}",
    "correct the URL",
    end=_END,
    cause="A part of the URL has a value that it cannot have.",
    example={"option": "server-id", "why": "Input should be greater than or equal to 1"},
)
WRONG_OPTIONS = ErrorCode(
    "C205",
    "the source's URL has parts with wrong values:{problems:lines}",
    "correct the URL",
    end=_END,
    cause="Several parts of the URL have values that they cannot have.",
    example={"problems": ("server-id: Input should be greater than or equal to 1", "port: 0")},
)
START = ErrorCode(
    "C211",
    "start {start!r} is not earliest, latest, gtid:SET or position:FILE:POSITION",
    "write one of these",
    end=_END,
    cause="The first word says what kind of start point it is.",
    example={"start": "yesterday"},
)
START_POSITION = ErrorCode(
    "C212",
    "start {start!r} is not position:FILE:POSITION",
    "write it like position:binlog.000042:4",
    end=_END,
    cause="A file of the log and a number follow the word.",
    example={"start": "position:4"},
)
