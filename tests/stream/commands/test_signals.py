"""Signals are read, done once, or said to be refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from connector.binlog.gtid import GtidSet
from connector.foundation.errors import RequestRefused
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.commands import request_errors
from connector.stream.commands.requests import REQUEST_BYTES_MAX, arguments_of
from connector.stream.commands.signals import Signal, TopicSignals, read_signal
from connector.stream.progress.stream_position import StreamPosition
from tests.foundation.errors.texts import text_of
from tests.stream.commands.test_request import Asked

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode


def test_a_signal_has_a_type_and_data() -> None:
    value = {"id": "x", "type": "log", "data": {"message": "a"}}
    assert read_signal(json.dumps(value).encode()) == value
    nothing = {"type": "resume-snapshot", "data": {}, "id": ""}
    assert read_signal(b'{"type":"resume-snapshot"}') == nothing
    assert read_signal(b'{"type":"resume-snapshot","id":[7]}') == nothing
    # Which Kafka could not store.
    assert read_signal(rb'{"type":"resume-snapshot","id":"\ud800"}')["id"] == "?"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, request_errors.NOT_JSON),
        (b"execute-snapshot", request_errors.NOT_JSON),
        (b"[" * 100_000, request_errors.NOT_JSON),
        (b" " * (REQUEST_BYTES_MAX + 1), request_errors.SIZE),
        (b"[]", request_errors.NO_SIGNAL),
        (b'{"type":7,"data":{}}', request_errors.NO_SIGNAL),
        (b'{"type":"log","data":"{}"}', request_errors.NO_SIGNAL),
    ],
)
def test_other_bytes_are_no_signal(value: bytes | None, code: ErrorCode) -> None:
    with pytest.raises(RequestRefused) as caught:
        read_signal(value)
    assert caught.value.code is code


def test_each_signal_is_done_or_said_to_be_refused() -> None:
    identity = ServerIdentity("mysql", "8.0.31", (8, 0, 31), "server", 1, gtid=True)
    position = StreamPosition(identity, StartPoint("mysql", GtidSet(), "binlog.000001", 4))
    done: list[Signal] = []

    def log(signal: Signal) -> None:
        arguments_of(signal.data, "message")
        done.append(signal)

    asked = Asked(
        # What the listener says of the end of the topic.
        {},
        {"type": "log", "data": {"message": "a"}, "id": "7"},
        {"type": "schema-changes", "data": {}, "id": ""},
        {"type": "set-binlog-position", "data": {"binlog_filename": "b"}, "id": ""},
        {"type": "log", "data": {"message": "b", "level": "info"}, "id": ""},
    )
    signals = TopicSignals(asked, position, {"log": log})
    with capture_logs() as lines:
        signals.step()
    assert not signals.wants_turn
    assert done == [Signal("log", {"message": "a"}, "7", 1)]
    assert position.signals_offset == 5
    assert [(line["signal"], line["error"]) for line in lines if line["log_level"] == "error"] == [
        ("schema-changes", "its type is none of log"),
        ("set-binlog-position", text_of(request_errors.SET_POSITION)),
        ("log", "it has unknown keys: level"),
    ]
