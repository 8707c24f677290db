"""Groups that are written from their bytes have the lines of their events."""

from __future__ import annotations

from contextlib import closing
from io import BytesIO
from typing import TYPE_CHECKING
from zlib import crc32

from connector.binlog.files.byte_source import FileOptions
from connector.binlog.files.file_log import FileLog
from connector.binlog.header import FIRST_POSITION
from connector.binlog.log_errors import EventError
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.dump.json.format import JsonFormat
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from tests.golden.check import expected_json_lines
from tests.golden.every_log import every_log
from tests.golden.golden import logs

if TYPE_CHECKING:
    from pathlib import Path

    from connector.logs.recovery import Gap
    from tests.golden.golden import GoldenLog


def dumped(path: Path, *, start: int | None = None, stop: int | None = None) -> list[str]:
    """Return the lines of a file; those before an error end with its text."""
    file = BytesIO()
    dump = Dump(DumpOptions(Format.JSON, stop_position=stop), LineOutput(file), unexpected)
    error = ""
    try:
        dump.run(file_inputs([str(path)], ReadingOptions(start)))
    except EventError as caught:
        error = str(caught)
    return file.getvalue().decode("utf-8").splitlines() + ([error] if error else [])


def unexpected(gap: Gap) -> None:
    raise AssertionError(gap)


@every_log
def test_a_file_has_the_lines_of_its_events(log: GoldenLog, tmp_path: Path) -> None:
    # Logs of several themes have the same name.
    folder = tmp_path / log.path.name
    folder.mkdir()
    assert dumped(named(log, folder)) == expected_json_lines(log)


def test_groups_of_each_mysql_with_gtids_are_written_whole() -> None:
    """Else the test above compares one way with itself."""
    written = set()
    for log in logs():
        writer, output = JsonFormat(), LineOutput(BytesIO())
        with closing(FileLog(log.path, FileOptions())) as file:
            while event := file.opened_event() or file.next_event():
                writer.put(event, output)
                events = file.received()
                if events is None or event.name not in ("XID_EVENT", "PREVIOUS_GTIDS_LOG_EVENT"):
                    continue
                end = writer.put_groups(events, file.trailer, file.position, output)
                if end > events.start:
                    written.add(log.recording.server)
                file.pass_over(end)
    assert written == {name for log in logs() if (name := log.recording.server)[:5] == "mysql"}


def named(log: GoldenLog, folder: Path) -> Path:
    """Return a path of the log with the name that its server gave it."""
    path = folder / log.log_name
    path.symlink_to(log.path)
    return path


def golden(name: str) -> GoldenLog:
    return next(log for log in logs() if log.name.startswith(name))


def test_a_dump_ends_at_a_position_inside_of_a_group(tmp_path: Path) -> None:
    log = golden("mysql-8.0.31/types")
    path = named(log, tmp_path)
    events = list(log.events())
    lines = expected_json_lines(log)
    for number in range(1, len(events), 7):
        assert dumped(path, stop=events[number].position) == lines[:number]


def test_a_row_that_cannot_be_read_is_an_error_after_the_lines_before_it(tmp_path: Path) -> None:
    log = golden("mysql-8.0.31/types")
    lines = expected_json_lines(log)
    rows = [event for event in log.events() if event.rows_head is not None]
    data = bytearray(log.path.read_bytes())
    last = rows[-1]
    # Its flags and its count of columns, with a checksum that fits, would be other rows.
    count = last.position + 19 + 10
    assert data[count] < 0xFB
    data[count] += 1
    path = tmp_path / log.log_name
    path.write_bytes(_with_checksum(data, last.position, last.next_position))
    *before, error = dumped(path)
    number = next(n for n, event in enumerate(log.events()) if event.position == last.position)
    assert before == lines[:number]
    assert f":{last.position}: cannot decode {last.name}" in error


def _with_checksum(data: bytearray, start: int, end: int) -> bytes:
    data[end - 4 : end] = crc32(data[start : end - 4]).to_bytes(4, "little")
    return bytes(data)


def test_reading_starts_inside_of_the_file(tmp_path: Path) -> None:
    log = golden("mysql-8.0.31/types")
    lines = expected_json_lines(log)
    events = list(log.events())
    first = next(n for n, e in enumerate(events) if e.name == "GTID_LOG_EVENT" and n > 20)
    assert events[first].position > FIRST_POSITION
    assert dumped(named(log, tmp_path), start=events[first].position)[1:] == lines[first:]
