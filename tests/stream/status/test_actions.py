"""Who may act: the token is compared before anything else of a request is looked at."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.foundation import http_server
from connector.foundation.settings.sections import Settings
from connector.stream.commands.requests import asked_by, new_request, page_visitor
from connector.stream.metrics import prometheus
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.status.server import Actions
from tests.integration.harness import PATIENCE_SECONDS
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
def acting(token: str | None) -> Iterator[tuple[str, PipelineMetrics]]:
    """Serve the actions of a pipeline; yield the address, and its figures."""
    settings = Settings.model_validate(
        {
            "name": "shop",
            "source": {"server_id": 1},
            "kafka": {"bootstrap_servers": ["127.0.0.1:9092"], "topic_prefix": "shop"},
            "metrics": {"token": token},
        }
    )
    figures, address = PipelineMetrics("shop"), f"127.0.0.1:{free_port()}"
    actions = Actions(settings, figures.control)
    with prometheus.serving(figures, address, {}, actions.by_path()):
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
        assert not figures.control.paused


@pytest.mark.parametrize("odd", ODD)
def test_without_a_configured_token_no_body_is_looked_at(
    odd: str,
) -> None:
    body, content_type, _ = ODD[odd]
    with acting(None) as (address, figures):
        assert post(address, body, content_type, TOKEN)[0] == 403
        assert not figures.control.paused


def test_the_token_is_taken_from_the_header_or_from_the_form() -> None:
    with acting(TOKEN) as (address, figures):
        assert post(address, b"", FORM, TOKEN) == (
            202,
            "the stream will pause after the current transaction\n",
        )
        assert figures.control.paused
        figures.control.paused = False
        assert post(address, f"token={TOKEN}".encode(), FORM, None)[0] == 303
        assert figures.control.paused


def test_wrong_tokens_are_slowed_and_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        assert seconds == 1.0
        began.set()
        assert ended.wait(10)

    monkeypatch.setattr("connector.stream.status.server.time.sleep", sleep)
    with acting(TOKEN) as (address, figures):
        found: list[int] = []
        first = threading.Thread(
            target=lambda: found.append(post(address, b"token=wrong", FORM, None)[0])
        )
        first.start()
        assert began.wait(10)
        # Meanwhile others are told to come later, and the right token acts.
        assert post(address, b"token=wrong", FORM, None)[0] == 429
        assert post(address, b"", FORM, TOKEN)[0] == 202
        ended.set()
        first.join()
    assert found == [401]
    assert figures.control.paused


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9400", 200),
        ("localhost", 200),
        ("[::1]:9400", 200),
        (socket.gethostname(), 200),
        ("evil.example", 421),
        ("evil.example:9400", 421),
        ("127.0.0.1.evil.example", 421),
    ],
)
def test_a_request_by_a_name_of_another_site_is_refused_on_loopback(host: str, status: int) -> None:
    with acting(None) as (address, _):
        connection = http.client.HTTPConnection(address, timeout=10)
        for path in ("/metrics", "/actions/pause"):
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == (status if path == "/metrics" or status == 421 else 405)
        connection.close()


def test_silent_clients_do_not_take_all_threads() -> None:
    with acting(None) as (address, _), contextlib.ExitStack() as stack:
        name, _, port = address.rpartition(":")
        for _number in range(60):
            stack.enter_context(socket.create_connection((name, int(port))))
        threads = sum("process_request_thread" in each.name for each in threading.enumerate())
        assert threads <= 33


def test_a_client_that_sends_a_byte_now_and_then_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "_REQUEST_SECONDS", 0.5)
    with acting(None) as (address, _):
        name, _, port = address.rpartition(":")
        with socket.create_connection((name, int(port))) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\n")
            ended = threading.Event()

            def trickle() -> None:
                with contextlib.suppress(OSError):
                    while not ended.wait(0.1):
                        slow.sendall(b"X: y\r\n")

            thread = threading.Thread(target=trickle)
            thread.start()
            try:
                with contextlib.suppress(ConnectionResetError):
                    slow.settimeout(PATIENCE_SECONDS)
                    assert slow.recv(1) == b""
            finally:
                ended.set()
                thread.join()


def test_a_request_by_the_page_names_its_visitor_and_not_the_daemon() -> None:
    visitor = page_visitor.set("10.0.0.5")
    try:
        request = json.loads(new_request("snapshot", {}))
    finally:
        page_visitor.reset(visitor)
    said = f"somebody with the token@10.0.0.5 (the status page, pid {os.getpid()})"
    assert asked_by(request) == said
    assert asked_by(json.loads(new_request("snapshot", {}))) != said
