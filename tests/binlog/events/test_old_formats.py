"""Logs of formats that no server of today writes, laid out by hand."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.column import ColumnType
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.context import IntvarEvent
from connector.binlog.events.control import RotateEvent, StopEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.load import LoadEvent, LoadFlag, LoadFormat
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import XidEvent
from connector.binlog.header import BinlogVersion, EventType, detect_version
from connector.binlog.log_errors import EventError
from connector.foundation.errors import DecodeError
from tests.binlog.log_bytes import (
    POST_HEADER_LENGTHS,
    event,
    format_description,
    load,
    old_query,
    start_v3,
    table_map,
    v1_event,
)

if TYPE_CHECKING:
    from connector.binlog.event import Event

INTVAR = b"\x02" + (7).to_bytes(8, "little")
ROTATE = (4).to_bytes(8, "little") + b"binlog.002"

V1_LOG = [
    v1_event(EventType.START_EVENT_V3, start_v3(1, b"3.23.58-log"), server_id=9),
    v1_event(EventType.INTVAR_EVENT, INTVAR),
    v1_event(EventType.QUERY_EVENT, old_query(b"INSERT INTO t VALUES (NULL)")),
    v1_event(EventType.LOAD_EVENT, load([b"id", b"name"], b"/data/t.txt")),
    v1_event(EventType.ROTATE_EVENT, b"binlog.002"),
    v1_event(EventType.STOP_EVENT, b""),
]


def decode(log: list[bytes], file: str = "binlog.001") -> list[Event]:
    decoder = EventDecoder(file=file, version=detect_version(log[0]))
    return [decoder.decode(data) for data in log]


def test_a_log_of_3_23() -> None:
    events = decode(V1_LOG)
    start, intvar, query, loaded, rotate, stop = (e.body for e in events)
    assert start == StartEventV3(1, "3.23.58-log", 7)
    assert intvar == IntvarEvent(2, 7)
    assert isinstance(query, QueryEvent)
    assert (query.query, query.schema) == ("INSERT INTO t VALUES (NULL)", "shop")
    assert (query.thread_id, query.exec_time, query.error_code) == (155, 3, 0)
    assert isinstance(loaded, LoadEvent)
    assert (loaded.schema, loaded.table, loaded.columns) == ("shop", "t", ["id", "name"])
    assert loaded.format == LoadFormat(b",", b"", b"\n", b"", b"\\", LoadFlag(0))
    assert loaded.file_name == "/data/t.txt"
    assert rotate == RotateEvent(4, "binlog.002")
    assert stop == StopEvent()


def test_events_of_3_23_have_positions_though_their_headers_have_none() -> None:
    events = decode(V1_LOG)
    assert [e.position for e in events] == [4, 73, 95, 151, 217, 240]
    assert [e.next_position for e in events] == [73, 95, 151, 217, 240, 253]
    assert {e.file for e in events} == {"binlog.001"}
    assert {(e.header.log_pos, e.header.flags, e.checksum) for e in events} == {(0, 0, None)}
    assert (events[0].header.server_id, events[0].header.event_size) == (9, 69)


@pytest.mark.parametrize("number", range(len(V1_LOG)))
def test_an_event_of_3_23_cut_anywhere_is_an_error(number: int) -> None:
    for length in range(len(V1_LOG[number])):
        decoder = EventDecoder(version=BinlogVersion.V1)
        with pytest.raises(EventError):
            decoder.decode(V1_LOG[number][:length])


def test_a_format_description_in_a_log_of_3_23_is_not_known() -> None:
    decoder = EventDecoder(file="f", version=BinlogVersion.V1)
    with pytest.raises(EventError) as caught:
        decoder.decode(v1_event(EventType.FORMAT_DESCRIPTION_EVENT, b""))
    assert caught.value.reason.text == (
        "this type is not known and not flagged as ignorable (first bytes 01 00 00 00 0f 01 00 00 "
        "00 0d 00 00 00); upgrade the connector"
    )


def v3_event(type_code: EventType, body: bytes, log_pos: int) -> bytes:
    return event(type_code, body, log_pos=log_pos, checksum=False)


@pytest.mark.parametrize(("binlog_version", "positions"), [(3, (4, 79, 107)), (2, (1, 0, 0))])
def test_a_log_of_4_0_is_counted_whatever_its_headers_say(
    binlog_version: int, positions: tuple[int, int, int]
) -> None:
    log = [
        v3_event(EventType.START_EVENT_V3, start_v3(binlog_version, b"4.0.1"), positions[0]),
        v3_event(EventType.INTVAR_EVENT, INTVAR, positions[1]),
        v3_event(EventType.ROTATE_EVENT, ROTATE, positions[2]),
    ]
    assert detect_version(log[0]) == binlog_version
    events = decode(log)
    assert [e.position for e in events] == [4, 79, 107]
    assert [e.header.log_pos for e in events] == list(positions)
    assert events[2].body == RotateEvent(4, "binlog.002")


def test_a_log_of_4_0_may_have_no_start_event() -> None:
    events = decode([v3_event(EventType.QUERY_EVENT, old_query(b"BEGIN"), 4)])
    assert isinstance(events[0].body, QueryEvent)
    assert events[0].body.query == "BEGIN"


def test_a_format_description_after_a_rotate_starts_v4() -> None:
    first = v3_event(EventType.ROTATE_EVENT, ROTATE, 0)
    assert detect_version(first) is BinlogVersion.V3
    xid = event(EventType.XID_EVENT, bytes(8))
    rotate, description, end = decode([first, format_description(), xid])
    assert rotate.body == RotateEvent(4, "binlog.002")
    assert isinstance(description.body, FormatDescriptionEvent)
    assert end.body == XidEvent(0)
    assert end.position == len(first) + len(format_description()) + 4


# Pre-releases of 5.1 and 5.2.

PERMUTED = bytes((56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 79, 6, 6, 6, 6, 0, 4, 26))


def pre_release(version: bytes, lengths: bytes = PERMUTED) -> bytes:
    """A format description without a checksum, as before 5.6.1."""
    body = b"\x04\x00" + version.ljust(50, b"\0") + bytes(4) + b"\x13" + lengths
    return event(EventType.FORMAT_DESCRIPTION_EVENT, body, checksum=False)


@pytest.mark.parametrize(
    "version",
    [
        b"5.1.1-a_drop5p3",
        b"5.1.2-a_drop5p16b",
        b"5.1.4-a_drop5p18",
        b"5.1.4-a_drop6p2",
        b"5.1.5-a_drop5p20",
        b"5.2.0-a_drop6p3",
        b"5.2.2-a_drop6p13-alpha",
    ],
)
def test_types_of_a_pre_release_are_renumbered_by_its_version(version: bytes) -> None:
    body = table_map([(ColumnType.LONG, b"")])
    bare = body[:4] + body[6:17]
    rows = b"\x2a\0\0\0\x01\0\x01\xff\xfe\x07\0\0\0"
    log = [
        pre_release(version),
        event(16, bare, checksum=False),
        event(18, rows, checksum=False),
        event(20, (9).to_bytes(8, "little"), checksum=False),
        event(21, b"\x07\0\0\0x", checksum=False),
    ]
    decoder = EventDecoder(file="f", counted=True)
    description, mapped, changed, xid, begin_load = (decoder.decode(data) for data in log)
    assert isinstance(description.body, FormatDescriptionEvent)
    assert description.body.post_header_lengths == PERMUTED
    assert isinstance(mapped.body, TableMapEvent)
    assert (mapped.header.type_code, mapped.body.table_id) == (EventType.TABLE_MAP_EVENT, 42)
    assert isinstance(changed.body, RowsEvent)
    assert changed.body.kind is RowsKind.UPDATE
    assert changed.body.before_columns_present == changed.body.after_columns_present == b"\xff"
    assert xid.body == XidEvent(9)
    assert begin_load.header.type_code == EventType.BEGIN_LOAD_QUERY_EVENT


@pytest.mark.parametrize(
    "version", [b"5.1.6-a_drop5p20", b"5.1.3-a_drop6p0", b"5.2.3-a_drop6p13", b"5.1.1-alpha"]
)
def test_other_versions_with_such_numbers_are_refused(version: bytes) -> None:
    with pytest.raises(EventError) as caught:
        EventDecoder(file="f").decode(pre_release(version))
    assert caught.value.reason.text == (
        f"server {version.decode()} numbers event types in a way that is not known, as "
        "pre-releases of 5.1 do"
    )


def test_a_pre_release_with_the_numbers_of_today_is_read() -> None:
    described = EventDecoder(file="f").decode(pre_release(b"5.1.1-alpha", POST_HEADER_LENGTHS[:18]))
    assert isinstance(described.body, FormatDescriptionEvent)
    assert described.body.renumbered_types == {}


@given(
    st.sampled_from(list(BinlogVersion)),
    st.integers(0, 255),
    st.binary(max_size=80),
    st.booleans(),
)
def test_any_body_in_any_format_is_an_event_or_an_error(
    version: BinlogVersion, type_code: int, body: bytes, described: bool
) -> None:
    decoder = EventDecoder(file="f", version=version, counted=True)
    if described and version is BinlogVersion.V4:
        decoder.decode(pre_release(b"5.1.17-beta", PERMUTED[:15] + bytes((0, 4, 26, 8, 8, 8, 8))))
    if version is BinlogVersion.V1:
        data = v1_event(type_code, body)
    else:
        data = event(type_code, body, checksum=False)
    with suppress(DecodeError):
        decoded = decoder.decode(data)
        if isinstance(decoded.body, RowsEvent):
            list(decoded.body.rows())
