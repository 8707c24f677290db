from __future__ import annotations

import pytest

from connector.binlog.events.control import TransactionContextEvent, ViewChangeEvent
from connector.binlog.gtid import GtidSet
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded

UUID = b"3e11fa47-71ca-11e1-9e33-c80aa9429562"
SNAPSHOT = GtidSet.parse(f"{UUID.decode()}:1-5")
CONTEXT = (
    bytes([len(UUID)])
    + (17).to_bytes(4, "little")
    + b"\x01"
    + len(SNAPSHOT.encode()).to_bytes(4, "little")
    + (2).to_bytes(4, "little")
    + (1).to_bytes(4, "little")
    + UUID
    + SNAPSHOT.encode()
    + b"\x02\x00w1\x00\x00\x01\x00r"
)
VIEW = (
    b"16342:1".ljust(40, b"\0")
    + (7).to_bytes(8, "little")
    + (2).to_bytes(4, "little")
    + b"\x03\x00key\x05\x00\x00\x00value"
    + b"\x00\x00\x00\x00\x00\x00"
)


def test_a_transaction_context_says_what_certification_needs() -> None:
    event = TransactionContextEvent.decode(PayloadReader(CONTEXT))
    assert event == TransactionContextEvent(
        server_uuid=UUID.decode(),
        thread_id=17,
        gtid_specified=True,
        snapshot_version=SNAPSHOT,
        write_set=[b"w1", b""],
        read_set=[b"r"],
    )
    assert encoded(event) == CONTEXT


def test_a_view_change_carries_certification_info() -> None:
    event = ViewChangeEvent.decode(PayloadReader(VIEW))
    assert event == ViewChangeEvent("16342:1", 7, [(b"key", b"value"), (b"", b"")])
    assert encoded(event) == VIEW


@pytest.mark.parametrize("length", range(len(CONTEXT)))
def test_a_transaction_context_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        TransactionContextEvent.decode(PayloadReader(CONTEXT[:length]))


@pytest.mark.parametrize("length", range(len(VIEW)))
def test_a_view_change_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        ViewChangeEvent.decode(PayloadReader(VIEW[:length]))


def test_a_count_that_lies_ends_with_the_bytes() -> None:
    with pytest.raises(TruncatedPayload):
        ViewChangeEvent.decode(PayloadReader(VIEW[:48] + b"\xff\xff\xff\xff" + VIEW[52:]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (bytes(40) + VIEW[40:], "the view id is empty or goes on after its end"),
        (b"a\0b" + VIEW[3:], "the view id is empty or goes on after its end"),
        (b"\xff" + VIEW[1:], "the view id is not ASCII"),
    ],
)
def test_a_view_has_an_id(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        ViewChangeEvent.decode(PayloadReader(body))
    assert caught.value.text == message


def test_a_server_uuid_is_ascii() -> None:
    body = CONTEXT[:18] + b"\xff" + CONTEXT[19:]
    with pytest.raises(DecodeError) as caught:
        TransactionContextEvent.decode(PayloadReader(body))
    assert caught.value.text == "the server_uuid is not ASCII"


def test_a_snapshot_version_fills_its_position() -> None:
    version = SNAPSHOT.encode() + b"\0"
    body = CONTEXT[:6] + len(version).to_bytes(4, "little") + CONTEXT[10:18] + UUID + version
    with pytest.raises(DecodeError) as caught:
        TransactionContextEvent.decode(PayloadReader(body + CONTEXT[-9:]))
    assert caught.value.text == "1 bytes are left over after the snapshot version"
