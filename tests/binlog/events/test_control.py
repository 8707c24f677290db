from __future__ import annotations

import pytest

from connector.binlog.events.control import IncidentEvent, RotateEvent, SlaveEvent
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

ROTATE = (4).to_bytes(8, "little") + b"binlog.000002"


@pytest.mark.parametrize("length", range(8))
def test_rotate_cut_inside_the_position_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload) as caught:
        RotateEvent.decode(PayloadReader(ROTATE[:length]))
    assert caught.value.text == f"need 8 bytes at offset 0, but the payload ends at {length}"


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
    assert caught.value.text == message


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
    assert caught.value.text == (
        "the names of the source and its log are not two, each with an end"
    )
