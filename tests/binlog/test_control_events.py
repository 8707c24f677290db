from __future__ import annotations

import pytest

from connector.binlog.control_events import (
    FormatDescriptionEvent,
    HeartbeatEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StartEventV3,
)
from connector.binlog.header import EventHeader
from connector.errors import DecodeError, TruncatedPayload
from connector.payload import PayloadReader
from tests.binlog.log_bytes import POST_HEADER_LENGTHS, format_description, start_v3

ROTATE = (4).to_bytes(8, "little") + b"binlog.000002"


def described(version: bytes, tail: bytes = b"") -> FormatDescriptionEvent:
    body = b"\x04\x00" + version.ljust(50, b"\0") + bytes(4) + b"\x13" + POST_HEADER_LENGTHS + tail
    return FormatDescriptionEvent.decode(PayloadReader(body))


def test_a_header_has_nineteen_bytes() -> None:
    reader = PayloadReader(format_description(flags=0xA0))
    header = EventHeader.decode(reader)
    assert reader.offset == 19
    assert (header.type_code, header.event_size, header.log_pos) == (15, 122, 126)
    assert (header.artificial, header.ignorable) == (True, True)


@pytest.mark.parametrize("length", range(8))
def test_rotate_cut_inside_the_position_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload) as caught:
        RotateEvent.decode(PayloadReader(ROTATE[:length]))
    assert str(caught.value) == f"need 8 bytes at offset 0, but the payload ends at {length}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (b"", "the name of the log file is empty"),
        (b"\xff", "the name of the log file is not UTF-8"),
    ],
)
def test_a_log_has_a_name(name: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        RotateEvent.decode(PayloadReader(ROTATE[:8] + name))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "version", [b"5.0.96", b"5.1.34sp1-enterprise-gpl-log", b"5.6.0", b"5.2.14-MariaDB", b"proxy"]
)
def test_old_servers_describe_no_checksums(version: bytes) -> None:
    event = described(version)
    assert event.checksum_algorithm is None
    assert event.post_header_lengths == POST_HEADER_LENGTHS


@pytest.mark.parametrize(
    "version", [b"5.6.1-m5", b"5.7.44-log", b"8.4.0", b"5.3.0-MariaDB", b"10.5.15-MariaDB-log"]
)
def test_newer_servers_describe_checksums(version: bytes) -> None:
    event = described(version, b"\x01" + bytes(4))
    assert event.checksum_algorithm == 1
    assert event.post_header_lengths == POST_HEADER_LENGTHS


def test_mariadb_is_known_by_its_name_or_by_its_event_types() -> None:
    assert described(b"11.8.6-MariaDB", b"\x00" + bytes(4)).mariadb
    assert not described(b"8.0.31", b"\x00" + bytes(4)).mariadb
    body = b"\x04\x00" + b"11.4.2-custom".ljust(50, b"\0") + bytes(4) + b"\x13" + bytes(171)
    assert FormatDescriptionEvent.decode(PayloadReader(body + bytes(5))).mariadb


def test_a_type_that_is_not_described_has_no_post_header_length() -> None:
    event = described(b"8.0.31", b"\x00" + bytes(4))
    assert (event.post_header_length(2), event.post_header_length(0)) == (13, None)
    assert event.post_header_length(200) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x03\x00", "it says binlog format v3, but only v4 has this event"),
        (b"\x04\x00" + bytes(54) + b"\x0d", "a header of 13 bytes is shorter than 19"),
    ],
)
def test_other_formats_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        FormatDescriptionEvent.decode(PayloadReader(body))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00", b"\x01\x01f", b"\x02\x01\x07", b"\x00\x01\x01f\x02\x01\x07", b"\x63\x02ab"],
)
def test_a_heartbeat_of_the_second_version_names_file_and_position(body: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        HeartbeatEvent.decode_v2(PayloadReader(body))
    assert str(caught.value) == "the heartbeat lacks its file or its position"


def test_unknown_fields_of_a_heartbeat_are_skipped() -> None:
    event = HeartbeatEvent.decode_v2(PayloadReader(b"\x63\x02ab\x01\x01f\x02\x01\x07"))
    assert event == HeartbeatEvent("f", 7, exact=True)


START_V3 = start_v3(3, b"4.1.24-log")


def test_a_start_event_names_format_and_server() -> None:
    assert StartEventV3.decode(PayloadReader(START_V3)) == StartEventV3(3, "4.1.24-log", 7)


@pytest.mark.parametrize("length", range(56))
def test_a_start_event_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        StartEventV3.decode(PayloadReader(START_V3[:length]))


def test_a_rotate_of_3_23_leads_to_the_start_of_the_next_file() -> None:
    event = RotateEvent.decode(PayloadReader(b"binlog.002"), has_position=False)
    assert event == RotateEvent(4, "binlog.002")


@pytest.mark.parametrize(
    ("number", "name"), [(0, "NONE"), (1, "LOST_EVENTS"), (2, "UNKNOWN"), (66, "UNKNOWN")]
)
def test_an_incident_has_a_name_and_a_message(number: int, name: str) -> None:
    event = IncidentEvent.decode(PayloadReader(number.to_bytes(2, "little") + b"\x05disk\xff"))
    assert (event.incident, event.name, event.message) == (number, name, "disk\\xff")


@pytest.mark.parametrize("length", range(7))
def test_an_incident_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        IncidentEvent.decode(PayloadReader(b"\x01\x00\x04disk"[:length]))


def test_an_incident_may_have_a_longer_fixed_part() -> None:
    event = IncidentEvent.decode(PayloadReader(b"\x01\x00new\x04disk"), 5)
    assert event == IncidentEvent(1, "disk")


SLAVE = (2**40).to_bytes(8, "little") + (3306).to_bytes(2, "little") + b"db1\0binlog.007\0"


def test_a_slave_event_names_the_source_and_its_log() -> None:
    event = SlaveEvent.decode(PayloadReader(SLAVE))
    assert event == SlaveEvent(2**40, 3306, "db1", "binlog.007")


@pytest.mark.parametrize("length", range(len(SLAVE)))
def test_a_slave_event_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(DecodeError):
        SlaveEvent.decode(PayloadReader(SLAVE[:length]))


def test_a_slave_event_has_two_names() -> None:
    with pytest.raises(DecodeError) as caught:
        SlaveEvent.decode(PayloadReader(SLAVE + b"x\0"))
    assert str(caught.value) == (
        "the names of the source and its log are not two, each with an end"
    )
