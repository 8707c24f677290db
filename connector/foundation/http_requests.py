"""Requests to HTTP servers that know who we are: the login stays with them.

https://docs.python.org/3/library/urllib.request.html
"""

from collections.abc import Mapping
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import OpenerDirector, Request


class NoAnswer(Exception):
    """A server has not answered; the text says why."""


class HttpAnswer(NamedTuple):
    """What a server has answered."""

    status: int
    # Empty if an error came without a readable one: its status says enough.
    content: bytes


def ask(
    opener: OpenerDirector,
    request: Request,
    identity: Mapping[str, str],
    seconds: float,
    bytes_max: int,
) -> HttpAnswer:
    """Send a request, and return the answer, whatever its status.

    `identity` has the headers of the login; there may be none. At most `bytes_max` bytes are read.
    Raises NoAnswer if the server cannot be reached, or says nothing for `seconds`.
    """
    for name, value in identity.items():
        # A redirect may lead to anybody.
        request.add_unredirected_header(name, value)
    try:
        with opener.open(request, timeout=seconds) as response:
            return HttpAnswer(response.status, response.read(bytes_max))
    except HTTPError as error:
        with error:
            try:
                return HttpAnswer(error.code, error.read(bytes_max))
            except (OSError, HTTPException):
                return HttpAnswer(error.code, b"")
    except (OSError, HTTPException, UnicodeError) as error:
        # The last one comes for a host with a label that is empty or longer than 63 characters.
        reason = getattr(error, "reason", None) or error
        raise NoAnswer(str(reason) or type(reason).__name__) from error
