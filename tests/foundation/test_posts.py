"""Forms of anybody: each is read or refused, and none is an error of the server."""

from __future__ import annotations

from http import HTTPStatus
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.foundation.http_server import PostRequest, PostResponse, posted

FORM = "application/x-www-form-urlencoded"


def post(body: bytes, **changed: str | None) -> PostRequest:
    environ: dict[str, object] = {
        "CONTENT_TYPE": FORM,
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": BytesIO(body),
    }
    environ |= changed
    return posted({name: value for name, value in environ.items() if value is not None})


def test_a_form_is_read() -> None:
    body = b"table=shop.orders&where=id+%3E+1&token=+t%C3%B6+&empty="
    fields = {"table": "shop.orders", "where": "id > 1", "token": "t\u00f6", "empty": ""}
    assert post(body) == PostRequest(body, FORM, None, "127.0.0.1")
    assert post(body).form() == fields
    assert post(b"").form() == {}
    assert post(b"", CONTENT_TYPE=f"{FORM}; charset=UTF-8").form() == {}


@pytest.mark.parametrize(
    ("said", "bearer"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer", None)],
)
def test_the_token_of_a_program_is_in_the_header(said: str, bearer: str | None) -> None:
    assert post(b"", HTTP_AUTHORIZATION=said).bearer == bearer


@pytest.mark.parametrize(
    ("body", "changed", "status"),
    [
        (b"{}", {"CONTENT_TYPE": "application/json"}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        (b"a=1", {"CONTENT_TYPE": None}, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        (b"a=1", {"CONTENT_LENGTH": None}, HTTPStatus.LENGTH_REQUIRED),
        (b"a=1", {"CONTENT_LENGTH": "-1"}, HTTPStatus.LENGTH_REQUIRED),
        (b"a=1", {"CONTENT_LENGTH": "\u0663"}, HTTPStatus.LENGTH_REQUIRED),
        (b"a=1", {"CONTENT_LENGTH": "9" * 5000}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (b"a=" + b"1" * 20_000, {}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (b"&".join(b"a%d=1" % number for number in range(9)), {}, HTTPStatus.BAD_REQUEST),
        (b"a=1&a=2", {}, HTTPStatus.BAD_REQUEST),
        (b"a=%FF", {}, HTTPStatus.BAD_REQUEST),
        (b"a=\xff", {}, HTTPStatus.BAD_REQUEST),
        (b"no field", {}, HTTPStatus.BAD_REQUEST),
    ],
)
def test_what_is_no_form_is_refused(
    body: bytes, changed: dict[str, str | None], status: HTTPStatus
) -> None:
    answer = post(body, **changed).form()
    assert isinstance(answer, PostResponse)
    assert answer.status is status
    assert answer.said


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(body: bytes) -> None:
    assert isinstance(post(body).form(), (dict, PostResponse))
