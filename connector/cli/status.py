"""`status`: what the running process says of itself; without one, what Kafka and the source say.

Several configurations, or a folder, are a list, the sick ones first, in the terminal or as a page.
"""

import json
import signal
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from connector.cli import command_errors, exit_codes
from connector.cli.configuration import loaded
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.errors.message import visible_json
from connector.foundation.settings.file_settings import configuration_files
from connector.foundation.settings.sections import Settings
from connector.foundation.table_view import FIRST_TABLES, TableView
from connector.stream.status import pipeline_list
from connector.stream.status.model import Level, PipelineStatus, State, of_tables, to_json
from connector.stream.status.pipeline_table import render_list
from connector.stream.status.status_client import NoAnswer, fetch_status, status_from_records
from connector.stream.status.terminal import render_status

# The exit code of a level.
_LEVELS: Final = {
    Level.GOOD: 0,
    Level.WARNING: exit_codes.EXIT_GAVE_UP,
    Level.CRITICAL: exit_codes.EXIT_DEFINITE,
}
# Of a list, the code that tells most comes first.
_CODES: Final = (
    exit_codes.EXIT_DEFINITE,
    exit_codes.EXIT_CONFIG,
    exit_codes.EXIT_STOPPED,
    exit_codes.EXIT_GAVE_UP,
)
_LOOK_SECONDS: Final = 2.0
# The width of the output if it is not a terminal.
_WIDTH: Final = 160

_Facts = TypeVar("_Facts")


def run(arguments: Namespace) -> int:
    """Show what the pipeline does, and return the code that says how it does."""
    first: Path = arguments.configs[0]
    view = TableView.of(arguments)
    if len(arguments.configs) > 1 or arguments.listen is not None or first.is_dir():
        if view != FIRST_TABLES:
            raise ConfigError(command_errors.TABLES_OF_ONE)
        return _run_list(arguments)
    settings = loaded(first)

    def look() -> PipelineStatus:
        return of_tables(_look(settings), view.fits)

    output = _Output(look, lambda facts, _: render_status(facts, view), to_json)
    return exit_code(output.show(as_json=arguments.json, is_watching=arguments.watch))


def exit_code(facts: PipelineStatus) -> int:
    """Return the exit code of what is true of the pipeline."""
    first, *others = facts.conditions
    if first.state in (State.STOPPED, State.UNKNOWN):
        lost = any(one.state is State.CANNOT_CONTINUE for one in others)
        return exit_codes.EXIT_DEFINITE if lost else exit_codes.EXIT_STOPPED
    return _LEVELS[facts.worst]


def _look(settings: Settings) -> PipelineStatus:
    answer = fetch_status(settings)
    if not isinstance(answer, NoAnswer):
        return answer
    try:
        return status_from_records(settings, answer)
    except ConnectorError:
        exit_codes.warn(answer.reason)
        raise


def _run_list(arguments: Namespace) -> int:
    """Show the list, or serve it until a signal; return the code that says how the pipelines do.

    Raises ConfigError for arguments that do not go together, or a folder without configurations.
    """
    paths: list[Path] = arguments.configs
    if not configuration_files(paths):
        raise ConfigError(command_errors.NO_FILES, folder=paths[0])

    def look() -> pipeline_list.PipelineList:
        # A file that has come to a folder meanwhile is shown, too.
        return pipeline_list.list_pipelines(configuration_files(paths))

    if arguments.listen is not None:
        if arguments.json or arguments.watch:
            raise ConfigError(command_errors.LISTEN_ALONE)
        return _serve(arguments.listen, look)
    output = _Output(look, render_list, pipeline_list.to_json)
    return list_code(output.show(as_json=arguments.json, is_watching=arguments.watch))


def list_code(listed: pipeline_list.PipelineList) -> int:
    """Return the exit code that tells most of all pipelines; 0 if all are well."""
    codes = {_code(one) for one in listed.pipelines}
    return next((code for code in _CODES if code in codes), 0)


def _code(one: pipeline_list.ListedPipeline) -> int:
    if one.is_refused:
        return exit_codes.EXIT_CONFIG
    if one.state.state in (State.STOPPED, State.UNKNOWN):
        return exit_codes.EXIT_STOPPED
    return _LEVELS[one.level]


def _serve(listen: str, look: Callable[[], pipeline_list.PipelineList]) -> int:
    # Templates and the HTTP server are for this alone.
    from connector.stream.status.pipeline_page import serving_list  # noqa: PLC0415

    ends = {signal.SIGTERM, signal.SIGINT}
    # The threads that answer inherit it, so the signal comes to this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with serving_list(listen, look):
        exit_codes.say(f"http://{listen}/ shows the pipelines, until SIGTERM or Ctrl-C")
        signal.sigwait(ends)
    return 0


@dataclass(frozen=True, slots=True)
class _Output(Generic[_Facts]):
    """The forms of what is shown: for a terminal of some width, and as JSON."""

    look: Callable[[], _Facts]
    render: Callable[[_Facts, int], RenderableType]
    to_json: Callable[[_Facts], bytes]

    def show(self, *, as_json: bool, is_watching: bool) -> _Facts:
        """Show what `look` returns, once or until Ctrl-C; return the last of it."""
        # Its width is that of the terminal, or of a pipe.
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _WIDTH
        facts = self.look()
        if not is_watching:
            self._print(console, facts, as_json=as_json)
            return facts
        try:
            if as_json or not console.is_terminal:
                while True:
                    self._print(console, facts, as_json=as_json)
                    time.sleep(_LOOK_SECONDS)
                    facts = self.look()
            shown = self.render(facts, console.width)
            with Live(shown, console=console, screen=True, auto_refresh=False) as live:
                while True:
                    time.sleep(_LOOK_SECONDS)
                    facts = self.look()
                    live.update(self.render(facts, console.width), refresh=True)
        except KeyboardInterrupt:
            return facts

    def _print(self, console: Console, facts: _Facts, *, as_json: bool) -> None:
        if as_json:
            exit_codes.say(visible_json(json.loads(self.to_json(facts))))
        else:
            console.print(self.render(facts, console.width))
