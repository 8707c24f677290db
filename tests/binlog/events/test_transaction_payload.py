from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.column import ColumnType
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.compression import CompressionType
from connector.binlog.events.control import IgnorableEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import XidEvent
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import encode_lenenc
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event, table_map

if TYPE_CHECKING:
    from connector.binlog.event import Event

ZSTD = CompressionType.ZSTD
NONE = CompressionType.NONE
XID = event(EventType.XID_EVENT, (9).to_bytes(8, "little"), checksum=False)
TABLE_MAP = event(EventType.TABLE_MAP_EVENT, table_map([(ColumnType.LONG, b"")]), checksum=False)
ROW = b"\x00" + (7).to_bytes(4, "little")
ROWS_HEAD = (42).to_bytes(6, "little") + b"\x01\x00" + b"\x02\x00" + b"\x01\xff"
ROWS = event(EventType.WRITE_ROWS_EVENT, ROWS_HEAD + ROW, checksum=False)


def field(number: int, value: int) -> bytes:
    encoded = encode_lenenc(value)
    return bytes([number, len(encoded)]) + encoded


def payload(
    inside: bytes,
    *,
    compression: int = ZSTD,
    uncompressed_size: int | None = None,
    compressed: bytes | None = None,
    extra: bytes = b"",
) -> bytes:
    """Return a TRANSACTION_PAYLOAD_EVENT; what is given is told instead of the truth."""
    if compressed is None:
        compressed = inside if compression == NONE else zstandard.compress(inside)
    body = field(2, compression) + extra + field(1, len(compressed))
    if compression != NONE or uncompressed_size is not None:
        body += field(3, len(inside) if uncompressed_size is None else uncompressed_size)
    return event(EventType.TRANSACTION_PAYLOAD_EVENT, body + b"\0" + compressed, log_pos=0)


def decoder() -> EventDecoder:
    ready = EventDecoder(file="binlog.000001")
    ready.decode(FORMAT_DESCRIPTION)
    return ready


def decode(data: bytes) -> TransactionPayloadEvent:
    body = decoder().decode(data).body
    assert isinstance(body, TransactionPayloadEvent)
    return body


def refusal(data: bytes) -> EventError:
    with pytest.raises(EventError) as caught:
        list(decode(data).events())
    return caught.value


@pytest.mark.parametrize("compression", [ZSTD, NONE])
def test_the_events_of_a_transaction_come_out_of_its_payload(compression: CompressionType) -> None:
    inside = TABLE_MAP + ROWS + XID
    body = decode(payload(inside, compression=compression))
    assert (body.payload.compression, body.payload.uncompressed_size) == (compression, len(inside))
    assert body.payload.unknown_fields == 0
    mapped, written, committed = body.events()
    assert isinstance(mapped.body, TableMapEvent)
    assert isinstance(written.body, RowsEvent)
    assert [row.after for row in written.body.rows()] == [[7]]
    assert committed.body == XidEvent(9)
    assert [inner.data for inner in (mapped, written, committed)] == [TABLE_MAP, ROWS, XID]


def test_the_events_inside_have_the_position_of_their_payload_and_no_checksum() -> None:
    data = payload(XID)
    outer = decoder().decode(data)
    assert isinstance(outer.body, TransactionPayloadEvent)
    (inner,) = outer.body.events()
    assert (inner.file, inner.position, inner.next_position) == (
        "binlog.000001",
        outer.position,
        outer.next_position,
    )
    assert (outer.position, outer.next_position) == (126, 126 + len(data))
    assert (inner.header.log_pos, inner.checksum) == (0, None)


def test_the_events_inside_can_be_read_again() -> None:
    body = decode(payload(TABLE_MAP + ROWS + XID))
    assert [e.data for e in body.events()] == [e.data for e in body.events()]


def test_table_maps_of_a_payload_are_of_no_use_outside() -> None:
    log = decoder()
    outer = log.decode(payload(TABLE_MAP + ROWS.replace(b"\x01\x00\x02\x00", b"\x00\x00\x02\x00")))
    assert isinstance(outer.body, TransactionPayloadEvent)
    assert len(list(outer.body.events())) == 2
    with pytest.raises(EventError) as caught:
        log.decode(event(EventType.WRITE_ROWS_EVENT, ROWS_HEAD + ROW))
    assert caught.value.reason.text == "no TABLE_MAP_EVENT of this statement describes table id 42"


