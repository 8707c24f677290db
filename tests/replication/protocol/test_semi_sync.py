"""Semi-synchronous replication as bytes."""

from __future__ import annotations

import pytest

from connector.binlog.log_errors import ProtocolError
from connector.replication.protocol.event_stream import EventStream
from connector.replication.protocol.responses import SemiSyncAck, split_header


@pytest.mark.parametrize(("flag", "wanted"), [(0, False), (1, True)])
def test_the_flag_says_whether_an_ack_is_wanted(flag: int, wanted: bool) -> None:
    assert split_header(bytes((0xEF, flag)) + b"event") == (b"event", wanted)


@pytest.mark.parametrize(("data", "found"), [(b"", ""), (b"\xef", "ef"), (b"\0\0", "00 00")])
def test_an_event_without_the_header_is_refused(data: bytes, found: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        split_header(data)
    assert caught.value.text == (
        f"an event of semi-synchronous replication starts with ef and a flag, not with {found!r}"
    )


def test_an_ack_is_a_packet_with_the_number_0() -> None:
    assert SemiSyncAck("binlog.000001", 0x0102030405060708).encode() == bytes.fromhex(
        "160000"  # length of the payload
        "00"  # number
        "ef"
        "0807060504030201"  # position
        "62696e6c6f672e303030303031"  # file, no terminator
    )


def test_packets_are_numbered_from_1_again_after_an_event_that_wants_an_ack() -> None:
    stream = EventStream("server")
    stream.feed(b"\x02\0\0\x01\0a" + b"\x02\0\0\x02\0b" + b"\x02\0\0\x01\0c")
    assert [stream.next_event(), stream.next_event()] == [b"a", b"b"]
    stream.restart_numbers()
    assert stream.next_event() == b"c"
