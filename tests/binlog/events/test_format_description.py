from __future__ import annotations

import pytest

from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.log_bytes import POST_HEADER_LENGTHS, start_v3


def described(version: bytes, tail: bytes = b"") -> FormatDescriptionEvent:
    body = b"\x04\x00" + version.ljust(50, b"\0") + bytes(4) + b"\x13" + POST_HEADER_LENGTHS + tail
    return FormatDescriptionEvent.decode(PayloadReader(body))


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
    assert caught.value.text == message


START_V3 = start_v3(3, b"4.1.24-log")


def test_a_start_event_names_format_and_server() -> None:
    assert StartEventV3.decode(PayloadReader(START_V3)) == StartEventV3(3, "4.1.24-log", 7)


@pytest.mark.parametrize("length", range(56))
def test_a_start_event_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        StartEventV3.decode(PayloadReader(START_V3[:length]))
