"""`quarantine list|show|replay`: the changes that are held back, the reasons, and their replay."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from connector.cli import command_errors, examples
from connector.cli.application import Commands
from connector.cli.daemon import (
    EXIT_DEFINITE,
    ConfigPath,
    exit_code_of,
    loaded,
)
from connector.foundation.errors import ConfigError, DefiniteError, TransientError
from connector.foundation.errors.visible import visible, visible_json

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.contract import QuarantineRecord
    from connector.foundation.settings.sections import Settings
    from connector.stream.quarantine.fences import Fence

quarantine = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Show and replay changes that could not be written; docs/quarantine.md explains them.",
    epilog=examples.QUARANTINE,
)

# The width of the output if it is not a terminal.
_WIDTH = 160
_LOOK_SECONDS = 0.5
# A running pipeline accepts a command within this time.
_TAKEN_UP_SECONDS = 10.0

TableName = Annotated[
    str, typer.Argument(metavar="TABLE", help="database.table", show_default=False)
]
KeyText = Annotated[
    str | None,
    typer.Option("--key", help="One key, as the JSON that `list` shows.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


@quarantine.command(name="list", epilog=examples.QUARANTINE_LIST)
def list_fences(config: ConfigPath, as_json: AsJson = False) -> None:
    """List the changes that are held back: tables and keys, since when, how many, and why."""

    def report() -> None:
        fences = _fences(loaded(config))
        if as_json:
            for fence in fences:
                typer.echo(visible_json(asdict(fence)))
            return
        console = Console()
        if not fences:
            console.print("nothing is kept back")
            return
        console.print(_table(fences), width=None if console.is_terminal else _WIDTH)
        # Whole lines, which a terminal wraps and a user can copy; most keys have the same reason.
        for name, reason in dict.fromkeys((fence.name, fence.reason) for fence in fences):
            console.print(f"{visible(name)}:", style="bold", end=" ", markup=False)
            console.print(visible(reason), markup=False, soft_wrap=True)

    exit_code_of(report)


def _table(fences: list[Fence]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("table", "key", "since", "at", "kept back"):
        table.add_column(title, overflow="fold")
    for fence in fences:
        since = datetime.fromtimestamp(fence.since_ms / 1000, UTC)
        table.add_row(
            escape(visible(fence.name)),
            "all" if fence.key is None else escape(visible(fence.key)),
            f"{since:%Y-%m-%d %H:%M:%S} UTC",
            escape(visible(fence.since)),
            str(fence.rows),
        )
    return table


@quarantine.command(epilog=examples.QUARANTINE_SHOW)
def show(
    config: ConfigPath,
    what: Annotated[
        str,
        typer.Argument(
            metavar="TABLE|OFFSET",
            help="database.table, or the offset of one record in the topic.",
            show_default=False,
        ),
    ],
    key: KeyText = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Records that are shown.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show records of the quarantine, decoded as far as possible.

    If a column cannot be read, its bytes and those around it are shown.
    """

    def report() -> None:
        from connector.stream.quarantine.records import explain_record  # noqa: PLC0415  # keeps --help fast
        from connector.stream.quarantine.topics import (  # noqa: PLC0415
            database_fence,
            read_all,  # keeps --help fast
        )

        settings = loaded(config)
        shown = 0
        database = None if what.isdigit() else database_fence(_fences(settings), what)
        if database is not None and not as_json:
            of_all = f"all of database {database.database} is kept back: {database.reason}"
            typer.echo(visible(f"{what}: {of_all}"))
        for offset, record, event in read_all(settings.kafka, settings.name):
            if offset != int(what) if what.isdigit() else not _is_of(record, what, key, database):
                continue
            if as_json:
                typer.echo(visible_json({"offset": offset, **record}))
            else:
                typer.echo(f"offset {offset}")
                for line in explain_record(record, event):
                    typer.echo(visible(line))
            shown += 1
            if shown == limit:
                break
        if not shown and database is None:
            raise ConfigError(command_errors.NOT_IN_QUARANTINE, what=what, pipeline=settings.name)

    exit_code_of(report)


def _is_of(record: QuarantineRecord, name: str, key: str | None, database: Fence | None) -> bool:
    """Return whether a record belongs to a table, or to the fence of its whole database."""
    of = f"{record['database']}.{record['table']}"
    if database is not None and of == database.name:
        # The statement may have changed every table and every key.
        return int(record["seq"]) >= int(database.since_seq)
    return of == name and (key is None or any(key in row["keys"] for row in record["rows"]))


@quarantine.command(epilog=examples.QUARANTINE_REPLAY)
def replay(config: ConfigPath, name: TableName, key: KeyText = None) -> None:
    """Write the held changes of a table, or of one key, and lift the fence.

    The running pipeline does it; if none runs, the next start does it.

    Exit codes: 0 written, 1 the pipeline has not answered, or Kafka cannot be reached, 2 no change
    is held back, 3 a change still cannot be written and stays; or the table must be copied again,
    because a fence has ended its copy.
    """

    def ask() -> None:
        from connector.stream.quarantine.topics import request_replay  # noqa: PLC0415

        settings = loaded(config)
        asked = request_replay(settings, name, key)
        _wait(settings, asked.fences, str(asked.offset))
        _require_copy(settings, config, name)

    exit_code_of(ask)


def _wait(settings: Settings, wanted: list[Fence], request: str) -> None:
    """Wait for the outcome of a replay, and print it."""
    console = Console()
    name = visible(wanted[0].name)
    # Meanwhile, other fences of the table may be set.
    known = {(fence.name, fence.key, fence.since_seq) for fence in wanted}
    taken_up = False
    asked = time.monotonic()
    with console.status(f"{escape(name)}: waiting for the pipeline") as status:
        while True:
            left = [
                fence
                for fence in _fences(settings)
                if (fence.name, fence.key, fence.since_seq) in known
            ]
            running = [fence for fence in left if fence.replay == request]
            answered = [fence for fence in left if fence.answered == request]
            taken_up = taken_up or bool(running or answered)
            if not left or (answered and not running):
                break
            if not taken_up and time.monotonic() - asked > _TAKEN_UP_SECONDS:
                raise TransientError(command_errors.NOT_TAKEN_UP, pipeline=settings.name)
            if running:
                status.update(f"{escape(name)}: {sum(fence.rows for fence in running)} to write")
            time.sleep(_LOOK_SECONDS)
    if not answered:
        rows = sum(fence.rows for fence in wanted)
        console.print(
            f"{name}: what was kept back ({rows} when it was asked for) is written again, and the "
            "fence is lifted",
            markup=False,
            soft_wrap=True,
        )
        return
    for fence in answered:
        what = "" if fence.key is None else f" key {visible(fence.key)}:"
        console.print(
            f"{name}:{what} {fence.rows} stay: {visible(fence.reason)}",
            markup=False,
            soft_wrap=True,
        )
    raise typer.Exit(EXIT_DEFINITE)


def _require_copy(settings: Settings, config: Path, name: str) -> None:
    """Print where rows of a table are missing that no replay brings back."""
    from connector.stream.snapshot.copy_requests import copy_has_failed  # noqa: PLC0415  # keeps --help fast

    if copy_has_failed(settings.kafka, settings.name, name):
        raise DefiniteError(command_errors.COPY_HAS_FAILED, table=name, config=config)


def _fences(settings: Settings) -> list[Fence]:
    from connector.stream.quarantine.topics import read_fences  # noqa: PLC0415  # keeps --help fast

    return read_fences(settings.kafka, settings.name)
