"""A request to a running pipeline: bytes of an unknown writer.

Nothing in it is trusted. `asked_by` is only the writer's claim, and is used only in the log.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from connector.errors import ConfigError, RequestRefused, requests

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND: Final = "command"
_ASKED_BY = "asked_by"
REQUEST_BYTES_MAX: Final = 256 * 1024
# The most of a foreign text that a log line shows, in characters.
_SHOWN_CHARACTERS = 64
_KEYS_SHOWN = 5
# https://dev.mysql.com/doc/refman/8.4/en/identifiers.html
_NAME_CHARACTERS_MAX = 64
_NAME_CODE_MAX = 0xFFFF


# The address of the browser, for a request by the status page; None in a command.
page_visitor: ContextVar[str | None] = ContextVar("page_visitor", default=None)


def new_request(command: str, arguments: Mapping[str, object]) -> bytes:
    """Return a request of this process; raises ConfigError for one that is too large."""
    value = json.dumps(
        {COMMAND: command, _ASKED_BY: _this_process(command), **arguments}, ensure_ascii=False
    ).encode()
    if len(value) > REQUEST_BYTES_MAX:
        raise ConfigError(requests.TOO_LARGE, size=len(value), limit=REQUEST_BYTES_MAX)
    return value


def read_request(value: bytes | None) -> dict[str, Any]:
    """Return a request, a JSON object that names its command.

    Raises RequestRefused for any other bytes.
    """
    data = value or b""
    if len(data) > REQUEST_BYTES_MAX:
        raise RequestRefused(requests.SIZE, size=len(data), limit=REQUEST_BYTES_MAX)
    try:
        request = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(requests.NOT_JSON) from error
    if not isinstance(request, dict) or not isinstance(request.get(COMMAND), str):
        raise RequestRefused(requests.NO_COMMAND)
    return request


def arguments_of(request: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the keys of a request other than `command` and `asked_by`.

    Raises RequestRefused for keys other than `known`: a newer version may give them a meaning,
    which must not be ignored.
    """
    arguments = {name: of for name, of in request.items() if name not in (COMMAND, _ASKED_BY)}
    unknown = sorted(shown(name) for name in arguments.keys() - set(known))
    if unknown:
        raise RequestRefused(requests.UNKNOWN_KEYS, keys=unknown[:_KEYS_SHOWN])
    return arguments


def table_name(database: object, table: object) -> tuple[str, str]:
    """Return the database and table of a request, if a server allows such names.

    Raises RequestRefused for other values.
    """
    names = (database, table)
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARACTERS_MAX:
            break
        if any(not 0 < ord(character) <= _NAME_CODE_MAX for character in name):
            break
        if any("\ud800" <= character <= "\udfff" for character in name):
            break
    else:
        return str(database), str(table)
    raise RequestRefused(requests.NO_TABLE)


def _this_process(command: str) -> dict[str, str | int]:
    """Return user, host, program and pid, for the log of the pipeline."""
    address = page_visitor.get()
    if address is not None:
        # Not the account of the daemon, and not its command line.
        said = {"user": "somebody with the token", "host": address, "program": "the status page"}
        return {**said, "pid": os.getpid()}
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as in containers.
        user = str(os.getuid())
    program = f"{Path(sys.argv[0]).name} {command}"
    return {"user": user, "host": socket.gethostname(), "program": program, "pid": os.getpid()}


def asked_by(request: Mapping[str, Any]) -> str:
    """Return the claim of a request about its writer, as text for the log."""
    said = request.get(_ASKED_BY)
    if not isinstance(said, dict):
        return "unknown"
    user, host, program, pid = (
        shown(said.get(name, "unknown")) for name in ("user", "host", "program", "pid")
    )
    return f"{user}@{host} ({program}, pid {pid})"


def shown(value: object) -> str:
    """Return foreign text as one short line."""
    text = str(value) if isinstance(value, (str, int)) else "unknown"
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
