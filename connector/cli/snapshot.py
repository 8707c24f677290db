"""`snapshot`: the running pipeline copies tables again."""

import time
from argparse import Namespace

from rich import progress
from rich.console import Console

from connector.cli import command_errors
from connector.cli.configuration import loaded
from connector.cli.exit_codes import EXIT_DEFINITE, EXIT_INTERRUPTED, errors
from connector.foundation.errors import ConfigError, TransientError
from connector.foundation.errors.message import Message, visible
from connector.foundation.settings.sections import Settings
from connector.stream.snapshot import copy_requests
from connector.stream.snapshot.table_state import TableState

# A running pipeline accepts a command at the end of the current source transaction.
_TAKEN_UP_SECONDS = 15.0
# A running copy reports more often: by default a SELECT may take half of that time.
_SILENT_SECONDS = 60.0
_LOOK_SECONDS = 0.2


def run(arguments: Namespace) -> int:
    """Ask the running pipeline to copy tables again, and show the copies until they end."""
    settings = loaded(arguments.config)
    tables: list[str] = arguments.tables
    if arguments.dismiss:
        if arguments.where:
            raise ConfigError(command_errors.DISMISSED_ROWS)
        _dismiss(settings, tables)
        return 0
    if arguments.where:
        copy_requests.require_condition(arguments.where)
    with copy_requests.StateWatch(settings) as watch:
        asked = copy_requests.request_copies(settings, tables, arguments.where)
        try:
            return _show(settings, watch, asked)
        except KeyboardInterrupt:
            errors().print(f"the copy goes on in pipeline {settings.name}")
            return EXIT_INTERRUPTED


def _dismiss(settings: Settings, patterns: list[str]) -> None:
    """Let failed copies count as complete, and wait until they do."""
    asked = copy_requests.ask_to_dismiss(settings.kafka, settings.name, patterns)
    deadline = time.monotonic() + _TAKEN_UP_SECONDS
    while not set(asked).isdisjoint(copy_requests.failed_copies(settings.kafka, settings.name)):
        if time.monotonic() > deadline:
            raise TransientError(
                command_errors.COPY_NOT_TAKEN_UP, pipeline=settings.name, seconds=_TAKEN_UP_SECONDS
            )
        time.sleep(_LOOK_SECONDS)
    for database, table in asked:
        said = f"{database}.{table}: its failed copy is dismissed"
        Console().print(visible(said), markup=False, highlight=False, soft_wrap=True)


def _show(
    settings: Settings, watch: copy_requests.StateWatch, asked: copy_requests.CopyRequest
) -> int:
    """Show the copies until they end; return the exit code."""
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
    )
    states: dict[tuple[str, str], TableState] = {}
    tasks: dict[tuple[str, str], progress.TaskID] = {}
    deadline = time.monotonic() + _TAKEN_UP_SECONDS
    heard = time.monotonic()
    console = Console()
    with progress.Progress(*columns, console=console) as display:
        while not _are_over(asked, states):
            for state in watch.changed(asked):
                heard = time.monotonic()
                name = (state.database, state.table)
                if name not in tasks:
                    tasks[name] = display.add_task(visible(state.name), total=None, speed="")
                states[name] = state
                display.update(
                    tasks[name],
                    completed=state.rows,
                    total=_total(state),
                    speed=_speed(state),
                )
            if not states and time.monotonic() > deadline:
                raise TransientError(
                    command_errors.COPY_NOT_TAKEN_UP,
                    pipeline=settings.name,
                    seconds=_TAKEN_UP_SECONDS,
                )
            if states and time.monotonic() - heard > _SILENT_SECONDS:
                heard = time.monotonic()
                facts = {"pipeline": settings.name, "seconds": _SILENT_SECONDS}
                errors().print(str(Message(command_errors.COPY_IS_SILENT, facts)), markup=False)
    for state in states.values():
        _tell_end(state, console)
    return EXIT_DEFINITE if any(s.phase == "failed" for s in states.values()) else 0


def _tell_end(state: TableState, console: Console) -> None:
    """Say how a copy has ended."""
    name = visible(state.name)
    if state.phase == "failed":
        errors().print("error:", style="bold red", end=" ")
        errors().print(f"{name}: {visible(state.error)}", markup=False)
        return
    seconds = max(0.001, (state.ended_at_ms - state.started_at_ms) / 1000)
    console.print(f"{name}: {state.rows} rows in {seconds:.1f} s", markup=False)
    if state.kept_back:
        console.print(
            f"{name}: rows that cannot be published and are kept back: {state.kept_back}; "
            "`binlog-connector quarantine list CONFIG` says why",
            markup=False,
            soft_wrap=True,
        )


def _are_over(asked: copy_requests.CopyRequest, states: dict[tuple[str, str], TableState]) -> bool:
    return all(name in states and not states[name].under_way for name in asked.tables)


def _total(state: TableState) -> int | None:
    if not state.under_way:
        return state.rows
    # An estimate that has been exceeded says nothing about the number of rows.
    return state.estimated_rows if state.estimated_rows > state.rows else None


def _speed(state: TableState) -> str:
    if not state.rows or not state.started_at_ms:
        return ""
    ended_ms = state.ended_at_ms or int(time.time() * 1000)
    return f"{state.rows * 1000 // max(1, ended_ms - state.started_at_ms)} rows/s"
