"""What is decoded from a golden file is what its server said of it when it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.control import HeartbeatEvent, IgnorableEvent
from connector.binlog.events.mariadb import MariadbGtidEvent, MariadbGtidListEvent
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.logs.dump.json.format import JsonFormat
from tests.binlog.loaded_files import loaded_files
from tests.golden.check import (
    check_shown_events,
    check_tables,
    expected_json_lines,
    json_lines,
)
from tests.golden.every_log import every_log
from tests.golden.golden import (
    GoldenDump,
    GoldenLog,
    GoldenRecording,
    recordings,
    with_inner_events,
)
from tests.golden.script import SQL_FOLDER
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from connector.binlog.event import Event, EventBody

# ROTATE_EVENTs that name a log, the format and the GTID list of the next one, a heartbeat.
MADE_UP_MAX = 7

every_dump = pytest.mark.parametrize(
    "dump", [dump for r in recordings() for dump in r.dumps], ids=lambda dump: dump.name
)
every_recording_of_tables = pytest.mark.parametrize(
    "recording", [r for r in recordings() if r.tables], ids=lambda recording: recording.name
)


@every_log
def test_every_event_is_where_the_server_says_it_is(log: GoldenLog) -> None:
    events = list(log.events())
    # MySQL shows the events inside a payload behind it, all at its end.
    places = [
        place
        for event in events
        for place in (event.position, *[event.next_position] * _inner_count(event))
    ]
    assert places == [int(position) for _, position, *_ in log.shown_events]
    assert events[-1].next_position == log.path.stat().st_size


@every_log
def test_events_are_written_as_the_server_shows_them(log: GoldenLog) -> None:
    check_shown_events(log)


@every_recording_of_tables
def test_rows_of_the_log_make_the_tables_that_select_showed(recording: GoldenRecording) -> None:
    check_tables(recording)


@every_log
def test_nothing_that_a_server_of_the_local_stack_writes_is_unknown(log: GoldenLog) -> None:
    unknown = [
        f"{event.position} {type(event.body).__name__}"
        for event in with_inner_events(log.events())
        if _holds_unknown(event.body)
    ]
    assert unknown == []


@every_log
def test_events_are_written_as_the_json_that_was_kept(log: GoldenLog) -> None:
    assert json_lines(log) == expected_json_lines(log)
    # From the bytes or from decoded bodies, the text is the same.
    assert list(lines_of(JsonFormat(), log.events())) == expected_json_lines(log)


@every_dump
def test_a_dump_is_the_log_between_what_the_server_made_up(dump: GoldenDump) -> None:
    (log, *_) = dump.recording.logs
    # Without ANNOTATE_ROWS_EVENTs, which MariaDB sends to those who ask.
    in_the_file = [_without_flags(event) for event in log.events()]
    sent = [_without_flags(event) for event in dump.events()]
    from_the_file = [data for data in sent if data in in_the_file]
    assert from_the_file == [data for data in in_the_file if data in sent]
    assert len(sent) - len(from_the_file) <= MADE_UP_MAX
    *_, heartbeat = dump.events()
    assert isinstance(heartbeat.body, HeartbeatEvent)


@pytest.mark.parametrize(
    "recording",
    [r for r in recordings() if r.name.endswith("/statements")],
    ids=lambda recording: recording.name,
)
def test_the_file_of_load_data_is_the_one_that_was_loaded(recording: GoldenRecording) -> None:
    content = (SQL_FOLDER / "load.txt").read_bytes()
    assert loaded(recording) == [content, content]


@pytest.mark.parametrize(
    "recording",
    [r for r in recordings() if r.name.endswith("/load_data")],
    ids=lambda recording: recording.name,
)
def test_a_file_of_two_blocks_is_whole_and_a_deleted_one_is_none(
    recording: GoldenRecording,
) -> None:
    words = "".join(f"{n}\t{chr(ord('a') + n - 1) * 1000}\n" for n in range(1, 19))
    assert loaded(recording) == [words.encode(), b"20\tk\n20\tagain\n"]


def loaded(recording: GoldenRecording) -> list[bytes]:
    return list(loaded_files(event for log in recording.logs for event in log.events()))


def _without_flags(event: Event) -> bytes:
    """Return the bytes without flags, which tell whether the log was in use."""
    return event.data[:17] + event.data[19:-CHECKSUM_LENGTH]


def _holds_unknown(body: EventBody) -> bool:
    """Whether something in it is newer than the decoder, and was kept as bytes or skipped."""
    if isinstance(body, QueryEvent):
        return body.status_variables.unknown != b""
    if isinstance(body, RowsEvent):
        return body.extra_row_info.unknown != b""
    if isinstance(body, TableMapEvent):
        return body.unknown_fields != ()
    if isinstance(body, TransactionPayloadEvent):
        return body.payload.unknown_fields != 0
    if isinstance(body, MariadbGtidEvent | MariadbGtidListEvent):
        # Servers fill up to the length that they describe.
        return body.rest.strip(b"\0") != b""
    return isinstance(body, IgnorableEvent)


def _inner_count(event: Event) -> int:
    return len(list(with_inner_events([event]))) - 1
