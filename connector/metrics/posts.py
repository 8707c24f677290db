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


class Answer(NamedTuple):
    """The answer to a post: a status, and a text that says why."""

    status: HTTPStatus
    said: str
    headers: tuple[tuple[str, str], ...] = ()


class Posted(NamedTuple):
    """What came with a request. Its form is not parsed before somebody asks for it."""

    body: bytes | Answer  # an answer refuses a body whose length is not that of a form
    content_type: str
    bearer: str | None  # the token of the header Authorization
    address: str  # of who sent it

    def form(self) -> Mapping[str, str] | Answer:
        """Return the fields of the form; of another body, the answer that refuses it."""
        if self.content_type != _FORM:
            return Answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send a form: {_FORM}")
        if isinstance(self.body, Answer):
            return self.body
        try:
            parsed = parse_qs(
                self.body.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=bool(self.body),
                errors="strict",
                max_num_fields=_FIELDS_MAX,
            )
        except ValueError:
            said = f"this is not a form of {_FIELDS_MAX} fields at most"
            return Answer(HTTPStatus.BAD_REQUEST, said)
        # Of a field that came twice, neither can be meant.
        if any(len(values) > 1 for values in parsed.values()):
            return Answer(HTTPStatus.BAD_REQUEST, "send each field once")
        return {name: value.strip() for name, (value,) in parsed.items()}


def posted(environ: WSGIEnvironment) -> Posted:
    """Return what came with a request.

    The body of a request that will be refused is read, too: many clients look for an answer only
    once they have sent theirs.
    """
    said = environ.get("HTTP_AUTHORIZATION", "")
    return Posted(
        _body(environ),
        environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower(),
        said[len(_BEARER) :].strip() if said.lower().startswith(_BEARER) else None,
        environ.get("REMOTE_ADDR", ""),
    )


def _body(environ: WSGIEnvironment) -> bytes | Answer:
    length = environ.get("CONTENT_LENGTH", "")
    if not (length.isascii() and length.isdecimal()):
        return Answer(HTTPStatus.LENGTH_REQUIRED, "send the length of the form: Content-Length")
    if len(length) > len(str(_BYTES_MAX)) or int(length) > _BYTES_MAX:
        return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has {_BYTES_MAX} bytes at most")
    body: bytes = environ["wsgi.input"].read(int(length))
    return body
