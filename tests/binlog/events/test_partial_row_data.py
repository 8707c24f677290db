from __future__ import annotations

import pytest

from connector.binlog.columns.column import ColumnType
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.mariadb import PartialRowDataEvent
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError, TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded
from tests.binlog.log_bytes import event, format_description, table_map

ROWS_BODY = (
    (42).to_bytes(6, "little")
    + b"\x01\x00\x01\xff"
    + b"".join(b"\x00" + n.to_bytes(4, "little") for n in range(20))
)
ROWS = event(EventType.WRITE_ROWS_EVENT_V1, ROWS_BODY, checksum=False)
XID = event(EventType.XID_EVENT, bytes(8))


def body(total: int, number: int, part: bytes, size: int | None = None) -> bytes:
    flags = b"\x00" if size is None else b"\x01" + size.to_bytes(8, "little")
    return total.to_bytes(4, "little") + number.to_bytes(4, "little") + flags + part


def fragment(total: int, number: int, part: bytes, size: int | None = None) -> bytes:
    return event(EventType.PARTIAL_ROW_DATA_EVENT, body(total, number, part, size))


def fragments(rows: bytes = ROWS) -> list[bytes]:
    return [
        fragment(3, 1, rows[:40], len(rows)),
        fragment(3, 2, rows[40:80]),
        fragment(3, 3, rows[80:]),
    ]


def decoder() -> EventDecoder:
    ready = EventDecoder(file="binlog.000001")
    ready.decode(format_description(b"12.3.1-MariaDB"))
    ready.decode(event(EventType.TABLE_MAP_EVENT, table_map([(ColumnType.LONG, b"")])))
    return ready


def refusal(*events: bytes) -> EventError:
    log = decoder()
    *first, last = events
    for data in first:
        log.decode(data)
    with pytest.raises(EventError) as caught:
        log.decode(last)
    return caught.value


@pytest.mark.parametrize("checksum", [True, False])
def test_the_last_fragment_carries_the_whole_rows_event(checksum: bool) -> None:
    rows = event(EventType.WRITE_ROWS_EVENT_V1, ROWS_BODY, checksum=checksum)
    log = decoder()
    bodies = [log.decode(data).body for data in fragments(rows)]
    assert all(isinstance(part, PartialRowDataEvent) for part in bodies)
    first, second, last = (part for part in bodies if isinstance(part, PartialRowDataEvent))
    assert (first.total_fragments, first.sequence_number, first.original_size) == (3, 1, len(rows))
    assert (first.last, first.rows_event, second.rows_event) == (False, None, None)
    assert last.last
    assert last.rows_event is not None
    assert [row.after for row in last.rows_event.rows()] == [[n] for n in range(20)]


def test_one_fragment_may_be_all() -> None:
    decoded = decoder().decode(fragment(1, 1, ROWS, len(ROWS))).body
    assert isinstance(decoded, PartialRowDataEvent)
    assert decoded.rows_event is not None
    assert encoded(decoded) == body(1, 1, ROWS, len(ROWS))


def test_heartbeats_may_come_between_fragments() -> None:
    first, second, last = fragments()
    log = decoder()
    beat = event(EventType.HEARTBEAT_LOG_EVENT, b"binlog.000001", log_pos=500)
    for data in (first, beat, second):
        log.decode(data)
    decoded = log.decode(last).body
    assert isinstance(decoded, PartialRowDataEvent)
    assert decoded.rows_event is not None


def test_the_statement_ends_with_the_rows_event() -> None:
    assert refusal(*fragments(), event(EventType.WRITE_ROWS_EVENT_V1, ROWS_BODY)).reason.text == (
        "no TABLE_MAP_EVENT of this statement describes table id 42"
    )


FIRST, SECOND, LAST = fragments()


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ((SECOND,), "fragment 2 of 3 came, but no fragment before it"),
        ((FIRST, FIRST), "fragment 1 of 3 came, but fragment 2 of 3 was to come"),
        ((FIRST, LAST), "fragment 3 of 3 came, but fragment 2 of 3 was to come"),
        ((FIRST, fragment(4, 2, b"")), "fragment 2 of 4 came, but fragment 2 of 3 was to come"),
        ((FIRST, SECOND, XID), "it came before fragment 3 of 3 of a rows event"),
        ((fragment(3, 0, b""),), "fragment 0 of 3 cannot be"),
        ((fragment(3, 4, b""),), "fragment 4 of 3 cannot be"),
        (
            (fragment(2, 1, b"12345", 8), fragment(2, 2, b"6789")),
            "the rows event has 8 bytes, but its fragments up to 2 of 2 have 9",
        ),
        (
            (fragment(1, 1, b"12345678", 9),),
            "the rows event has 9 bytes, but its fragments up to 1 of 1 have 8",
        ),
        (
            (fragment(1, 1, ROWS[:-1], len(ROWS) - 1),),
            (
                f"the fragments make {len(ROWS) - 1} bytes that start a WRITE_ROWS_EVENT_V1 of "
                f"{len(ROWS)}, not one whole rows event"
            ),
        ),
        (
            (fragment(1, 1, XID),),
            (
                f"the fragments make {len(XID)} bytes that start a XID_EVENT of {len(XID)}, not "
                "one whole rows event"
            ),
        ),
        ((fragment(1, 1, b"short"),), "need 19 bytes at offset 0, but the payload ends at 5"),
    ],
)
def test_fragments_that_do_not_make_a_rows_event_are_an_error(
    events: tuple[bytes, ...], reason: str
) -> None:
    assert refusal(*events).reason.text == reason


def test_who_goes_on_after_a_missing_fragment_is_told_once() -> None:
    log = decoder()
    log.decode(FIRST)
    with pytest.raises(EventError):
        log.decode(XID)
    assert log.decode(XID).header.type_code == EventType.XID_EVENT


@pytest.mark.parametrize("length", range(17))
def test_a_fragment_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        PartialRowDataEvent.decode(PayloadReader(body(2, 1, b"", 8)[:length]))


def test_a_fragment_of_nothing_is_no_rows_event() -> None:
    with pytest.raises(DecodeError):
        PartialRowDataEvent.decode(PayloadReader(bytes(9)))
