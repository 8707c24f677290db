from __future__ import annotations

import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.column import ColumnType
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.compression import EVENT_LENGTH_MAX, read_compressed
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.log_bytes import event, format_description, table_map

# Post-header lengths as MariaDB 10.5 writes them, by event type from 1 on.
LENGTHS = bytearray(171)
LENGTHS[:26] = bytes.fromhex("380d0008001200040404041200005f00041a08000000080808 02")
LENGTHS[159:171] = bytes((0, 4, 19, 4, 0, 13, 8, 8, 8, 10, 10, 10))
MARIADB = format_description(b"10.5.23-MariaDB-log", lengths=bytes(LENGTHS))

QUERY_HEAD = (
    (9).to_bytes(4, "little")
    + (1).to_bytes(4, "little")
    + b"\x04\x00\x00\x05\x00"
    + b"\x00\x00\x00\x00\x00"
    + b"shop\x00"
)
INT_ROW = b"\x00" + (7).to_bytes(4, "little")


def record(data: bytes, *, length: int | None = None, length_bytes: int = 1) -> bytes:
    """Return `data` as MariaDB compresses it; a `length` given is told instead of the truth."""
    told = len(data) if length is None else length
    return bytes([0x80 | length_bytes]) + told.to_bytes(length_bytes, "big") + zlib.compress(data)


def decoder() -> EventDecoder:
    ready = EventDecoder(file="binlog.000001")
    ready.decode(MARIADB)
    ready.decode(event(EventType.TABLE_MAP_EVENT, table_map([(ColumnType.LONG, b"")])))
    return ready


def refusal(record: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        read_compressed(PayloadReader(record))
    return caught.value.text


@given(st.binary(max_size=500), st.integers(1, 4))
def test_what_was_compressed_comes_out(data: bytes, length_bytes: int) -> None:
    if len(data) < 256**length_bytes:
        packed = record(data, length_bytes=length_bytes)
        assert read_compressed(PayloadReader(packed)) == data


def test_a_compressed_statement_is_a_query() -> None:
    text = b"CREATE TABLE t (id INT)" * 20
    data = event(
        EventType.QUERY_COMPRESSED_EVENT, QUERY_HEAD + record(text, length_bytes=2), log_pos=600
    )
    decoded = decoder().decode(data)
    body = decoded.body
    assert isinstance(body, QueryEvent)
    assert (body.schema, body.thread_id, body.query) == ("shop", 9, text.decode())
    assert decoded.header.type_code == EventType.QUERY_COMPRESSED_EVENT
    assert decoded.data == data


def test_a_compressed_statement_may_have_a_longer_fixed_part() -> None:
    lengths = LENGTHS.copy()
    lengths[EventType.QUERY_COMPRESSED_EVENT - 1] = 15
    log = EventDecoder(file="binlog.000001")
    log.decode(format_description(b"10.5.23-MariaDB-log", lengths=bytes(lengths)))
    head = QUERY_HEAD[:13] + b"ab" + QUERY_HEAD[13:]
    body = log.decode(event(EventType.QUERY_COMPRESSED_EVENT, head + record(b"SELECT 1"))).body
    assert isinstance(body, QueryEvent)
    assert (body.schema, body.query) == ("shop", "SELECT 1")


@pytest.mark.parametrize(
    ("event_type", "kind", "extra"),
    [
        (EventType.WRITE_ROWS_COMPRESSED_EVENT_V1, RowsKind.INSERT, b""),
        (EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1, RowsKind.UPDATE, b""),
        (EventType.DELETE_ROWS_COMPRESSED_EVENT_V1, RowsKind.DELETE, b""),
        (EventType.WRITE_ROWS_COMPRESSED_EVENT, RowsKind.INSERT, b"\x02\x00"),
        (EventType.UPDATE_ROWS_COMPRESSED_EVENT, RowsKind.UPDATE, b"\x02\x00"),
        (EventType.DELETE_ROWS_COMPRESSED_EVENT, RowsKind.DELETE, b"\x02\x00"),
    ],
)
def test_compressed_rows_are_rows(event_type: EventType, kind: RowsKind, extra: bytes) -> None:
    update = kind is RowsKind.UPDATE
    head = (42).to_bytes(6, "little") + b"\x01\x00" + extra + b"\x01" + b"\xff" * (1 + update)
    body = decoder().decode(event(event_type, head + record(INT_ROW * 2))).body
    assert isinstance(body, RowsEvent)
    assert body.kind is kind
    values = [row.after or row.before for row in body.rows()]
    assert values == [[7]] if update else [[7], [7]]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (QUERY_HEAD[:-1], "need 10 bytes at offset 32, but the payload ends at 41"),
        (QUERY_HEAD, "need 1 bytes at offset 42, but the payload ends at 42"),
        (QUERY_HEAD[:9], "need 13 bytes at offset 19, but the payload ends at 28"),
    ],
)
def test_a_compressed_statement_that_is_cut_is_an_error(body: bytes, reason: str) -> None:
    with pytest.raises(EventError) as caught:
        decoder().decode(event(EventType.QUERY_COMPRESSED_EVENT, body))
    assert caught.value.reason.text == reason


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"\x00\x01x", "0x00 does not start a record that zlib compressed"),
        (b"\x91\x01x", "0x91 does not start a record that zlib compressed"),
        (b"\x80\x01x", "0x80 does not start a record that zlib compressed"),
        (b"\x85\x01\x01\x01\x01\x01x", "0x85 does not start a record that zlib compressed"),
        (record(b"abc", length=2), "its record does not hold exactly the 2 bytes that it says"),
        (record(b"abc", length=4), "its record does not hold exactly the 4 bytes that it says"),
        (record(b"abc")[:-1], "its record does not hold exactly the 3 bytes that it says"),
        (record(b"abc") + b"d", "its record does not hold exactly the 3 bytes that it says"),
        (
            record(b"abc", length=EVENT_LENGTH_MAX + 1, length_bytes=4),
            "1073741825 bytes before compression are more than any event has",
        ),
        (
            b"\x81\x03abc",
            "it cannot be decompressed: Error -3 while decompressing data: incorrect header check",
        ),
    ],
)
def test_a_record_that_is_not_true_is_an_error(packed: bytes, reason: str) -> None:
    assert refusal(packed) == reason


