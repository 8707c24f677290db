from __future__ import annotations

import pytest

from connector.binlog.events.control import HeartbeatEvent
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


@pytest.mark.parametrize(
    "body",
    [b"", b"\x00", b"\x01\x01f", b"\x02\x01\x07", b"\x00\x01\x01f\x02\x01\x07", b"\x63\x02ab"],
)
def test_a_heartbeat_of_the_second_version_names_file_and_position(body: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        HeartbeatEvent.decode_v2(PayloadReader(body))
    assert caught.value.text == "the heartbeat lacks its file or its position"


def test_unknown_fields_of_a_heartbeat_are_skipped() -> None:
    event = HeartbeatEvent.decode_v2(PayloadReader(b"\x63\x02ab\x01\x01f\x02\x01\x07"))
    assert event == HeartbeatEvent("f", 7, exact=True)
