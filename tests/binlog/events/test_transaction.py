from __future__ import annotations

from uuid import UUID

import pytest

from connector.binlog.events.transaction import (
    FLAG_MAY_HAVE_SBR,
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
    gtid_and_commit_time,
)
from connector.binlog.gtid import Gtid, GtidSet
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded

UUID_BYTES = bytes(range(16))
GTID = b"\x01" + UUID_BYTES + (7).to_bytes(8, "little")
LOGICAL = b"\x02" + (5).to_bytes(8, "little") + (6).to_bytes(8, "little")


def u56(value: int) -> bytes:
    return value.to_bytes(7, "little")


OWN_TIME = u56(1_700_000_000_123_456)
TWO_TIMES = u56(1 << 55 | 1_700_000_000_123_457) + OWN_TIME
BODIES = [
    GTID,
    GTID + b"\x03 what servers before 5.7.5 wrote",
    GTID + LOGICAL,
    GTID + LOGICAL + OWN_TIME,
    GTID + LOGICAL + OWN_TIME + b"\x64" + (80031).to_bytes(4, "little"),
    GTID + LOGICAL + TWO_TIMES + b"\x64" + (80031).to_bytes(4, "little"),
    GTID + LOGICAL + u56(0),
]


@pytest.mark.parametrize("body", BODIES)
def test_a_stream_reads_of_a_gtid_event_what_its_fields_say(body: bytes) -> None:
    reader = PayloadReader(body)
    event = GtidEvent.decode(PayloadReader(body))

    assert gtid_and_commit_time(reader) == (event.gtid, event.original_commit_timestamp or 0)
    assert reader.offset == 0


@pytest.mark.parametrize("length", [0, 24, 30, 42 + 3, 49 + 6])
def test_a_stream_reads_no_further_than_the_event(length: int) -> None:
    body = (GTID + LOGICAL + TWO_TIMES)[:length]
    with pytest.raises(TruncatedPayload):
        gtid_and_commit_time(PayloadReader(body + bytes(4), 0, length))


def test_a_gtid_of_5_6_is_a_flag_and_a_name() -> None:
    event = GtidEvent.decode(PayloadReader(GTID))
    assert event.gtid == Gtid(UUID(bytes=UUID_BYTES), 7)
    assert event.flags & FLAG_MAY_HAVE_SBR
    assert event.last_committed is None
    assert event.transaction_length is None
    assert encoded(event) == GTID


def test_a_gtid_of_5_7_has_its_position_in_the_commit_order() -> None:
    event = GtidEvent.decode(PayloadReader(GTID + LOGICAL))
    assert (event.last_committed, event.sequence_number) == (5, 6)
    assert (event.immediate_commit_timestamp, event.original_commit_timestamp) == (None, None)
    assert encoded(event) == GTID + LOGICAL


def test_a_gtid_of_8_0_on_the_server_that_committed_first_has_one_time_and_version() -> None:
    tail = u56(1_700_000_000_123_456) + b"\xfc\x00\x02" + (80031).to_bytes(4, "little")
    event = GtidEvent.decode(PayloadReader(GTID + LOGICAL + tail))
    assert event.immediate_commit_timestamp == 1_700_000_000_123_456
    assert event.original_commit_timestamp == 1_700_000_000_123_456
    assert event.transaction_length == 512
    assert (event.immediate_server_version, event.original_server_version) == (80031, 80031)
    assert event.commit_group_ticket is None
    assert encoded(event) == GTID + LOGICAL + tail


def test_a_gtid_of_8_0_on_a_replica_has_two_times_and_versions() -> None:
    tail = (
        u56(1 << 55 | 20)
        + u56(10)
        + b"\x64"
        + (1 << 31 | 80031).to_bytes(4, "little")
        + (50740).to_bytes(4, "little")
        + (99).to_bytes(8, "little")
    )
    event = GtidEvent.decode(PayloadReader(GTID + LOGICAL + tail))
    assert (event.immediate_commit_timestamp, event.original_commit_timestamp) == (20, 10)
    assert (event.immediate_server_version, event.original_server_version) == (80031, 50740)
    assert (event.transaction_length, event.commit_group_ticket) == (100, 99)
    assert encoded(event) == GTID + LOGICAL + tail


def test_a_gtid_of_8_0_1_has_a_time_alone() -> None:
    event = GtidEvent.decode(PayloadReader(GTID + LOGICAL + u56(10)))
    assert (event.immediate_commit_timestamp, event.transaction_length) == (10, None)
    assert encoded(event) == GTID + LOGICAL + u56(10)


@pytest.mark.parametrize("tail", [b"\x01" + bytes(8), b"\x07"])
def test_what_older_and_newer_servers_lay_out_otherwise_is_kept(tail: bytes) -> None:
    event = GtidEvent.decode(PayloadReader(GTID + tail))
    assert (event.last_committed, event.rest) == (None, tail)
    assert encoded(event) == GTID + tail


@pytest.mark.parametrize("gno", [0, -1, 2**63 - 1])
def test_the_number_of_a_gtid_has_a_range(gno: int) -> None:
    body = GTID[:17] + gno.to_bytes(8, "little", signed=True)
    with pytest.raises(DecodeError) as caught:
        GtidEvent.decode(PayloadReader(body))
    assert caught.value.text == f"{gno} is not the number of a GTID"


def test_an_anonymous_transaction_has_the_same_facts_and_no_name() -> None:
    body = b"\x00" + bytes(24) + LOGICAL
    event = AnonymousGtidEvent.decode(PayloadReader(body))
    assert (event.flags, event.last_committed, event.sequence_number) == (0, 5, 6)
    assert encoded(event) == body


def test_an_anonymous_transaction_with_a_name_is_an_error() -> None:
    with pytest.raises(DecodeError) as caught:
        AnonymousGtidEvent.decode(PayloadReader(GTID))
    assert caught.value.text == "it has a GTID, but an anonymous transaction has none"


@pytest.mark.parametrize("length", [*range(25), *range(26, 42)])
def test_a_gtid_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        GtidEvent.decode(PayloadReader((GTID + LOGICAL)[:length]))


@pytest.mark.parametrize("length", range(8))
def test_an_xid_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload) as caught:
        XidEvent.decode(PayloadReader(bytes(length)))
    assert caught.value.text == f"need 8 bytes at offset 0, but the payload ends at {length}"


def test_the_gtids_of_earlier_files_are_a_set() -> None:
    for text in ("", f"{UUID(bytes=UUID_BYTES)}:1-4:7", f"{UUID(bytes=UUID_BYTES)}:1:nightly:2-3"):
        body = GtidSet.parse(text).encode()
        event = PreviousGtidsEvent.decode(PayloadReader(body))
        assert (str(event.gtid_set), encoded(event)) == (text, body)


def test_an_xid_is_encoded_again() -> None:
    assert encoded(XidEvent.decode(PayloadReader(bytes(range(8))))) == bytes(range(8))
