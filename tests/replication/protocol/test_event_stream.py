"""A script of bytes goes in, events come out, wherever the network cut the bytes."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.header import EVENT_BYTES_MAX
from connector.binlog.log_errors import ProtocolError, TruncatedPayload
from connector.foundation.errors import DecodeError
from connector.replication import dump_errors
from connector.replication.protocol.event_stream import EventStream
from connector.replication.protocol.responses import EofPacket, ErrPacket
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKET_LENGTH_MAX = 2**24 - 1

Said = bytes | ErrPacket | EofPacket


def packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number & 0xFF]) + payload


def packets(payloads: Iterable[bytes]) -> bytes:
    """Frame payloads as a server does: long ones are continued, numbers start at 1."""
    numbers = itertools.count(1)
    framed = []
    for payload in payloads:
        for offset in range(0, len(payload) + 1, PACKET_LENGTH_MAX):
            piece = payload[offset : offset + PACKET_LENGTH_MAX]
            framed.append(packet(next(numbers), piece))
    return b"".join(framed)


def feed(stream: EventStream, data: bytes, cuts: Iterable[int], read_bytes: int) -> Iterator[Said]:
    """Give `data` to the stream in reads that end at `cuts`, or where `read_bytes` are full."""
    offset = 0
    for cut in [*sorted(cuts), len(data)]:
        while offset < cut:
            end = min(cut, offset + read_bytes)
            stream.feed(data[offset:end])
            offset = end
            while (event := stream.next_event()) is not None:
                yield event
            if stream.end is not None:
                yield stream.end
                return


def read(data: bytes, cuts: Iterable[int] = (), read_bytes: int = 64) -> list[Said]:
    return list(feed(EventStream("db:3306"), data, cuts, read_bytes))


def test_an_event_leaves_without_its_ok_byte() -> None:
    assert read(packet(1, b"\x00first") + packet(2, b"\x00second")) == [b"first", b"second"]


def test_packet_numbers_wrap_at_256() -> None:
    events = [bytes([n % 251]) * 3 for n in range(600)]
    assert read(packets(b"\x00" + event for event in events)) == events


def test_an_error_ends_the_script() -> None:
    data = packet(1, b"\x00event") + packet(2, b"\xff\xd4\x04#HY000purged")
    assert read(data) == [b"event", ErrPacket(1236, "HY000", "purged")]


def test_the_error_of_a_shutdown_may_be_numbered_from_zero() -> None:
    data = packet(1, b"\x00event") + packet(0, b"\xff\x1d\x04#08S01Server shutdown in progress")
    assert read(data) == [b"event", ErrPacket(1053, "08S01", "Server shutdown in progress")]


def test_an_eof_is_the_end_of_the_log() -> None:
    assert read(packet(1, b"\xfe\x00\x00\x02\x00")) == [EofPacket(0, 2)]


@given(
    st.lists(st.binary(max_size=200), max_size=12),
    st.sets(st.integers(0, 3000)),
    st.integers(1, 300),
)
def test_events_do_not_depend_on_where_the_network_cut_the_stream(
    events: list[bytes], cuts: set[int], read_bytes: int
) -> None:
    data = packets(b"\x00" + event for event in events)
    assert read(data, {cut for cut in cuts if cut < len(data)}, read_bytes) == events


@pytest.mark.parametrize(
    "event_bytes",
    [
        PACKET_LENGTH_MAX - 2,  # one packet, the longest
        PACKET_LENGTH_MAX - 1,  # with the OK byte a full packet: an empty one follows
        PACKET_LENGTH_MAX,
        2 * PACKET_LENGTH_MAX - 1,  # two full packets and an empty one
        2 * PACKET_LENGTH_MAX + 5,
    ],
)
@pytest.mark.parametrize("cuts", [(), (3, 4, 5, PACKET_LENGTH_MAX + 3, PACKET_LENGTH_MAX + 6)])
def test_an_event_above_16_mib_is_joined_from_its_packets(
    event_bytes: int, cuts: tuple[int, ...]
) -> None:
    event = bytes(range(251)) * (event_bytes // 251 + 1)
    event = event[:event_bytes]
    data = packets([b"\x00" + event, b"\x00next"])
    expected = -(-(event_bytes + 2) // PACKET_LENGTH_MAX)
    assert len(data) == event_bytes + 1 + 4 * expected + len(b"\x00next") + 4
    assert read(data, cuts, 1 << 20) == [event, b"next"]


def test_the_whole_of_a_full_packet_is_not_an_event_before_its_empty_successor() -> None:
    data = packets([b"\x00" + bytes(PACKET_LENGTH_MAX - 1)])
    assert read(data[:-4], read_bytes=1 << 20) == []
    assert [len(event) for event in read(data, read_bytes=1 << 20) if isinstance(event, bytes)]


@pytest.mark.parametrize("number", [0, 1, 3, 255])
def test_a_packet_number_out_of_turn_is_refused(number: int) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(packet(1, b"\x00a") + packet(number, b"\x00b"))
    assert caught.value.text == text_of(
        dump_errors.STREAM_NUMBER, server="db:3306", number=number, needed=2
    )


def test_a_continuation_out_of_turn_is_refused() -> None:
    data = packet(1, b"\x00" + bytes(PACKET_LENGTH_MAX - 1)) + packet(3, b"rest")
    with pytest.raises(ProtocolError, match="packet number 3, but 2 must follow"):
        read(data, read_bytes=1 << 20)


@pytest.mark.parametrize(
    "payload", [b"\x4a\x00\x00", b"\xfb", b"\xfe" + bytes(8)], ids=["other", "null", "long end"]
)
def test_a_first_byte_that_no_dump_has_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(packet(1, payload))
    assert caught.value.text == (
        f"db:3306: the replication stream has a payload of {len(payload)} bytes that starts with "
        f"{payload[0]:#04x}; only 0x00 (an event), 0xff (an error) and 0xfe (its end) may; bytes "
        "were lost, or something between here and the server changed them: look at proxies, or set "
        "source.tls.mode to required"
    )


def test_an_empty_packet_where_an_event_begins_is_refused() -> None:
    with pytest.raises(ProtocolError) as caught:
        read(packet(1, b"") + packet(2, b"\x00event"))
    assert caught.value.text == text_of(dump_errors.STREAM_EMPTY_PACKET, server="db:3306")


def test_an_error_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProtocolError) as caught:
        read(packet(1, b"\xff\xd4"))
    why = TruncatedPayload(2, 0, 1)
    assert caught.value.text == text_of(dump_errors.STREAM_UNREADABLE, server="db:3306", why=why)


def test_an_event_larger_than_any_server_allows_is_refused_before_it_is_gathered() -> None:
    stream = EventStream("db:3306")
    # As if the bytes before were here: a test need not hold a gibibyte.
    stream._leading_byte = 0
    stream._continues = True
    stream._pieces_bytes = EVENT_BYTES_MAX
    with pytest.raises(ProtocolError) as caught:
        list(feed(stream, packet(1, b"more"), [], 64))
    assert caught.value.text == text_of(
        dump_errors.STREAM_EVENT_SIZE, server="db:3306", limit=EVENT_BYTES_MAX
    )


@given(st.binary(max_size=400), st.sets(st.integers(0, 400)))
def test_any_bytes_are_events_or_our_error(data: bytes, cuts: set[int]) -> None:
    with contextlib.suppress(DecodeError):
        read(data, {cut for cut in cuts if cut < len(data)})
