"""A body that is said to be readable is decoded without an error; frequent bodies are."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from tests.binlog.files.log_files import COLUMNS, NAMED, SERVER, image, rows_head
from tests.binlog.log_bytes import event, format_description, table_map

if TYPE_CHECKING:
    from connector.binlog.event import Event

LOGICAL = b"\2" + bytes(16)
TIME, ORIGINAL = bytes(6) + b"\x01", bytes(6) + b"\x80"
VERSION, ORIGINAL_VERSION = b"\0\0\0\1", b"\0\0\0\x80"
GNO = b"\1" + SERVER.bytes + (5).to_bytes(8, "little")
QUERY = bytes(8) + b"\2\0\0\5\0" + b"\0\0\0\0\0" + b"db\0BEGIN"
ROWS = rows_head(after=b"\3") + image(1, "a")

READABLE = [
    (EventType.GTID_LOG_EVENT, GNO),
    (EventType.GTID_LOG_EVENT, GNO + LOGICAL),
    (EventType.GTID_LOG_EVENT, GNO + LOGICAL + TIME),
    (EventType.GTID_LOG_EVENT, GNO + LOGICAL + TIME + b"\7" + VERSION),
    (EventType.GTID_LOG_EVENT, GNO + LOGICAL + TIME + b"\xfc\1\1" + VERSION + bytes(8)),
    (
        EventType.GTID_LOG_EVENT,
        GNO + LOGICAL + ORIGINAL + TIME + b"\xfd\1\1\1" + ORIGINAL_VERSION + VERSION,
    ),
    (EventType.QUERY_EVENT, QUERY),
    (EventType.WRITE_ROWS_EVENT, ROWS),
    (EventType.UPDATE_ROWS_EVENT, rows_head(before=b"\3", after=b"\3") + 2 * image(1, "a")),
    (EventType.DELETE_ROWS_EVENT, ROWS),
    (EventType.XID_EVENT, bytes(8)),
]


@pytest.mark.parametrize(("event_type", "body"), READABLE)
def test_frequent_bodies_are_known_to_be_readable(event_type: EventType, body: bytes) -> None:
    found = opened(event_type, body, body)
    assert found is not None
    assert found.undecoded is not None
    assert found.is_readable


def test_a_statement_is_known_only_after_one_with_the_same_bytes() -> None:
    other = QUERY[:-5] + b"BEGIM"
    found = opened(EventType.QUERY_EVENT, QUERY, other)
    assert found is not None
    assert not found.is_readable
    session = opened(EventType.QUERY_EVENT, b"\7" + QUERY[1:], QUERY)
    assert session is not None
    assert session.is_readable


@pytest.mark.parametrize(("event_type", "body"), READABLE)
def test_no_damaged_body_is_said_to_be_readable(event_type: EventType, body: bytes) -> None:
    """Whatever is cut off, added or changed: what is said to be readable has a body."""
    damaged = [body[:length] for length in range(len(body))]
    damaged += [body + bytes(more) for more in (1, 3, 4, 8, 9)]
    for index in range(len(body)):
        for byte in (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF):
            damaged.append(body[:index] + bytes([byte]) + body[index + 1 :])
    said = 0
    for each in damaged:
        found = opened(event_type, each, body)
        if found is not None and found.is_readable:
            said += 1
            _ = found.body
    assert said > 0 or event_type == EventType.QUERY_EVENT


def opened(event_type: EventType, body: bytes, before: bytes) -> Event | None:
    """Return the event with `body` after one with the body `before` was decoded.

    None if the event cannot even be opened.
    """
    decoder = EventDecoder()
    decoder.decode(format_description())
    if event_type == EventType.QUERY_EVENT:
        decoder.decode(event(event_type, before))
    else:
        decoder.decode(event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS, NAMED)))
    with contextlib.suppress(EventError):
        return decoder.open(event(event_type, body))
    return None
