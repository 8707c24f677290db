from __future__ import annotations

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.events.control import StartEncryptionEvent
from connector.binlog.events.transaction import XidEvent
from connector.binlog.header import EventType
from connector.binlog.log_errors import LogRefused, TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded
from tests.binlog.log_bytes import event, format_description

BODY = b"\x01" + (3).to_bytes(4, "little") + bytes(range(12))
XID = event(EventType.XID_EVENT, (9).to_bytes(8, "little"))


# The second and the third event of an encrypted file of MariaDB 11.8.6: at 256, and at 296.
REAL_START = bytes.fromhex(
    "8e70016b a4 01000000 28000000 28010000 0000 01 01000000 257552f987770219af6e96f7 020dca4c"
)
REAL_ENCRYPTED = bytes.fromhex("3cf505932ea40284a71d00000086b8b84d76b427a699deeb3ea39ca3fc")


def decoder(flags: int) -> EventDecoder:
    log = EventDecoder(file="binlog.000001")
    log.decode(format_description(b"11.8.6-MariaDB"))
    log.decode(event(EventType.START_ENCRYPTION_EVENT, BODY, flags=flags))
    return log


def test_the_event_says_how_the_rest_of_the_file_is_encrypted() -> None:
    decoded = StartEncryptionEvent.decode(PayloadReader(BODY))
    assert decoded == StartEncryptionEvent(scheme=1, key_version=3, nonce=bytes(range(12)))
    assert encoded(decoded) == BODY


@pytest.mark.parametrize("data", [XID, b"\xff" * 40, b""])
def test_every_event_after_it_in_a_file_is_refused(data: bytes) -> None:
    log = decoder(flags=0)
    for _ in range(2):
        with pytest.raises(LogRefused) as caught:
            log.decode(data)
        assert caught.value.text == (
            "binlog.000001: encrypted with version 3 of a key that only its MariaDB server has; "
            "read it from the server, which decrypts it"
        )


def test_a_file_of_a_real_server_is_refused_after_the_event() -> None:
    log = EventDecoder(file="binlog.000001")
    log.decode(format_description(b"11.8.6-MariaDB", log_pos=256))
    start = log.decode(REAL_START)
    assert (start.position, start.next_position) == (256, 296)
    assert isinstance(start.body, StartEncryptionEvent)
    assert start.body.key_version == 1
    with pytest.raises(LogRefused):
        log.decode(REAL_ENCRYPTED)


def test_events_that_the_server_decrypted_are_read() -> None:
    assert decoder(flags=0x80).decode(XID).body == XidEvent(9)


def test_a_server_that_starts_in_the_middle_sends_the_event_without_its_position() -> None:
    log = EventDecoder()
    start = (325).to_bytes(8, "little") + b"binlog.000001"
    log.decode(event(EventType.ROTATE_EVENT, start, flags=0x20, timestamp=0))
    log.decode(format_description(b"11.8.6-MariaDB", log_pos=0))
    sent = log.decode(event(EventType.START_ENCRYPTION_EVENT, BODY, flags=0x80, log_pos=0))
    assert (sent.position, sent.next_position) == (325, 325)
    assert log.decode(XID).position == 325


@pytest.mark.parametrize("length", range(len(BODY)))
def test_an_event_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        StartEncryptionEvent.decode(PayloadReader(BODY[:length]))


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(DecodeError) as caught:
        StartEncryptionEvent.decode(PayloadReader(b"\x02" + BODY[1:]))
    assert caught.value.text == "encryption scheme 2 is not known; upgrade the connector"
