"""What a golden recording has to agree with, for the tests and before its JSON is written."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from connector.logs.dump.events_format import EventsFormat
from connector.logs.dump.json.format import JsonFormat
from tests.golden.replay import replay, replayed_and_recorded
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from tests.golden.golden import GoldenLog, GoldenRecording

# As `--format events` writes what would end a column or a line, and bytes that are no UTF-8.
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})


def check_shown_events(log: GoldenLog) -> None:
    """Assert that `--format events` writes what SHOW BINLOG EVENTS showed."""
    assert list(lines_of(EventsFormat(), log.opened_events())) == [
        "\t".join(cell.translate(_ESCAPES) for cell in row) for row in log.shown_events
    ]


def check_tables(recording: GoldenRecording) -> None:
    """Assert that the rows of the logs make the tables that SELECT showed, where they can."""
    if not recording.tables:
        return
    tables = replay(event for log in recording.logs for event in log.events())
    for name, recorded in recording.tables.items():
        # A table without rows need not be in the log.
        if recorded["rows"] or name in tables:
            replayed, selected = replayed_and_recorded(tables[name], recorded)
            assert replayed == selected, name


def json_lines(log: GoldenLog) -> list[str]:
    """Return what `--format json` writes."""
    return list(lines_of(JsonFormat(), log.opened_events()))


def expected_json_lines(log: GoldenLog) -> list[str]:
    """Return what `--format json` wrote when the recording had been checked."""
    return gzip.decompress(log.expected_json.read_bytes()).decode("utf-8").splitlines()


def keep_json(log: GoldenLog) -> None:
    """Write down what `--format json` writes; the same lines always make the same file."""
    text = "".join(f"{line}\n" for line in json_lines(log))
    log.expected_json.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
