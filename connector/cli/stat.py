"""`stat`: counts of what logs contain."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from connector.cli.arguments import Option, grouped
from connector.cli.log_input import (
    LogNames,
    ServerOptions,
    VerifyChecksum,
    exit_codes,
    opened_logs,
    shown_progress,
)
from connector.foundation.errors.visible import visible_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.logs.inputs import LogInput
    from connector.logs.statistics import Statistics


# Without a terminal, this width has room for GTIDs and file names.
_FILE_WIDTH = 140


class StatFormat(StrEnum):
    """The form of the counts."""

    TABLE = "table"
    JSON = "json"


@grouped
def stat(
    *,
    logs: LogNames = None,
    server: ServerOptions,
    output_format: Annotated[
        StatFormat, Option("--format", help="Tables for people, or one JSON document.")
    ] = StatFormat.TABLE,
    verify_checksum: VerifyChecksum = True,
) -> None:
    """Count the contents of binlogs: events by type, rows by table, large transactions, times.

    The counts are shown even if an error ends the reading.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or an unsupported
    storage format.
    """
    from connector.logs.inputs import ReadingOptions  # noqa: PLC0415  # keeps --help fast
    from connector.logs.statistics import Statistics  # noqa: PLC0415  # keeps --help fast

    statistics = Statistics()
    options = ReadingOptions(verify_checksum=verify_checksum, tell_apart=True)
    with exit_codes():
        try:
            _count(opened_logs(logs, server, options), statistics)
        finally:
            if statistics.files:
                _print(statistics, output_format)


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
    from connector.logs.inputs import file_errors  # noqa: PLC0415  # keeps --help fast
    from connector.logs.log_counts import LogCounts  # noqa: PLC0415  # keeps --help fast
    from connector.logs.recovery import Gap  # noqa: PLC0415  # keeps --help fast
    from connector.logs.selection import is_artificial  # noqa: PLC0415  # keeps --help fast

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


def _print(statistics: Statistics, output_format: StatFormat) -> None:
    from rich.console import Console  # noqa: PLC0415  # keeps --help fast

    from connector.logs.statistics_report import as_json, as_tables  # noqa: PLC0415  # keeps --help fast

    if output_format is StatFormat.JSON:
        document = visible_json(as_json(statistics), indent=2)
        sys.stdout.write(f"{document}\n")
    else:
        console = Console()
        if not console.is_terminal:
            console = Console(width=_FILE_WIDTH)
        console.print(as_tables(statistics))
