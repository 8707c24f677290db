"""`dump --format json` of the logs of every server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import EventType
from connector.logs.dump.json.format import JsonFormat
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from tests.integration.dump.server_logs import ServerLog

pytestmark = pytest.mark.server


KEYS = [
    "file",
    "log_pos",
    "next_pos",
    "type",
    "type_code",
    "timestamp",
    "server_id",
    "flags",
    "size",
    "checksum",
    "body",
]


def test_every_event_of_every_server_is_one_object(server_logs: list[ServerLog]) -> None:
    writer = JsonFormat()
    for log in server_logs:
        for each in log.events():
            (line,) = lines_of(writer, [each])
            assert "\n" not in line
            shown = json.loads(line)
            assert list(shown) == KEYS
            assert shown["file"] == log.name
            assert shown["log_pos"] == each.position
            assert shown["type"] == EventType(each.header.type_code).name
            for inner in shown["body"].get("events", ()):
                assert list(inner) == KEYS
                assert inner["log_pos"] is None


def test_changes_of_json_documents_are_shown_or_applied(server_logs: list[ServerLog]) -> None:
    partial = EventType.PARTIAL_UPDATE_ROWS_EVENT
    updates = [
        (json.loads(shown)["body"]["rows"], json.loads(applied)["body"]["rows"])
        for log in server_logs
        for each in log.events()
        if each.header.type_code == partial
        for shown in lines_of(JsonFormat(), [each])
        for applied in lines_of(JsonFormat(apply_diffs=True), [each])
    ]
    before = '{"a": "0123456789012345678901234567890123456789", "b": 2}'
    diff = {"json_diff": [{"op": "replace", "path": "$.b", "value": "3"}]}
    after = before.replace("2}", "3}")
    for shown, applied in updates:
        assert shown == [{"op": "update", "before": [1, before], "after": [1, diff]}]
        assert applied == [{"op": "update", "before": [1, before], "after": [1, after]}]
