"""Damaged logs: everything that is not damaged is read, and what is not is told."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from contextlib import suppress
from errno import ENOSPC
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector.binlog import value_errors
from connector.binlog.decoder import EventDecoder
from connector.binlog.header import EventType, detect_version
from connector.binlog.log_errors import EventError, LogTruncated
from connector.logs.recovery import Gap, LogRecovery
from tests.binlog.log_bytes import event, format_description, start_v3, v1_event
from tests.binlog.source_log import MAGIC, split
from tests.foundation.errors.texts import with_code
from tests.logs.dump.command import dump, dumped_json

if TYPE_CHECKING:
    from pathlib import Path

    from connector.binlog.event import Event

NAME = "binlog.000001"


def recovered(data: bytes) -> list[Event | Gap]:
    return list(LogRecovery(io.BytesIO(data), NAME).events())


def gaps_of(found: list[Event | Gap]) -> list[tuple[int, int]]:
    return [(each.start, each.end) for each in found if isinstance(each, Gap)]


def positions_of(found: list[Event | Gap]) -> list[int]:
    return [each.position for each in found if not isinstance(each, Gap)]


def decoded(data: bytes) -> list[Event]:
    decoder = EventDecoder(file=NAME, version=detect_version(data[4:]), counted=True)
    return [decoder.decode(each) for each in split(data)]


def statement(text: bytes, end: int, *, checksum: bool = True) -> bytes:
    """Return a QUERY_EVENT without status variables, which ends at `end` of its file."""
    body = bytes(8) + b"\x02" + bytes(2) + bytes(2) + b"db\0" + text
    return event(EventType.QUERY_EVENT, body, log_pos=end, checksum=checksum)


def log_of(*texts: bytes, checksum: bool = True) -> bytes:
    """Return a log with a statement for each text."""
    data = MAGIC + format_description(algorithm=1 if checksum else 0)
    for text in texts:
        size = len(statement(text, 0, checksum=checksum))
        data += statement(text, len(data) + size, checksum=checksum)
    return data


def changed(data: bytes, offset: int, put: bytes) -> bytes:
    return data[:offset] + put + data[offset + len(put) :]


class CountedReads(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.bytes_read += len(data)
        return data


def test_gaps_in_a_log_whose_headers_state_other_positions_take_linear_time() -> None:
    def bytes_read(count: int) -> int:
        lost = event(EventType.WRITE_ROWS_EVENT, bytes(8) + b"x" * 1000, log_pos=5)
        file = CountedReads(MAGIC + format_description() + lost * count)
        found = list(LogRecovery(file, NAME).events())
        assert len(gaps_of(found)) == count
        return file.bytes_read

    assert bytes_read(80) < 3 * bytes_read(40)


# Every 16 bytes, the start of an event of 8 KB that states no position, or another one.
NO_POSITION = bytes(4) + b"\x02" + bytes(4) + b"\x00\x20" + bytes(5)
OTHER_POSITION = b"\x7f" + NO_POSITION[1:]


@pytest.mark.parametrize("array", [NO_POSITION, OTHER_POSITION])
@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("is_last", [True, False])
def test_a_damaged_value_that_looks_like_events_takes_linear_time(
    array: bytes, states: bool, is_last: bool
) -> None:
    data = MAGIC + format_description()
    for text in (array * 8192, *([b"next"] * 3 * (not is_last))):
        size = len(statement(text, 0))
        data += statement(text, len(data) + size if states else 5)
    start = len(MAGIC + format_description())
    end = start + len(statement(array * 8192, 0))
    file = CountedReads(changed(data, end - 1, bytes((data[end - 1] ^ 1,))))
    assert gaps_of(list(LogRecovery(file, NAME).events())) == [(start, end)]
    assert file.bytes_read < 40 * len(data)


def test_an_event_between_two_damages_is_found_if_headers_state_other_positions() -> None:
    data = log_of(*TEXTS)
    start = positions_of(recovered(data))[1]
    first, second, _ = (each.data for each in decoded(data)[1:])
    # Between two pieces of garbage, and an event that follows another one.
    shifted = data[:start] + b"\x02" * 50 + second + b"\x02" * 50 + first + second
    found = recovered(shifted)
    assert [each.data for each in found[1:] if not isinstance(each, Gap)] == [second, first, second]


def test_a_gap_and_a_cut_end_are_told_and_the_gap_decides(tmp_path: Path) -> None:
    data = log_of(*TEXTS)
    first = positions_of(recovered(data))[1]
    path = tmp_path / NAME
    path.write_bytes(changed(data, first + 25, b"\xff")[:-3])
    done = dump("--recover", path)
    assert done.code == 3
    assert done.errors.count("gap:") == 1
    assert f"{NAME}:{positions_of(recovered(data))[3]}: the file ends inside an event" in (
        done.errors
    )
    path.write_bytes(data[:-3])
    assert dump("--recover", path).code == 2


def test_a_copy_that_cannot_be_written_is_no_fault_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(io.BytesIO):
        def write(self, data: object, /) -> int:
            del data
            raise OSError(ENOSPC, os.strerror(ENOSPC))

    path = tmp_path / f"{NAME}.gz"
    path.write_bytes(gzip.compress(log_of(*TEXTS)))
    monkeypatch.setattr(tempfile, "TemporaryFile", FullDisk)
    done = dump("--recover", path)
    assert done.code == 1
    assert "cannot write: No space left on device" in done.errors


TEXTS = (b"first", b"second statement", b"third")


@pytest.mark.parametrize("checksum", [True, False])
def test_a_log_without_damage_has_no_gaps(checksum: bool) -> None:
    data = log_of(*TEXTS, checksum=checksum)
    assert recovered(data) == decoded(data)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_size_that_lies_is_a_gap_up_to_the_next_event(checksum: bool) -> None:
    data = log_of(*TEXTS, checksum=checksum)
    first, second, third = positions_of(recovered(data))[1:]
    for size in (0, 18, 40, third - second + 1, 2**31, 2**32 - 1):
        damaged = changed(data, second + 9, size.to_bytes(4, "little"))
        found = recovered(damaged)
        assert (positions_of(found)[1:], gaps_of(found)) == ([first, third], [(second, third)])


def test_a_gap_says_where_it_is_and_why() -> None:
    data = log_of(*TEXTS)
    _, second, third = positions_of(recovered(data))[1:]
    (gap,) = (e for e in recovered(changed(data, second + 9, bytes(4))) if isinstance(e, Gap))
    assert gap.error.text == (
        f"{NAME}: nothing could be read from {second} to {third} ({third - second} bytes): "
        "QUERY_EVENT: its header says 0 bytes, less than the 19 of a header"
    )
    damaged = changed(data, second + 9, (10_000).to_bytes(4, "little"))
    (gap,) = (e for e in recovered(damaged) if isinstance(e, Gap))
    assert gap.why.text == "an event of 10000 bytes does not fit in there"


def test_the_last_event_of_a_damaged_log_may_be_the_gap() -> None:
    data = log_of(*TEXTS)
    third = positions_of(recovered(data))[-1]
    found = recovered(changed(data, len(data) - 1, bytes((data[-1] ^ 1,))))
    assert gaps_of(found) == [(third, len(data))]


def test_a_log_that_only_ends_too_soon_is_truncated() -> None:
    data = log_of(*TEXTS)
    third = positions_of(recovered(data))[-1]
    for length in range(third + 1, len(data)):
        with pytest.raises(LogTruncated) as caught:
            recovered(data[:length])
        assert (caught.value.position, caught.value.found) == (third, length - third)


@pytest.mark.parametrize("checksum", [True, False])
def test_events_are_found_after_bytes_that_are_lost_or_added(checksum: bool) -> None:
    data = log_of(*TEXTS, b"fourth", checksum=checksum)
    first, second, third, fourth = positions_of(recovered(data))[1:]
    lost = recovered(data[: second + 6] + data[third - 6 :])
    shift = third - second - 12
    assert positions_of(lost)[1:] == [first, third - shift, fourth - shift]
    added = recovered(data[:second] + b"\xff" * 40 + data[second:])
    assert positions_of(added)[1:] == [first, second + 40, third + 40, fourth + 40]
    assert gaps_of(added) == [(second, second + 40)]


def test_an_event_that_a_value_holds_is_not_taken_for_one_of_the_log() -> None:
    inner = statement(b"not of this log", 4711)
    data = log_of(b"first", inner, b"third")
    first, second, third = positions_of(recovered(data))[1:]
    found = recovered(changed(data, second + 9, bytes(4)))
    assert (positions_of(found)[1:], gaps_of(found)) == ([first, third], [(second, third)])


def test_an_event_whose_body_is_unknown_is_a_gap_of_its_own() -> None:
    data = log_of(b"first")
    unknown = event(99, b"what is this", log_pos=len(data) + 35)
    end = len(data) + len(unknown)
    after = statement(b"after", end + len(statement(b"after", 0)))
    found = recovered(data + unknown + after)
    assert gaps_of(found) == [(len(data), end)]
    assert positions_of(found)[-1] == end


def test_a_log_of_format_v1_is_read_after_damage() -> None:
    query = bytes(8) + b"\x02" + bytes(2) + b"db\0"
    first, *others = (v1_event(EventType.QUERY_EVENT, query + text) for text in TEXTS)
    start = v1_event(EventType.START_EVENT_V3, start_v3(1, b"3.23.58"))
    data = MAGIC + start + first + others[0] + others[1]
    position = 4 + len(start) + len(first)
    found = recovered(changed(data, position + 9, bytes(4)))
    assert gaps_of(found) == [(position, position + len(others[0]))]
    assert len(positions_of(found)) == 3


@pytest.mark.parametrize("position", [8, 16, 60])
def test_a_log_whose_first_event_is_damaged_is_not_recovered(position: int) -> None:
    log = bytearray(log_of(*TEXTS, checksum=True))
    log[position] ^= 0xFF
    with pytest.raises((EventError, LogTruncated), match=rf"{NAME}:4: "):
        recovered(bytes(log))


def test_a_log_without_its_first_event_is_truncated() -> None:
    with pytest.raises(LogTruncated) as caught:
        recovered(MAGIC + bytes(20))
    assert caught.value.text == (
        f"{NAME}:4: the file ends inside an event: need 21 bytes, but 20 are left; every event "
        "before 4 is complete"
    )


@pytest.mark.parametrize(
    "name",
    [
        "recorded/binlog_old_version_4_1.000001", "recorded/binlog_savepoint.000001",
        "recorded/ver_5_1-wl2325_r.001", "recorded/ver_5_1_23.001", "recorded/mariadb-bin.000001",
        "recorded/vector.binlog", "seed/mysql-bin.000005", "seed/mysql-bin.000006",
    ],
)  # fmt: skip
def test_recorded_logs_lose_what_is_damaged_alone(shared_binlogs: Path, name: str) -> None:
    data = (shared_binlogs / name).read_bytes()
    events = recovered(data)
    assert gaps_of(events) == []
    positions = positions_of(events)
    # The size of each event in turn, but of the first, without which nothing can be read.
    for position, end in pairwise(positions[1:]):
        found = recovered(changed(data, position + 9, b"\xff\xff\xff\x7f"))
        (first, *others) = gaps_of(found)
        assert first == (position, end)
        # Rows whose table map is lost are told as well, and nothing else.
        found_or_lost = set(positions_of(found)) | {start for start, _ in others}
        assert found_or_lost == set(positions) - {position}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage_gives_events_and_gaps_that_cover_the_log(data: st.DataObject) -> None:
    log = log_of(*TEXTS, b"fourth", b"fifth", checksum=data.draw(st.booleans()))
    position = data.draw(st.integers(4, len(log) - 1))
    cut = data.draw(st.integers(0, 30))
    damaged = log[:position] + data.draw(st.binary(max_size=40)) + log[position + cut :]
    covered = [4]
    # Damage in the first event is an error.
    with suppress(LogTruncated, EventError):
        for found in LogRecovery(io.BytesIO(damaged), NAME).events():
            start, end = (
                (found.start, found.end)
                if isinstance(found, Gap)
                else (found.position, found.next_position)
            )
            assert start == covered[-1] < end
            covered.append(end)
    assert covered[-1] <= len(damaged)


# The command


def test_what_is_no_log_is_not_recovered(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"#!/bin/sh")
    assert dump("--recover", path).code == 4


@pytest.mark.parametrize("output_format", ["json", "text"])
def test_rows_that_cannot_be_read_are_a_gap_of_their_own(
    shared_binlogs: Path, tmp_path: Path, output_format: str
) -> None:
    log = shared_binlogs / "seed" / "mysql-bin.000006"
    (rows,) = (e for e in dumped_json(log).objects if e["type"] == "WRITE_ROWS_EVENT")
    # The log has no checksums; the last column of its row is a DOUBLE.
    position, end = rows["log_pos"], rows["next_pos"]
    path = tmp_path / log.name
    path.write_bytes(changed(log.read_bytes(), end - 2, b"\xff\xff"))
    wish = ("--format", output_format, path)
    strict = dump(*wish)
    assert (strict.code, f"{log.name}:{position}: cannot decode" in strict.errors) == (3, True)
    done = dump("--recover", *wish)
    assert done.code == 3
    said = with_code(
        value_errors.NOT_FINITE,
        f"{log.name}: nothing could be read from {position} to {end} ({end - position} bytes): ",
    )
    assert done.errors.startswith(f"gap: {said}")
    assert "Xid" in done.output or "XID_EVENT" in done.output
    # No half of the event is shown.
    assert f"# at {position}\n" not in done.output
    assert f'"log_pos":{position},' not in done.output
