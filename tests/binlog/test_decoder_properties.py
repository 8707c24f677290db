"""Whatever the bytes are: an event or an `EventError`, never anything else."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.json_document import json_text
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.rows import RowsEvent
from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from connector.foundation.errors import DecodeError
from tests.binlog.log_bytes import (
    FORMAT_DESCRIPTION,
    checksummed,
    event,
    table_map_of_every_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.event import Event

FILES = [
    "seed/mysql-bin.000005",
    "seed/mysql-bin.000006",
    "recorded/mariadb-bin.000001",
    "recorded/mysql-bin.000066",
    "recorded/json.binlog.000001",
    "recorded/json-opaque.binlog",
    "recorded/vector.binlog",
    "recorded/binlog_transaction_with_GTID_TAG.000001",
    "recorded/binlog_savepoint.000001",
    "recorded/write-partial-row.binlog",
    "recorded/ver_5_1-wl2325_r.001",
    "recorded/bug11747887-bin.000003",
    "recorded/bug40482-bin.000001",
]


def decoder_behind(
    description: bytes = FORMAT_DESCRIPTION, *, verify_checksum: bool = True
) -> EventDecoder:
    decoder = EventDecoder(file="binlog.000001", verify_checksum=verify_checksum)
    decoder.decode(description)
    return decoder


def fork_of(decoder: EventDecoder, description: bytes) -> EventDecoder:
    """Return a decoder that knows the table maps of another one, and may be broken."""
    fork = decoder_behind(description, verify_checksum=False)
    rows, known = fork._bodies._rows, decoder._bodies._rows
    rows._table_map = known._table_map
    rows._more_table_maps = dict(known._more_table_maps)
    return fork


def consume(decoded: Event) -> None:
    if isinstance(decoded.body, RowsEvent):
        for _ in decoded.body.rows(apply_diffs=True):
            pass


@given(st.binary(max_size=200))
def test_random_bytes_are_an_error(data: bytes) -> None:
    with pytest.raises(EventError):
        EventDecoder().decode(data)


@given(st.sampled_from(EventType), st.binary(max_size=300), st.sampled_from([0, 0x20, 0x80]))
def test_a_random_body_of_any_type_is_an_event_or_an_error(
    event_type: EventType, body: bytes, flags: int
) -> None:
    decoder = decoder_behind()
    with suppress(EventError):
        consume(decoder.decode(event(event_type, body, flags=flags)))


@given(st.data(), st.binary(max_size=400))
def test_random_rows_of_every_column_type_are_rows_or_an_error(
    data: st.DataObject, rows: bytes
) -> None:
    decoder = decoder_behind()
    table_map, columns = table_map_of_every_type()
    decoder.decode(table_map)
    bitmap = data.draw(st.binary(min_size=(columns + 7) // 8, max_size=(columns + 7) // 8))
    head = bytes.fromhex("2a0000000000 0100 0200") + bytes([columns]) + bitmap
    with suppress(EventError):
        consume(decoder.decode(event(EventType.WRITE_ROWS_EVENT, head + rows)))


@given(st.binary(max_size=200))
def test_a_random_json_document_is_text_or_an_error(document: bytes) -> None:
    with suppress(DecodeError):
        assert isinstance(json_text(document), str)


@pytest.mark.parametrize("name", FILES)
def test_any_prefix_of_an_event_is_an_error(
    recorded: Callable[[str], list[bytes]], name: str
) -> None:
    whole = EventDecoder(file=Path(name).name)
    first = recorded(name)[0]
    for data in recorded(name):
        for length in range(len(data)):
            decoder = decoder_behind(first)
            with pytest.raises(EventError):
                decoder.decode(data[:length])
        whole.decode(data)


@pytest.mark.parametrize("name", FILES)
def test_an_event_that_ends_early_but_says_so_is_an_event_or_an_error(
    recorded: Callable[[str], list[bytes]], name: str
) -> None:
    decoder = EventDecoder(verify_checksum=False)
    first = recorded(name)[0]
    for data in recorded(name):
        for length in range(19, len(data), 1 + len(data) // 50):
            cut = data[:9] + length.to_bytes(4, "little") + data[13:length]
            fork = fork_of(decoder, first)
            with suppress(EventError):
                consume(fork.decode(cut))
        decoder.decode(data)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_is_an_event_or_an_error(
    recorded: Callable[[str], list[bytes]], name: str
) -> None:
    decoder = EventDecoder(verify_checksum=False)
    first = recorded(name)[0]
    for data in recorded(name):
        for place in range(13, len(data), 1 + len(data) // 100):
            for flip in (0x01, 0x80, 0xFF):
                changed = data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :]
                fork = fork_of(decoder, first)
                with suppress(EventError):
                    consume(fork.decode(changed))
        decoder.decode(data)


def test_every_flipped_bit_of_an_event_is_found_and_moves_no_position() -> None:
    data = event(EventType.XID_EVENT, (9).to_bytes(8, "little"), log_pos=157)
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        decoder = decoder_behind()
        with pytest.raises(EventError, match=r": (CRC32 is|its header says) ") as caught:
            decoder.decode(bytes(changed))
        assert caught.value.position == 126


def test_the_checksum_is_the_zlib_crc32() -> None:
    body = b"payload"
    assert checksummed(body) == body + zlib.crc32(body).to_bytes(4, "little")
