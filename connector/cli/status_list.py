"""`status` of many configurations: a list, the sick ones first, in the terminal or as a page."""

import signal
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from connector.cli import command_errors, exit_codes
from connector.cli.status_output import CODES, StatusOutput
from connector.foundation.errors import ConfigError
from connector.foundation.settings.file_settings import configuration_files
from connector.stream.status import pipeline_list
from connector.stream.status.model import State
from connector.stream.status.pipeline_table import render_list

# The code that tells most comes first.
_CODES = (
    exit_codes.EXIT_DEFINITE,
    exit_codes.EXIT_CONFIG,
    exit_codes.EXIT_STOPPED,
    exit_codes.EXIT_GAVE_UP,
)


def run(arguments: Namespace) -> int:
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
    output = StatusOutput(look, render_list, pipeline_list.to_json)
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
    return CODES[one.level]


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