BOMB = """
import resource, zlib
from connector.binlog.events.compression import read_compressed
from connector.foundation.errors import DecodeError
from connector.binlog.payload_reader import PayloadReader

zeros = zlib.compressobj()
packed = b"".join(zeros.compress(bytes(1_000_000)) for _ in range(500)) + zeros.flush()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for stated in (1000, 1 << 30):
    head = b"\\x84" + stated.to_bytes(4, "big")
    data = packed if stated == 1000 else packed[:1000]
    try:
        read_compressed(PayloadReader(head + data))
    except DecodeError as error:
        print(error.text)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_a_length_that_lies_is_noticed_in_bounded_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMB], capture_output=True, text=True, check=True, timeout=60
    )
    first, second, grown = done.stdout.splitlines()
    assert first == "its record does not hold exactly the 1000 bytes that it says"
    assert second == "its record does not hold exactly the 1073741824 bytes that it says"
    assert int(grown) < 16_000_000


ONCE = """
import resource, sys, zlib
from connector.binlog.events.compression import read_compressed
from connector.binlog.payload_reader import PayloadReader

size = 200_000_000
pack = zlib.compressobj()
packed = b"".join(pack.compress(bytes(1_000_000)) for _ in range(200)) + pack.flush()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = read_compressed(PayloadReader(b"\\x84" + size.to_bytes(4, "big") + packed), b"head")
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(len(found), grown)
"""


def test_what_expands_a_thousandfold_is_in_memory_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONCE], capture_output=True, text=True, check=True, timeout=60
    )
    size, grown = map(int, done.stdout.split())
    assert size == 200_000_004
    assert grown < 1.4 * size