def test_unknown_fields_of_the_header_are_skipped_and_counted() -> None:
    body = decode(payload(XID, extra=b"\x07\x02ab" + b"\xfc\x00\x01\x00"))
    assert body.payload.unknown_fields == 2
    assert [inner.body for inner in body.events()] == [XidEvent(9)]


def test_an_unknown_event_inside_that_may_be_ignored_is_counted() -> None:
    log = decoder()
    outer = log.decode(payload(event(99, b"?", flags=0x80, checksum=False)))
    assert isinstance(outer.body, TransactionPayloadEvent)
    assert [inner.body for inner in outer.body.events()] == [IgnorableEvent(b"?")]
    assert log.ignored_events == {99: 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            event(EventType.TRANSACTION_PAYLOAD_EVENT, field(2, 0) + b"\0"),
            "the payload's header lacks its size or its compression",
        ),
        (
            event(EventType.TRANSACTION_PAYLOAD_EVENT, field(1, 0) + b"\0"),
            "the payload's header lacks its size or its compression",
        ),
        (
            event(EventType.TRANSACTION_PAYLOAD_EVENT, field(2, 0) + field(1, 3) + b"\0ab"),
            "the payload has 2 bytes, but its header says 3",
        ),
        (payload(XID, compression=1), "compression type 1 is not known; upgrade the connector"),
        (
            event(EventType.TRANSACTION_PAYLOAD_EVENT, b"\x01\x02\x00\x00\0"),
            "field 1 of the payload's header is longer than its value",
        ),
        (
            event(EventType.TRANSACTION_PAYLOAD_EVENT, field(2, 0) + field(1, 0)),
            "need 1 bytes at offset 25, but the payload ends at 25",
        ),
    ],
)
def test_a_header_that_is_not_true_is_an_error(data: bytes, reason: str) -> None:
    with pytest.raises(EventError) as caught:
        decoder().decode(data)
    assert caught.value.event_name == "TRANSACTION_PAYLOAD_EVENT"
    assert caught.value.reason.text == reason


def sized(size: int) -> bytes:
    return XID[:9] + size.to_bytes(4, "little") + XID[13:]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            payload(XID + sized(28)),
            "after event 1 inside: the next event says it has 28 bytes, but 27 of 54 are left",
        ),
        (
            payload(sized(18)),
            "after event 0 inside: the next event says it has 18 bytes, but 27 of 27 are left",
        ),
        (
            payload(sized(2**30 + 2**16), uncompressed_size=1 << 62),
            "after event 0 inside: the payload ends 1073807333 bytes too soon",
        ),
        (
            payload(sized(2**30 + 2**16 + 1), uncompressed_size=1 << 62),
            (
                "after event 0 inside: the next event says it has 1073807361 bytes, more than the "
                "1073807360 of the largest event"
            ),
        ),
        (
            payload(XID + sized(0xFFFF_FFFF), uncompressed_size=1 << 62),
            (
                "after event 1 inside: the next event says it has 4294967295 bytes, more than the "
                "1073807360 of the largest event"
            ),
        ),
        (
            payload(XID, uncompressed_size=100),
            "after event 1 inside: the payload ends 19 bytes too soon",
        ),
        (
            payload(XID + XID, uncompressed_size=len(XID)),
            "after event 1 inside: decompression gives more than the 27 bytes that its header says",
        ),
        (
            payload(XID, uncompressed_size=len(XID) + 5),
            "after event 1 inside: the payload ends 5 bytes too soon",
        ),
        (
            payload(XID + XID, compressed=zstandard.compress(XID + XID)[:-6]),
            "after event 0 inside: the payload ends 19 bytes too soon",
        ),
        (
            payload(XID, compressed=zstandard.compress(XID) + b"behind"),
            (
                "after event 1 inside: it cannot be decompressed: zstd decompress error: Unknown "
                "frame descriptor"
            ),
        ),
        (
            payload(XID, compressed=b"no zstd"),
            (
                "after event 0 inside: it cannot be decompressed: zstd decompress error: Unknown "
                "frame descriptor"
            ),
        ),
        (
            payload(XID, compression=NONE, uncompressed_size=len(XID) - 1),
            "after event 0 inside: the next event says it has 27 bytes, but 26 of 26 are left",
        ),
    ],
)
def test_lengths_that_lie_and_damaged_payloads_are_errors(data: bytes, reason: str) -> None:
    error = refusal(data)
    assert (error.file, error.position) == ("binlog.000001", 126)
    assert (error.event_name, error.reason.text) == ("TRANSACTION_PAYLOAD_EVENT", reason)


