"""`status`: what the running process says of itself; without one, what Kafka and the source say."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from connector.cli.daemon import EXIT_DEFINITE, EXIT_GAVE_UP, ConfigPath, exit_code_of, loaded
from connector.foundation.errors.visible import visible_json

if TYPE_CHECKING:
    from connector.foundation.settings.sections import Settings
    from connector.stream.status.pipeline_status import PipelineStatus

EXIT_STOPPED = 4

_LOOK_SECONDS = 2.0
# The width of the output if it is not a terminal.
_WIDTH = 160


def status(
    config: ConfigPath,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, for programs; it has everything.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look every 2 seconds, until Ctrl-C.")
    ] = False,
) -> None:
    """Show what the pipeline does: state, lag, throughput, tables, position and events.

    The running process is asked over `metrics.listen`. If it does not answer, Kafka's records say
    where the stream stopped, and each server says whether it still has what follows.

    Exit codes: 0 well, 1 something is wrong that may pass by itself, or Kafka cannot be reached,
    2 wrong configuration, 3 somebody must act: changes are held back, a copy has failed, the source
    will soon drop its log, or the stream cannot go on, 4 no process answers, and the next start
    goes on.
    """

    def report() -> None:
        settings = loaded(config)
        # Its width is that of the terminal, or of a pipe.
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _WIDTH
        facts = _look(settings)
        if watch:
            facts = _watch(settings, console, facts, as_json=as_json)
        else:
            _show(console, facts, as_json=as_json)
        code = exit_code(facts)
        if code:
            raise typer.Exit(code)

    exit_code_of(report)


def exit_code(facts: PipelineStatus) -> int:
    """Return the exit code of what is true of the pipeline."""
    from connector.stream.status.pipeline_status import Level, State  # noqa: PLC0415  # keeps --help fast

    first, *others = facts.conditions
    if first.state in (State.STOPPED, State.UNKNOWN):
        lost = any(one.state is State.CANNOT_CONTINUE for one in others)
        return EXIT_DEFINITE if lost else EXIT_STOPPED
    return {Level.GOOD: 0, Level.WARNING: EXIT_GAVE_UP, Level.CRITICAL: EXIT_DEFINITE}[facts.worst]


def _look(settings: Settings) -> PipelineStatus:
    from connector.cli.exit_codes import warn  # noqa: PLC0415  # keeps --help fast
    from connector.foundation.errors import ConnectorError  # noqa: PLC0415  # keeps --help fast
    from connector.stream.status.status_client import (  # noqa: PLC0415  # keeps --help fast
        NoAnswer,
        fetch_status,
        status_from_records,  # keeps --help fast
    )

    answer = fetch_status(settings)
    if not isinstance(answer, NoAnswer):
        return answer
    try:
        return status_from_records(settings, answer)
    except ConnectorError:
        warn(answer.reason)
        raise


def _watch(
    settings: Settings, console: Console, facts: PipelineStatus, *, as_json: bool
) -> PipelineStatus:
    """Show the facts until Ctrl-C; return the last ones."""
    from rich.live import Live  # noqa: PLC0415  # keeps --help fast

    from connector.stream.status.terminal import shown  # noqa: PLC0415  # keeps --help fast

    try:
        if as_json or not console.is_terminal:
            while True:
                _show(console, facts, as_json=as_json)
                time.sleep(_LOOK_SECONDS)
                facts = _look(settings)
        with Live(shown(facts), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(_LOOK_SECONDS)
                facts = _look(settings)
                live.update(shown(facts), refresh=True)
    except KeyboardInterrupt:
        return facts


def _show(console: Console, facts: PipelineStatus, *, as_json: bool) -> None:
    from connector.stream.status.pipeline_status import to_json  # noqa: PLC0415  # keeps --help fast
    from connector.stream.status.terminal import shown  # noqa: PLC0415  # keeps --help fast

    if as_json:
        typer.echo(visible_json(json.loads(to_json(facts))))
    else:
        console.print(shown(facts))
