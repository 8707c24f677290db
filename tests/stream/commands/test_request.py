"""What a request is, and what is refused of bytes that anybody may have written."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from connector.binlog.gtid import GtidSet
from connector.foundation.errors import ConfigError, RequestRefused
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.commands import request_errors
from connector.stream.commands.requests import (
    REQUEST_BYTES_MAX,
    RequestAttendant,
    arguments_of,
    asked_by,
    new_request,
    read_request,
    table_name,
)
from connector.stream.progress.stream_position import StreamPosition
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_a_request_says_who_asked() -> None:
    request = read_request(new_request("snapshot", {"tables": [["shop", "orders"]]}))
    assert request["command"] == "snapshot"
    assert request["tables"] == [["shop", "orders"]]
    assert set(request["asked_by"]) == {"user", "host", "program", "pid"}
    request["asked_by"] = {"user": "ann", "host": "db1", "program": "x snapshot", "pid": 7}
    assert asked_by(request) == "ann@db1 (x snapshot, pid 7)"


@pytest.mark.parametrize("said", [None, "ann", [], 7])
def test_who_asked_may_be_unknown(said: object) -> None:
    assert asked_by({"asked_by": said}) == "unknown"


def test_who_asked_is_one_short_line() -> None:
    said = {"user": "a\nb\x1b[2J", "host": "h" * 1000, "program": ["x"], "pid": {}}
    assert asked_by({"asked_by": said}) == f"a?b?[2J@{'h' * 64}… (unknown, pid unknown)"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "it is not JSON"),
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"\xff\xfe\xfd", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"1" * 5000, "it is not JSON"),
        (b"null", "it is not a JSON object with a command"),
        (b'"command"', "it is not a JSON object with a command"),
        (b'["command"]', "it is not a JSON object with a command"),
        (b"{}", "it is not a JSON object with a command"),
        (b'{"command": ["snapshot"]}', "it is not a JSON object with a command"),
        (b'{"command": {}}', "it is not a JSON object with a command"),
        (b" " * (REQUEST_BYTES_MAX + 1), "it has 262145 bytes, of 262144 at most"),
    ],
)
def test_what_is_no_request_is_refused(value: bytes | None, why: str) -> None:
    with pytest.raises(RequestRefused) as raised:
        read_request(value)
    assert raised.value.text == why


def test_a_request_that_is_too_large_is_not_made() -> None:
    tables = [["shop", f"t{number}"] for number in range(20_000)]
    with pytest.raises(ConfigError) as raised:
        new_request("snapshot", {"tables": tables})
    size = raised.value.text.split()[3]
    assert raised.value.text == text_of(
        request_errors.TOO_LARGE, size=size, limit=REQUEST_BYTES_MAX
    )


def test_unknown_keys_are_refused() -> None:
    request = {"command": "snapshot", "asked_by": {}, "tables": [], "\x1b[2J": 1, "limit": 5}
    with pytest.raises(RequestRefused) as raised:
        arguments_of(request, "tables", "where")
    assert raised.value.text == "it has unknown keys: ?[2J, limit"
    del request["limit"], request["\x1b[2J"]
    assert arguments_of(request, "tables", "where") == {"tables": []}


@pytest.mark.parametrize(
    ("database", "table"),
    [
        ("shop", None),
        ("shop", 7),
        ("shop", ["t"]),
        ("", "t"),
        ("shop", "t" * 65),
        ("shop", "a\x00b"),
        ("shop", "\ud800"),
        ("shop", "\N{GRINNING FACE}"),
    ],
)
def test_names_that_no_table_has_are_refused(database: object, table: object) -> None:
    with pytest.raises(RequestRefused) as raised:
        table_name(database, table)
    assert raised.value.text == "it names a table that no server can have"


def test_names_of_tables_are_taken_as_they_are() -> None:
    assert table_name("shop", "a b/c.`d`é") == ("shop", "a b/c.`d`é")


class Asked:
    """Requests that have come."""

    def __init__(self, *requests: dict[str, Any]) -> None:
        self.requests: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
        for numbered in enumerate(requests):
            self.requests.put(numbered)

    def close(self) -> None:
        """Nothing is open."""


def test_each_request_is_done_or_said_to_be_refused() -> None:
    identity = ServerIdentity("mysql", "8.0.31", (8, 0, 31), "server", 1, gtid=True)
    position = StreamPosition(identity, StartPoint("mysql", GtidSet(), "binlog.000001", 4))
    done: list[int] = []

    def do(offset: int, request: Mapping[str, Any]) -> None:
        arguments_of(request, "tables")
        done.append(offset)

    asked = Asked(
        {"command": "snapshot", "tables": []},
        {"command": "reboot\n", "asked_by": {"user": "eve", "host": "h", "program": "p", "pid": 1}},
        {"command": "snapshot", "table": "x"},
        {"command": "snapshot", "tables": []},
    )
    with capture_logs() as lines:
        RequestAttendant(asked, position, {"snapshot": do}).step()
    assert done == [0, 3]
    assert position.commands_offset == 4
    assert [line for line in lines if line["log_level"] == "error"] == [
        {
            "command": "reboot?",
            "offset": 1,
            "asked_by": "eve@h (p, pid 1)",
            "error": "its command is not known",
            "code": "R131",
            "event": "a request is refused",
            "log_level": "error",
        },
        {
            "command": "snapshot",
            "offset": 2,
            "asked_by": "unknown",
            "error": "it has unknown keys: table",
            "code": "R131",
            "event": "a request is refused",
            "log_level": "error",
        },
    ]
