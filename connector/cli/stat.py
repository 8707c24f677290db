"""`stat`: counts of what logs contain."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.log_files import events_of, exit_codes, opened_logs
from connector.cli.log_options import (
    LogNames,
    ServerOptions,
    VerifyChecksum,
)
from connector.cli.option_groups import grouped

if TYPE_CHECKING:
    from connector.stat.statistics import Statistics


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
        StatFormat, typer.Option("--format", help="Tables for people, or one JSON document.")
    ] = StatFormat.TABLE,
    verify_checksum: VerifyChecksum = True,
) -> None:
    """Count the contents of binlogs: events by type, rows by table, large transactions, times.

    The counts are shown even if an error ends the reading.

    Exit codes: 0 read to a clean end, 1 wrong arguments or a log that cannot be opened, 2 a file
    ends inside an event, 3 corrupt or undecodable, 4 not a binlog, encrypted, or an unsupported
    storage format.
    """
    from connector.dump.logs import ReadingOptions  # noqa: PLC0415  # keeps --help fast
    from connector.stat.statistics import Statistics  # noqa: PLC0415  # keeps --help fast

    statistics = Statistics()
    options = ReadingOptions(verify_checksum=verify_checksum, tell_apart=True)
    with exit_codes():
        try:
            for event in events_of(opened_logs(logs, server, options)):
                statistics.add(event)
        finally:
            if statistics.files:
                _print(statistics, output_format)


def _print(statistics: Statistics, output_format: StatFormat) -> None:
    from rich.console import Console  # noqa: PLC0415  # keeps --help fast

    from connector.stat.report import as_json, as_tables  # noqa: PLC0415  # keeps --help fast

    if output_format is StatFormat.JSON:
        typer.echo(json.dumps(as_json(statistics), ensure_ascii=False, indent=2))
    else:
        console = Console()
        if not console.is_terminal:
            console = Console(width=_FILE_WIDTH)
        console.print(as_tables(statistics))
