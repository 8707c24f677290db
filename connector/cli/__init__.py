"""The command line: each command calls one function elsewhere and turns errors into exit codes.

One module for each command. A command imports its dependencies when it runs, so `--help` is fast.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.metadata import version
from typing import Annotated

import typer

from connector import compiled
from connector.cli import examples
from connector.cli.commands import Commands
from connector.cli.config import config
from connector.cli.daemon import check, run
from connector.cli.demo import demo
from connector.cli.dump import dump
from connector.cli.explain import explain
from connector.cli.flashback import flashback
from connector.cli.log_commands import LogCommand
from connector.cli.quarantine import quarantine
from connector.cli.rules import rules
from connector.cli.snapshot import snapshot
from connector.cli.stat import stat
from connector.cli.status import status
from connector.cli.verify import verify

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    # Of the commands, too.
    context_settings={"help_option_names": ["-h", "--help"]},
    # Paragraphs of the docstrings are wrapped to the terminal.
    rich_markup_mode="markdown",
    # A traceback with local values would show rows and passwords.
    pretty_exceptions_enable=False,
    help="Streams every change of a MySQL or MariaDB server into Kafka, exactly once and in order, "
    "and reads binlogs.",
    epilog=examples.ALL,
)
app.command(epilog=examples.RUN)(run)
app.command(epilog=examples.CHECK)(check)
app.command(epilog=examples.STATUS)(status)
app.command(epilog=examples.CONFIG)(config)
app.command(epilog=examples.SNAPSHOT)(snapshot)
app.command(epilog=examples.VERIFY)(verify)
app.command()(explain)
app.command(epilog=examples.RULES)(rules)
app.command(epilog=examples.DEMO)(demo)
app.command(cls=LogCommand, epilog=examples.DUMP)(dump)
app.command(cls=LogCommand, epilog=examples.STAT)(stat)
app.command(cls=LogCommand, epilog=examples.FLASHBACK)(flashback)
app.add_typer(quarantine, name="quarantine")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except SystemExit as end:
        if threading.active_count() > 1 and isinstance(end.code, int):
            # They wait for servers, and may be inside of OpenSSL when an orderly end takes it down:
            # that is a segmentation fault.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code)
        raise


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"binlog-connector {version('binlog-connector')} ({compiled.description()})")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass
