"""`quarantine list|show|replay`: the changes that are held back, the reasons, and their replay."""

import time
from argparse import Namespace
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from connector.cli import command_errors
from connector.cli.configuration import loaded
from connector.cli.exit_codes import EXIT_DEFINITE, say
from connector.foundation.control_records import QuarantineRecord
from connector.foundation.errors import ConfigError, DefiniteError, TransientError
from connector.foundation.errors.message import visible, visible_json
from connector.foundation.settings.sections import Settings
from connector.stream.quarantine import topics
from connector.stream.quarantine.fences import Fence
from connector.stream.quarantine.records import explain_record
from connector.stream.snapshot.copy_requests import copy_has_failed

# The width of the output if it is not a terminal.
_WIDTH = 160
_LOOK_SECONDS = 0.5
# A running pipeline accepts a command within this time.
_TAKEN_UP_SECONDS = 10.0


def run_list(arguments: Namespace) -> int:
    """List the changes that are held back."""
    fences = _fences(loaded(arguments.config))
    if arguments.json:
        for fence in fences:
            say(visible_json(asdict(fence)))
        return 0
    console = Console()
    if not fences:
        console.print("nothing is kept back")
        return 0
    console.print(_table(fences), width=None if console.is_terminal else _WIDTH)
    # Whole lines, which a terminal wraps and a user can copy; most keys have the same reason.
    for name, reason in dict.fromkeys((fence.name, fence.reason) for fence in fences):
        console.print(f"{visible(name)}:", style="bold", end=" ", markup=False)
        console.print(visible(reason), markup=False, soft_wrap=True)
    return 0


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


def run_show(arguments: Namespace) -> int:
    """Show records of the quarantine, decoded as far as possible."""
    settings = loaded(arguments.config)
    what: str = arguments.what
    shown = 0
    database = None if what.isdigit() else topics.database_fence(_fences(settings), what)
    if database is not None and not arguments.json:
        of_all = f"all of database {database.database} is kept back: {database.reason}"
        say(visible(f"{what}: {of_all}"))
    for offset, record, event in topics.read_all(settings.kafka, settings.name):
        if what.isdigit():
            if offset != int(what):
                continue
        elif not _is_of(record, what, arguments.key, database):
            continue
        if arguments.json:
            say(visible_json({"offset": offset, **record}))
        else:
            say(f"offset {offset}")
            for line in explain_record(record, event):
                say(visible(line))
        shown += 1
        if shown == arguments.limit:
            break
    if not shown and database is None:
        raise ConfigError(command_errors.NOT_IN_QUARANTINE, what=what, pipeline=settings.name)
    return 0


def _is_of(record: QuarantineRecord, name: str, key: str | None, database: Fence | None) -> bool:
    """Return whether a record belongs to a table, or to the fence of its whole database."""
    of = f"{record['database']}.{record['table']}"
    if database is not None and of == database.name:
        # The statement may have changed every table and every key.
        return int(record["seq"]) >= int(database.since_seq)
    return of == name and (key is None or any(key in row["keys"] for row in record["rows"]))


def run_replay(arguments: Namespace) -> int:
    """Ask the pipeline to write the held changes of a table, or of one key; wait until it has."""
    settings, name = loaded(arguments.config), arguments.table
    asked = topics.request_replay(settings, name, arguments.key)
    if not _wait(settings, asked.fences, asked.offset):
        return EXIT_DEFINITE
    _require_copy(settings, arguments.config, name)
    return 0


def _wait(settings: Settings, wanted: list[Fence], request: int) -> bool:
    """Wait for the outcome of a replay, and print it; return whether everything is written."""
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
            # A later request for the same fences takes the place of this one.
            running = [fence for fence in left if _is_from(fence.replay, request)]
            answered = [fence for fence in left if _is_from(fence.answered, request)]
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
        return True
    for fence in answered:
        what = "" if fence.key is None else f" key {visible(fence.key)}:"
        console.print(
            f"{name}:{what} {fence.rows} stay: {visible(fence.reason)}",
            markup=False,
            soft_wrap=True,
        )
    return False


def _is_from(number: str | None, request: int) -> bool:
    return number is not None and int(number) >= request


def _require_copy(settings: Settings, config: Path, name: str) -> None:
    """Print where rows of a table are missing that no replay brings back."""
    if copy_has_failed(settings.kafka, settings.name, name):
        raise DefiniteError(command_errors.COPY_HAS_FAILED, table=name, config=config)


def _fences(settings: Settings) -> list[Fence]:
    return topics.read_fences(settings.kafka, settings.name)
