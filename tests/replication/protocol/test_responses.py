from __future__ import annotations

import pytest

from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.replication.protocol.responses import EofPacket, ErrPacket


def test_an_error_has_code_sqlstate_and_message() -> None:
    body = PayloadReader(b"\xd4\x04#HY000Could not find first log file name")
    assert ErrPacket.decode(body) == ErrPacket(1236, "HY000", "Could not find first log file name")


def test_an_error_before_the_login_has_no_sqlstate() -> None:
    body = PayloadReader(b"\x10\x04Too many connections")
    assert ErrPacket.decode(body) == ErrPacket(1040, "", "Too many connections")


def test_an_error_whose_text_is_not_utf8_is_still_an_error() -> None:
    assert ErrPacket.decode(PayloadReader(b"\xd4\x04file \xff")).message == "file �"


@pytest.mark.parametrize("length", range(2))
def test_an_error_without_its_code_is_truncated(length: int) -> None:
    with pytest.raises(TruncatedPayload) as caught:
        ErrPacket.decode(PayloadReader(b"\xd4\x04"[:length]))
    assert caught.value.text == f"need 2 bytes at offset 0, but the payload ends at {length}"


def test_an_eof_has_warnings_and_status() -> None:
    assert EofPacket.decode(PayloadReader(b"\x01\x00\x02\x00")) == EofPacket(1, 2)


def test_an_eof_may_be_bare() -> None:
    assert EofPacket.decode(PayloadReader(b"")) == EofPacket(0, 0)
