from __future__ import annotations

import pytest

from connector.binlog.events.transaction import XaPrepareEvent, XaXid
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded

# XA PREPARE X'6f6e65',X'',1, as MySQL 8.0.31 writes it.
PREPARED = bytes.fromhex("00 01000000 03000000 00000000 6f6e65")


def test_an_xa_transaction_is_named_as_xa_statements_name_it() -> None:
    event = XaPrepareEvent.decode(PayloadReader(PREPARED))
    assert (event.one_phase, event.xid) == (False, XaXid(1, b"one", b""))
    assert str(event.xid) == "X'6f6e65',X'',1"


def test_commit_in_one_phase_is_told_by_the_first_byte() -> None:
    body = b"\x01" + bytes.fromhex("07000000 03000000 01000000 74776f 62")
    event = XaPrepareEvent.decode(PayloadReader(body))
    assert (event.one_phase, str(event.xid)) == (True, "X'74776f',X'62',7")
    assert encoded(event) == body


@pytest.mark.parametrize("length", range(len(PREPARED)))
def test_a_body_that_is_cut_says_what_is_missing(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        XaPrepareEvent.decode(PayloadReader(PREPARED[:length]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x02" + PREPARED[1:], "one_phase is 2, neither 0 nor 1"),
        (
            PREPARED[:5] + b"\x41\x00\x00\x00" + PREPARED[9:],
            "the name of an XA transaction has parts of at most 64 bytes, not 65 and 0",
        ),
        (
            PREPARED[:9] + b"\xff\xff\xff\xff" + PREPARED[13:],
            "the name of an XA transaction has parts of at most 64 bytes, not 3 and 4294967295",
        ),
    ],
)
def test_a_body_that_no_server_writes_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        XaPrepareEvent.decode(PayloadReader(body))
    assert caught.value.text == message
