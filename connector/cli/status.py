"""`status`: what the running process says of itself; without one, what Kafka and the source say.

Several configurations, or a folder, are a list (`status_list.py`).
"""

from argparse import Namespace
from pathlib import Path

from connector.cli import command_errors, status_list
from connector.cli.configuration import loaded
from connector.cli.exit_codes import EXIT_DEFINITE, EXIT_STOPPED, warn
from connector.cli.status_output import CODES, StatusOutput
from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import Settings
from connector.foundation.table_view import FIRST_TABLES, TableView
from connector.stream.status.model import PipelineStatus, State, of_tables, to_json
from connector.stream.status.status_client import NoAnswer, fetch_status, status_from_records
from connector.stream.status.terminal import render_status


def run(arguments: Namespace) -> int:
    """Show what the pipeline does, and return the code that says how it does."""
    first: Path = arguments.configs[0]
    view = TableView.of(arguments)
    if len(arguments.configs) > 1 or arguments.listen is not None or first.is_dir():
        if view != FIRST_TABLES:
            raise ConfigError(command_errors.TABLES_OF_ONE)
        return status_list.run(arguments)
    settings = loaded(first)

    def look() -> PipelineStatus:
        return of_tables(_look(settings), view.fits)

    output = StatusOutput(look, lambda facts, _: render_status(facts, view), to_json)
    return exit_code(output.show(as_json=arguments.json, is_watching=arguments.watch))


def exit_code(facts: PipelineStatus) -> int:
    """Return the exit code of what is true of the pipeline."""
    first, *others = facts.conditions
    if first.state in (State.STOPPED, State.UNKNOWN):
        lost = any(one.state is State.CANNOT_CONTINUE for one in others)
        return EXIT_DEFINITE if lost else EXIT_STOPPED
    return CODES[facts.worst]


def _look(settings: Settings) -> PipelineStatus:
    answer = fetch_status(settings)
    if not isinstance(answer, NoAnswer):
        return answer
    try:
        return status_from_records(settings, answer)
    except ConnectorError:
        warn(answer.reason)
        raise
