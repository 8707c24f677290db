"""`status`: what the running process says of itself; without one, what Kafka and the source say.

Several configurations, or a folder, are a list (`status_list.py`).
"""

import json
import time
from argparse import Namespace
from pathlib import Path

from rich.console import Console
from rich.live import Live

from connector.cli import status_list
from connector.cli.configuration import loaded
from connector.cli.exit_codes import EXIT_DEFINITE, EXIT_GAVE_UP, EXIT_STOPPED, say, warn
from connector.foundation.errors import ConnectorError
from connector.foundation.errors.message import visible_json
from connector.foundation.settings.sections import Settings
from connector.stream.status.model import Level, PipelineStatus, State, to_json
from connector.stream.status.status_client import NoAnswer, fetch_status, status_from_records
from connector.stream.status.terminal import render_status

_LOOK_SECONDS = 2.0
# The width of the output if it is not a terminal.
_WIDTH = 160


def run(arguments: Namespace) -> int:
    """Show what the pipeline does, and return the code that says how it does."""
    first: Path = arguments.configs[0]
    if len(arguments.configs) > 1 or arguments.listen is not None or first.is_dir():
        return status_list.run(arguments)
    settings, as_json = loaded(first), arguments.json
    # Its width is that of the terminal, or of a pipe.
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    facts = _look(settings)
    if arguments.watch:
        facts = _watch(settings, console, facts, as_json=as_json)
    else:
        _show(console, facts, as_json=as_json)
    return exit_code(facts)


def exit_code(facts: PipelineStatus) -> int:
    """Return the exit code of what is true of the pipeline."""
    first, *others = facts.conditions
    if first.state in (State.STOPPED, State.UNKNOWN):
        lost = any(one.state is State.CANNOT_CONTINUE for one in others)
        return EXIT_DEFINITE if lost else EXIT_STOPPED
    return {Level.GOOD: 0, Level.WARNING: EXIT_GAVE_UP, Level.CRITICAL: EXIT_DEFINITE}[facts.worst]


def _look(settings: Settings) -> PipelineStatus:
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
    try:
        if as_json or not console.is_terminal:
            while True:
                _show(console, facts, as_json=as_json)
                time.sleep(_LOOK_SECONDS)
                facts = _look(settings)
        with Live(render_status(facts), console=console, screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(_LOOK_SECONDS)
                facts = _look(settings)
                live.update(render_status(facts), refresh=True)
    except KeyboardInterrupt:
        return facts


def _show(console: Console, facts: PipelineStatus, *, as_json: bool) -> None:

    if as_json:
        say(visible_json(json.loads(to_json(facts))))
    else:
        console.print(render_status(facts))
