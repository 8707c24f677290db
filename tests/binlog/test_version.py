from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.header import BinlogVersion, EventType, detect_version
from connector.binlog.log_errors import TruncatedPayload
from tests.binlog.log_bytes import FORMAT_DESCRIPTION, event, start_v3, v1_event

V1_START = v1_event(EventType.START_EVENT_V3, start_v3(1, b"3.23.58-log"))
V2_START = event(EventType.START_EVENT_V3, start_v3(2, b"4.0.1-alpha"), log_pos=1, checksum=False)
V3_START = event(EventType.START_EVENT_V3, start_v3(3, b"4.1.24-log"), log_pos=4, checksum=False)


def test_start_events_have_the_sizes_that_tell_the_formats_apart() -> None:
    assert (len(V1_START), len(V3_START)) == (69, 75)


@pytest.mark.parametrize(
    ("first_event", "version"),
    [
        (V1_START, BinlogVersion.V1),
        (V2_START, BinlogVersion.V2),
        (V3_START, BinlogVersion.V3),
        (FORMAT_DESCRIPTION, BinlogVersion.V4),
        # 4.0 and 4.1 write a start event into the first file after their own start alone.
        (event(EventType.QUERY_EVENT, b"", checksum=False), BinlogVersion.V3),
        (event(EventType.ROTATE_EVENT, bytes(8) + b"f", checksum=False), BinlogVersion.V3),
        (event(EventType.INTVAR_EVENT, bytes(9), checksum=False), BinlogVersion.V3),
    ],
)
def test_the_first_event_tells_the_format(first_event: bytes, version: BinlogVersion) -> None:
    assert detect_version(first_event) is version
    assert detect_version(first_event[:21]) is version


@pytest.mark.parametrize(
    ("size", "version"), [(0, 1), (69, 1), (74, 1), (75, 3), (76, 3), (2**32 - 1, 3)]
)
def test_a_start_event_shorter_than_75_bytes_is_of_v1(size: int, version: int) -> None:
    data = V3_START[:9] + size.to_bytes(4, "little") + V3_START[13:]
    assert detect_version(data) == version


@pytest.mark.parametrize("length", range(13))
def test_thirteen_bytes_are_needed(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        detect_version(FORMAT_DESCRIPTION[:length])


def test_thirteen_bytes_are_enough_but_for_v2() -> None:
    assert detect_version(FORMAT_DESCRIPTION[:13]) is BinlogVersion.V4
    assert detect_version(V1_START[:13]) is BinlogVersion.V1
    with pytest.raises(TruncatedPayload):
        detect_version(V2_START[:20])


@given(st.binary(min_size=21, max_size=40))
def test_any_bytes_have_a_format(data: bytes) -> None:
    assert detect_version(data) in BinlogVersion
