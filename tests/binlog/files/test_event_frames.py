"""Events are cut out of blocks, wherever these end."""

from __future__ import annotations

import io
import itertools

import pytest

from connector.binlog.files.byte_source import ByteSource
from connector.binlog.files.event_frames import EventFrames
from connector.binlog.header import EventType
from connector.binlog.log_errors import LogTruncated
from tests.binlog.files.log_files import LogFile


class Blocks:
    """A pipe that gives blocks of one size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int, /) -> bytes:
        return self._data.read(min(size, self._size))


def log_of_events() -> LogFile:
    log = LogFile()
    for length in (0, 1, 30, 200, 4):
        log.add(EventType.ROWS_QUERY_LOG_EVENT, bytes([length]) + b"x" * length)
    return log


LOG = log_of_events()
BOUNDS = [*LOG.positions, len(LOG.data)]
EVENTS = [LOG.data[start:end] for start, end in itertools.pairwise(BOUNDS)]


def frames_of(data: bytes, size: int) -> EventFrames:
    return EventFrames(ByteSource(Blocks(data, size)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 13, 19, 20, 64, 127, 128, 129, 1000])
def test_blocks_of_any_size_hold_the_same_events(size: int) -> None:
    frames = frames_of(LOG.data, size)
    events = []
    while (data := frames.next_event()) is not None:
        events.append(data)
        assert frames.position == BOUNDS[len(events)]
    assert events == EVENTS


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_an_event_that_is_not_whole_is_not_taken_out_of_its_block(size: int) -> None:
    frames = frames_of(LOG.data[:-1], size)
    for data in EVENTS[:-1]:
        assert frames.next_event() == data
    for _ in range(2):
        with pytest.raises(LogTruncated) as caught:
            frames.next_event()
        error = caught.value
        assert (error.position, error.needed - error.found) == (BOUNDS[-2], 1)


@pytest.mark.parametrize("size", [1, 50, 1000])
@pytest.mark.parametrize("number", range(1, len(EVENTS)))
def test_what_is_skipped_may_have_been_received(size: int, number: int) -> None:
    frames = frames_of(LOG.data, size)
    frames.next_event()
    frames.skip_to(BOUNDS[number])
    assert (frames.position, frames.next_event()) == (BOUNDS[number], EVENTS[number])


def test_what_lies_after_the_end_cannot_be_skipped() -> None:
    frames = frames_of(LOG.data, 50)
    frames.next_event()
    with pytest.raises(LogTruncated) as caught:
        frames.skip_to(BOUNDS[-1] + 5)
    assert caught.value.position + caught.value.found == BOUNDS[-1]


def test_events_that_were_received_are_there_without_reading() -> None:
    frames = frames_of(LOG.data, 1000)
    assert frames.received_event() is None
    assert frames.next_event() == EVENTS[0]
    assert [frames.received_event() for _ in EVENTS] == [*EVENTS[1:], None]


def test_of_an_event_that_is_received_in_part_nothing_is_there() -> None:
    frames = frames_of(LOG.data, len(LOG.data) - 10)
    assert frames.next_event() == EVENTS[0]
    for data in EVENTS[1:-1]:
        assert frames.received_event() == data
    assert frames.received_event() is None
    assert frames.next_event() == EVENTS[-1]
