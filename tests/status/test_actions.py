"""Who may act: the token is compared before anything else of a request is looked at."""

from __future__ import annotations

import http.client
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.metrics import server
from connector.metrics.figures import Figures
from connector.settings.sections import Settings
from connector.status.actions import Actions
from tests.integration.operation.test_metrics import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "0123456789abcdef"
FORM = "application/x-www-form-urlencoded"
# What no form is, with its type and the status by which it is refused.
ODD = {
    "JSON": (b'{"a": 1}', "application/json", 415),
    "no type": (b"", "", 415),
    "no field": (b"no field", FORM, 400),
    "two tokens": (f"token={TOKEN}&token={TOKEN}".encode(), FORM, 400),
    "no text": (b"a=%FF", FORM, 400),
    "no ASCII": (b"\xff\x00", FORM, 400),
}


@contextmanager
def acting(token: str | None) -> Iterator[tuple[str, Figures]]:
    """Serve the actions of a pipeline; yield the address, and its figures."""
    settings = Settings.model_validate(
        {
            "name": "shop",
            "source": {"server_id": 1},
            "kafka": {"bootstrap_servers": ["127.0.0.1:9092"], "topic_prefix": "shop"},
            "metrics": {"token": token},
        }
    )
    figures, address = Figures("shop"), f"127.0.0.1:{free_port()}"
    actions = Actions(settings, figures)
    with server.serving(figures, address, {}, actions.by_path()):
        yield address, figures


def post(address: str, body: bytes, content_type: str, bearer: str | None) -> tuple[int, str]:
    """Return the status and the text of an answer to the action `pause`."""
    connection = http.client.HTTPConnection(address, timeout=10)
    headers = {"Content-Type": content_type}
    if bearer is not None:
        headers["Authorization"] = f"Bearer {bearer}"
    try:
        connection.request("POST", "/actions/pause", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("odd", ODD)
def test_the_token_is_missed_before_a_body_is_refused(
    odd: str,
) -> None:
    body, content_type, status = ODD[odd]
    with acting(TOKEN) as (address, figures):
        for bearer in (None, "", "wrong"):
            assert post(address, body, content_type, bearer) == (401, "this is not the token\n")
        assert post(address, body, content_type, TOKEN)[0] == status
        assert not figures.paused


@pytest.mark.parametrize("odd", ODD)
def test_without_a_configured_token_no_body_is_looked_at(
    odd: str,
) -> None:
    body, content_type, _ = ODD[odd]
    with acting(None) as (address, figures):
        assert post(address, body, content_type, TOKEN)[0] == 403
        assert not figures.paused


def test_the_token_is_taken_from_the_header_or_from_the_form() -> None:
    with acting(TOKEN) as (address, figures):
        assert post(address, b"", FORM, TOKEN) == (
            202,
            "the stream will pause after the current transaction\n",
        )
        assert figures.paused
        figures.paused = False
        assert post(address, f"token={TOKEN}".encode(), FORM, None)[0] == 303
        assert figures.paused