def test_an_event_inside_that_cannot_be_read_is_named_with_its_number() -> None:
    short = event(EventType.XID_EVENT, b"1234", checksum=False)
    assert refusal(payload(XID + short)).text == (
        "binlog.000001:126: cannot decode XID_EVENT (event 2 of a TRANSACTION_PAYLOAD_EVENT): "
        "need 8 bytes at offset 19, but the payload ends at 23; compare with "
        "`mysqlbinlog --start-position=126 binlog.000001`"
    )


def test_a_row_inside_that_cannot_be_read_is_named_with_the_number_of_its_event() -> None:
    cut = event(EventType.WRITE_ROWS_EVENT, ROWS_HEAD + ROW[:3], checksum=False)
    events: list[Event] = list(decode(payload(TABLE_MAP + cut)).events())
    assert isinstance(events[1].body, RowsEvent)
    with pytest.raises(EventError) as caught:
        list(events[1].body.rows())
    assert caught.value.text.startswith(
        "binlog.000001:126: cannot decode WRITE_ROWS_EVENT (event 2 of a "
        "TRANSACTION_PAYLOAD_EVENT): table db.t, column 1 (LONG): need 4 bytes"
    )


@pytest.mark.parametrize(
    "inner",
    [
        payload(XID)[:-4],
        event(EventType.ROTATE_EVENT, bytes(8) + b"binlog.000009", checksum=False),
        FORMAT_DESCRIPTION,
    ],
)
def test_what_is_never_inside_a_payload_is_refused(inner: bytes) -> None:
    inner = inner[:9] + len(inner).to_bytes(4, "little") + inner[13:]
    assert refusal(payload(inner)).reason.text == "no server writes it inside of a payload"


@given(st.data())
def test_any_change_of_a_payload_gives_events_or_an_error(data: st.DataObject) -> None:
    plain = TABLE_MAP + ROWS + XID
    compression = data.draw(st.sampled_from(CompressionType))
    inside = bytearray(plain if compression is NONE else zstandard.compress(plain))
    for _ in range(data.draw(st.integers(1, 3))):
        inside[data.draw(st.integers(0, len(inside) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(inside[: data.draw(st.integers(0, len(inside)))])
    size = data.draw(st.sampled_from([len(plain), len(cut), 0, 2**64 - 1]))
    body = decode(payload(b"", compression=compression, compressed=cut, uncompressed_size=size))
    with contextlib.suppress(EventError):
        for inner in body.events():
            if isinstance(inner.body, RowsEvent):
                list(inner.body.rows())


BOMB = """
import resource
import zstandard
from connector.binlog.decoder import EventDecoder
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event
from tests.binlog.events.test_transaction_payload import payload

one = event(29, bytes(1_000_000), checksum=False)
count = 400
compressor = zstandard.ZstdCompressor(level=19).compressobj()
compressed = b"".join(compressor.compress(one) for _ in range(count)) + compressor.flush()
data = payload(b"", compressed=compressed, uncompressed_size=count * len(one))
log = EventDecoder(file="binlog.000001")
log.decode(FORMAT_DESCRIPTION)
body = log.decode(data).body
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seen = sum(len(inner.data) for inner in body.events())
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(seen // len(compressed), seen, grown)
"""


def test_a_payload_that_expands_ten_thousand_times_is_read_in_bounded_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMB], capture_output=True, text=True, check=True, timeout=60
    )
    ratio, seen, grown = map(int, done.stdout.split())
    assert ratio > 10_000
    assert seen > 400_000_000
    assert grown < 32_000_000


ONCE = """
import resource
import zstandard
from connector.binlog.decoder import EventDecoder
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event
from tests.binlog.events.test_transaction_payload import payload

size = 200_000_000
head = event(29, b"", checksum=False)
head = head[:9] + size.to_bytes(4, "little") + head[13:]
compressor = zstandard.ZstdCompressor().compressobj()
pieces = [head, bytes(1_000_000 - len(head)), *([bytes(1_000_000)] * 199)]
compressed = b"".join(map(compressor.compress, pieces)) + compressor.flush()
data = payload(b"", compressed=compressed, uncompressed_size=size)
log = EventDecoder(file="binlog.000001")
log.decode(FORMAT_DESCRIPTION)
body = log.decode(data).body
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
(inner,) = body.payload.split()
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(len(inner), grown)
"""


def test_a_large_event_inside_a_payload_is_in_memory_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONCE], capture_output=True, text=True, check=True, timeout=60
    )
    size, grown = map(int, done.stdout.split())
    assert size == 200_000_000
    assert grown < 1.4 * size
