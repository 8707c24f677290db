from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.events.gtid_tagged import (
    GtidTaggedEvent,
    read_message_head,
    read_signed_varlen,
    read_varlen,
    read_varlen_bytes,
)
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog import encoders
from tests.binlog.encoders import encoded

# A GTID of MySQL 9.6, 55778904-0299-11f1-b1b8-4ef0c4956feb:mytag:3.
HEAD = "02 78 00"
FLAGS = "00 00"
UUID = "02 aa ee 25 02 08 04 65 02 22 c5 03 c5 02 e1 02 9c c1 03 11 03 55 02 de ad 03"
GNO = "04 0c"
TAG = "06 0a 6d 79 74 61 67"
COMMIT = "08 00 0a 04 0c 7f 1c f3 b8 14 24 4a 06 10 a1 04 12 43 0f 0b"


def message(*fields: str, last_known: int = 0) -> PayloadReader:
    body = bytes.fromhex("".join(fields))
    return PayloadReader(bytes([2, (len(body) + 3) << 1, last_known << 1]) + body)


def varlen(value: int) -> bytes:
    """The encoder of the format: as many one-bits as bytes follow."""
    for following in range(8):
        if value < 1 << 7 * (following + 1):
            first = value << following + 1 | (1 << following) - 1
            return first.to_bytes(following + 1, "little")
    return b"\xff" + value.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", 0),
        ("fe", 127),
        ("2502", 0x89),
        ("fdff", 2**14 - 1),
        ("430f0b", 90600),
        ("7f" + "ff" * 7, 2**56 - 1),
        ("ff" + "ff" * 8, 2**64 - 1),
    ],
)
def test_a_varlen_integer_says_in_its_low_bits_how_many_bytes_follow(data: str, value: int) -> None:
    reader = PayloadReader(bytes.fromhex(data))
    assert (read_varlen(reader), reader.remaining) == (value, 0)
    assert encoders.varlen(value) == bytes.fromhex(data)


@given(st.integers(0, 2**64 - 1))
def test_every_unsigned_integer_is_read_back(value: int) -> None:
    assert read_varlen(PayloadReader(varlen(value))) == value
    assert encoders.varlen(value) == varlen(value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_signed_integer_is_read_back(value: int) -> None:
    folded = value * 2 if value >= 0 else -value * 2 - 1
    assert read_signed_varlen(PayloadReader(varlen(folded))) == value
    assert encoders.signed_varlen(value) == varlen(folded)


def test_a_string_has_a_length() -> None:
    assert read_varlen_bytes(PayloadReader(b"\x04ab")) == b"ab"
    with pytest.raises(TruncatedPayload):
        read_varlen_bytes(PayloadReader(b"\x06ab"))


def test_a_newer_serialization_is_refused() -> None:
    with pytest.raises(DecodeError) as caught:
        read_message_head(PayloadReader(b"\x04\x06\x00"))
    assert caught.value.text == "serialization version 2 is not known; upgrade the connector"


def test_a_message_must_fill_its_event() -> None:
    with pytest.raises(DecodeError) as caught:
        read_message_head(PayloadReader(b"\x02\x08\x00"))
    assert caught.value.text == "the message says it has 4 bytes, but the event has 3"
    with pytest.raises(DecodeError) as caught:
        read_message_head(PayloadReader(b"\x02" + varlen(2**63) + b"\x00"))
    assert caught.value.text == f"the message says it has {2**63} bytes, but the event has 11"


def test_a_tagged_gtid_is_read() -> None:
    body = bytes.fromhex(HEAD + FLAGS + UUID + GNO + TAG + COMMIT)
    event = GtidTaggedEvent.decode(PayloadReader(body))
    assert str(event.gtid) == "55778904-0299-11f1-b1b8-4ef0c4956feb:mytag:3"
    assert event.transaction_length == 296
    assert encoded(event) == body


def test_original_facts_differ_from_the_immediate_ones_where_they_are_given() -> None:
    tail = "0c 02 0e 04 12 06 14 08 16 0a"
    event = GtidTaggedEvent.decode(message(UUID, GNO, tail))
    assert (event.immediate_commit_timestamp, event.original_commit_timestamp) == (1, 2)
    assert (event.immediate_server_version, event.original_server_version) == (3, 4)
    assert (event.commit_group_ticket, event.gtid.tag, event.flags) == (5, "", 0)
    assert event.transaction_length is None
    assert encoded(event) == message(FLAGS, UUID, GNO, "06 00", tail).data


@pytest.mark.parametrize("field", ["0c", "0e"])
def test_a_time_of_more_than_56_bits_is_refused(field: str) -> None:
    latest = GtidTaggedEvent.decode(message(UUID, GNO, field, varlen(2**56 - 1).hex()))
    assert latest.original_commit_timestamp == 2**56 - 1
    for value in (2**56, 2**63, 2**64 - 1):
        with pytest.raises(DecodeError) as caught:
            GtidTaggedEvent.decode(message(UUID, GNO, field, varlen(value).hex()))
        assert caught.value.text == f"a commit cannot be {value} microseconds after 1970"


def test_a_field_of_a_newer_server_is_left_out() -> None:
    event = GtidTaggedEvent.decode(message(UUID, GNO, "18 ff ff"))
    assert (event.gtid.gno, event.rest) == (3, b"\x18\xff\xff")
    assert encoded(event) == message(FLAGS, UUID, GNO, "06 00", "18 ff ff").data


@pytest.mark.parametrize("length", [0, 100, 124, 125, 126, 127, 128, 5000])
def test_the_size_of_a_message_counts_itself(length: int) -> None:
    encoded = encoders.message(7, bytes(length))
    reader = PayloadReader(encoded)
    assert read_message_head(reader) == 7
    assert reader.remaining == length


def test_the_number_of_a_gtid_has_a_range() -> None:
    with pytest.raises(DecodeError) as caught:
        GtidTaggedEvent.decode(message(UUID, "04 02"))
    assert caught.value.text == "-1 is not the number of a GTID"


def test_a_field_of_a_newer_server_that_must_be_known_is_refused() -> None:
    with pytest.raises(DecodeError) as caught:
        GtidTaggedEvent.decode(message(UUID, GNO, "18 00", last_known=12))
    assert caught.value.text == (
        "field 12 is not known and must not be left out; upgrade the connector"
    )


@pytest.mark.parametrize("fields", [UUID, GNO])
def test_a_message_without_its_gtid_is_refused(fields: str) -> None:
    with pytest.raises(DecodeError) as caught:
        GtidTaggedEvent.decode(message(fields))
    assert caught.value.text == "the message lacks the uuid or the number of its GTID"


def test_a_uuid_is_made_of_bytes() -> None:
    with pytest.raises(DecodeError) as caught:
        GtidTaggedEvent.decode(message("02", "0104" + "00" * 15, GNO))
    assert caught.value.text == "a byte of the uuid is above 255"


def test_a_tag_is_ascii() -> None:
    with pytest.raises(DecodeError) as caught:
        GtidTaggedEvent.decode(message(UUID, GNO, "06 02 e9"))
    assert caught.value.text == "the tag of the GTID is not ASCII"
