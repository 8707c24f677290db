"""Groups that are counted from their bytes have the counts of their events."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from connector.binlog.files.byte_source import FileOptions
from connector.binlog.files.file_log import FileLog
from connector.logs.log_counts import GroupCounts, LogCounts
from connector.logs.statistics import Statistics
from connector.logs.statistics_report import as_json
from tests.golden.every_log import every_log
from tests.golden.golden import logs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.golden.golden import GoldenLog


def by_event(path: Path) -> Statistics:
    statistics = Statistics()
    with closing(FileLog(path, FileOptions())) as log:
        while (event := log.next_event()) is not None:
            statistics.add(event)
    return statistics


@every_log
def test_both_ways_count_the_same(log: GoldenLog) -> None:
    statistics = Statistics()
    with closing(FileLog(log.path, FileOptions())) as file:
        counts = LogCounts(file, statistics)
        while counts.take():
            pass
    assert as_json(statistics) == as_json(by_event(log.path))


def test_groups_of_each_mysql_are_taken_whole() -> None:
    """Else the test above compares one way with itself."""
    taken = set()
    for log in logs():
        statistics = Statistics()
        with closing(FileLog(log.path, FileOptions())) as file:
            counts = GroupCounts(statistics, file.name)
            while file.next_event() is not None:
                events = file.received()
                if events is not None:
                    end = counts.take(events, file.trailer, file.position)
                    if end > events.start:
                        taken.add(log.recording.server)
                    file.pass_over(end)
    assert taken == {server for log in logs() if (server := log.recording.server)[:5] == "mysql"}
