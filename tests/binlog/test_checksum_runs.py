"""Events that lie together are verified together."""

from __future__ import annotations

from random import Random
from zlib import crc32

from connector.binlog.checksum import LENGTH_MAX, ChecksumRuns
from connector.binlog.header import FORMAT_DESCRIPTION, HEADER_LENGTH, QUERY

LENGTHS = (HEADER_LENGTH + 4, 31, 74, 255, 256, 1000, LENGTH_MAX)


def event(length: int, type_code: int = QUERY) -> bytes:
    data = bytearray(Random(length).randbytes(length - 4))
    data[4] = type_code
    data[9:13] = length.to_bytes(4, "little")
    return bytes(data) + crc32(data).to_bytes(4, "little")


RUNS = ChecksumRuns()


def end(data: bytes, *, checksummed: bool = True) -> int:
    return RUNS.end_of(data, 0, checksummed=checksummed)


def test_intact_events_are_one_run() -> None:
    data = b"".join(map(event, LENGTHS * 3))
    assert end(data) == len(data)
    start = len(event(LENGTHS[0]))
    assert RUNS.end_of(data, start, checksummed=True) == len(data)
    assert RUNS.end_of(data, len(data), checksummed=True) == len(data)


def test_each_changed_bit_is_found() -> None:
    data = b"".join(map(event, LENGTHS[:4]))
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            # A size that is too large ends the run before that event.
            assert end(bytes(damaged)) < len(data)


def test_a_run_ends_before_what_is_verified_by_itself() -> None:
    first = event(50)
    too_short = bytes(9) + (HEADER_LENGTH - 1).to_bytes(4, "little") + bytes(20)
    for after in (event(LENGTH_MAX + 1), event(60, FORMAT_DESCRIPTION), too_short):
        assert end(first + after + event(70)) == len(first)
    assert end(first + event(60)[:-1]) == len(first)


def test_events_without_checksums_need_only_be_complete() -> None:
    data = bytearray(event(50) + event(60))
    data[30] ^= 1
    assert end(bytes(data), checksummed=False) == len(data)
    assert end(bytes(data[:-1]), checksummed=False) == 50


def test_a_damaged_event_costs_those_before_it_no_look_at_the_whole_block() -> None:
    count = 1000
    data = bytearray(event(50) * count)
    data[-10] ^= 1
    looks, at = 0, 0
    while (reached := RUNS.end_of(bytes(data), at, checksummed=True)) > at:
        looks, at = looks + 1, reached
    # All but the damaged one, in runs of which each is about half of what is left.
    assert at == 50 * (count - 1)
    assert looks <= 2 * count.bit_length()
