"""What is decoded and encoded again is the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.load import ExecLoadEvent
from connector.binlog.header import HEADER_LENGTH, BinlogVersion, EventType
from tests.binlog.encoders import ENCODERS, encoded
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event, start_v3

if TYPE_CHECKING:
    from collections.abc import Callable

QUERY = (155).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"\x04\x00\x00\x06\x00"
QUERY_REST = b"\x07\x01\x00\x63??" + b"shop\0" + b"caf\xe9"
LOAD = b"\x07\0\0\0" + b"\x00\0\0\0" + b"\x03\0\0\0" + b"\x01"
USER_VAR = b"\x01\0\0\0v"

BODIES: list[tuple[EventType, bytes]] = [
    (EventType.QUERY_EVENT, QUERY + QUERY_REST),
    (EventType.EXECUTE_LOAD_QUERY_EVENT, QUERY + LOAD + QUERY_REST),
    (EventType.ROWS_QUERY_LOG_EVENT, b"\x2c" + b"x" * 300),
    (EventType.STOP_EVENT, b""),
    (EventType.ROTATE_EVENT, (4).to_bytes(8, "little") + b"binlog.000002"),
    (EventType.INTVAR_EVENT, b"\x02" + b"\xff" * 8),
    (EventType.RAND_EVENT, bytes(range(16))),
    (EventType.USER_VAR_EVENT, USER_VAR + b"\x01"),
    (EventType.USER_VAR_EVENT, USER_VAR + b"\x00\x02\x3f\0\0\0\x08\0\0\0" + b"\xff" * 8 + b"\x01"),
    (EventType.USER_VAR_EVENT, USER_VAR + b"\x00\x00\x2d\0\0\0\x01\0\0\0\xff"),
    (EventType.APPEND_BLOCK_EVENT, b"\x07\0\0\0block"),
    (EventType.BEGIN_LOAD_QUERY_EVENT, b"\x07\0\0\0block"),
    (EventType.DELETE_FILE_EVENT, b"\x07\0\0\0"),
    (EventType.IGNORABLE_LOG_EVENT, b"anything"),
]

RECORDED = ["ver_5_1_23.001", "bug11747887-bin.000003", "binlog_savepoint.000001"]


@pytest.mark.parametrize(("event_type", "body"), BODIES)
def test_a_body_is_encoded_as_it_was(event_type: EventType, body: bytes) -> None:
    decoder = EventDecoder()
    decoder.decode(FORMAT_DESCRIPTION)
    decoded = decoder.decode(event(event_type, body)).body
    assert encoded(decoded) == body


def test_a_format_description_is_encoded_as_it_was() -> None:
    decoded = EventDecoder().decode(FORMAT_DESCRIPTION).body
    assert isinstance(decoded, FormatDescriptionEvent)
    assert encoded(decoded) == FORMAT_DESCRIPTION[HEADER_LENGTH:-CHECKSUM_LENGTH]


@pytest.mark.parametrize(
    ("event_type", "body"),
    [
        (EventType.START_EVENT_V3, start_v3(3, b"4.1.24-log")),
        (EventType.EXEC_LOAD_EVENT, b"\x07\0\0\0"),
    ],
)
def test_a_body_of_an_old_format_is_encoded_as_it_was(event_type: EventType, body: bytes) -> None:
    data = event(event_type, body, checksum=False)
    decoded = EventDecoder(version=BinlogVersion.V3).decode(data).body
    assert isinstance(decoded, (StartEventV3, ExecLoadEvent))
    assert encoded(decoded) == body


@pytest.mark.parametrize("name", RECORDED)
def test_events_of_recorded_files_are_encoded_as_they_were(
    recorded: Callable[[str], list[bytes]], name: str
) -> None:
    decoder = EventDecoder(counted=True)
    count = 0
    for data in recorded(f"recorded/{name}"):
        decoded = decoder.decode(data)
        if type(decoded.body) in ENCODERS:
            count += 1
            # The files have no checksums.
            without_checksum = data[HEADER_LENGTH:]
            if isinstance(decoded.body, FormatDescriptionEvent) and name.startswith("bug"):
                without_checksum = without_checksum[:-CHECKSUM_LENGTH]
            assert encoded(decoded.body) == without_checksum
    assert count > 5
