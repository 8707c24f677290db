"""What somebody posts: a form of a page, or of a program."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from wsgiref.types import WSGIEnvironment

_FORM = "application/x-www-form-urlencoded"
_BYTES_MAX = 16 * 1024
_FIELDS_MAX = 8
_BEARER = "bearer "


class Posted(NamedTuple):
    """A form that came with a request."""

    fields: Mapping[str, str]
    bearer: str | None  # the token of the header Authorization
    address: str  # of who sent it


class Answer(NamedTuple):
    """The answer to a post: a status, and a text that says why."""

    status: HTTPStatus
    said: str
    headers: tuple[tuple[str, str], ...] = ()


def posted(environ: WSGIEnvironment) -> Posted | Answer:
    """Return the form of a request; for another request, the answer that refuses it."""
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != _FORM:
        return Answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send a form: {_FORM}")
    length = environ.get("CONTENT_LENGTH", "")
    if not (length.isascii() and length.isdecimal()):
        return Answer(HTTPStatus.LENGTH_REQUIRED, "send the length of the form: Content-Length")
    if len(length) > len(str(_BYTES_MAX)) or int(length) > _BYTES_MAX:
        return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has {_BYTES_MAX} bytes at most")
    body = environ["wsgi.input"].read(int(length))
    try:
        parsed = parse_qs(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_FIELDS_MAX,
        )
    except ValueError:
        return Answer(HTTPStatus.BAD_REQUEST, f"this is not a form of {_FIELDS_MAX} fields at most")
    # Of a field that came twice, neither can be meant.
    if any(len(values) > 1 for values in parsed.values()):
        return Answer(HTTPStatus.BAD_REQUEST, "send each field once")
    said = environ.get("HTTP_AUTHORIZATION", "")
    bearer = said[len(_BEARER) :].strip() if said.lower().startswith(_BEARER) else None
    fields = {name: value.strip() for name, (value,) in parsed.items()}
    return Posted(fields, bearer, environ.get("REMOTE_ADDR", ""))
