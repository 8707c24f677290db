"""`stat`: counts of what logs contain."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing

from connector.cli.log_input import opened_logs, shown_progress
from connector.foundation.errors.message import visible_json
from connector.logs.inputs import LogInput, ReadingOptions, file_errors
from connector.logs.log_counts import LogCounts
from connector.logs.recovery import Gap
from connector.logs.selection import is_artificial
from connector.logs.statistics import Statistics


def run(arguments: Namespace) -> int:
    """Count what logs contain, and print the counts, also if an error ends the reading."""
    statistics = Statistics()
    options = ReadingOptions(verify_checksum=arguments.verify_checksum, distinct_names=True)
    try:
        _count(opened_logs(arguments, options), statistics)
    finally:
        if statistics.files:
            _print(statistics, as_one_document=arguments.format == "json")
    return 0


def _count(logs: Iterable[LogInput], statistics: Statistics) -> None:
    """Count the events of logs; on a terminal a bar shows the progress."""
    with ExitStack() as stack:
        progress = shown_progress(stack)
        for log in logs:
            for position in _counted(log, statistics):
                if progress is not None:
                    progress.show(log.name, position, log.size)


def _counted(log: LogInput, statistics: Statistics) -> Iterator[int]:
    """Count a log in steps, and yield the position after each."""
    if log.open is not None:
        with closing(log.open()) as file, file_errors(log.name):
            counts = LogCounts(file, statistics)
            while counts.take():
                yield file.position
        return
    with closing(log.events()) as events:
        for event in events:
            assert not isinstance(event, Gap)
            if not is_artificial(event):
                statistics.add(event)
            yield event.next_position


def _print(statistics: Statistics, *, as_one_document: bool) -> None:
    # Its tables take longer to import than a log to read.
    from connector.logs.statistics_report import as_json, print_tables  # noqa: PLC0415

    if as_one_document:
        document = visible_json(as_json(statistics), indent=2)
        sys.stdout.write(f"{document}\n")
    else:
        print_tables(statistics)
