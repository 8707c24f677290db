"""The command line: each command calls one function elsewhere and turns errors into exit codes."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import structlog
import typer
from rich.console import Console

from connector.config import LogSettings, load_settings
from connector.errors import ConfigError, ConnectorError, TransientError
from connector.stop import StoppedHard

if TYPE_CHECKING:
    from collections.abc import Callable

# 0 is a clean end, also after SIGTERM; the others are told apart by what a supervisor should do.
EXIT_GAVE_UP = 1  # transient: retry.attempts_max was reached; starting again may help
EXIT_CONFIG = 2  # the configuration or the arguments are wrong
EXIT_DEFINITE = 3  # starting again cannot help; the text says what will
EXIT_STOPPED_HARD = 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    # Paragraphs of the docstrings are wrapped to the terminal.
    rich_markup_mode="markdown",
    # A traceback with local values would show rows and passwords.
    pretty_exceptions_enable=False,
    help="Streams every change of a MySQL or MariaDB server into Kafka, exactly once and in order.",
)
_errors = Console(stderr=True, soft_wrap=True, highlight=False)


class SourceChoice(StrEnum):
    """Kinds of servers that the demo can start."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


ConfigPath = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="TOML file; configs/connector.toml explains it.")
]


def main() -> None:
    """Run the command line."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"binlog-connector {version('binlog-connector')}")
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


@app.command()
def run(config: ConfigPath) -> None:
    """Stream changes into Kafka until SIGTERM or Ctrl-C.

    Exit codes: 0 stopped on request, 1 gave up on a transient error, 2 wrong configuration,
    3 an error that starting again cannot mend.
    """

    def stream() -> None:
        from connector.supervisor import supervise  # noqa: PLC0415  # keeps --help fast

        settings = load_settings(config)
        configure_logging(settings.log)
        supervise(settings)

    _exit_code_of(stream)


@app.command()
def check(config: ConfigPath) -> None:
    """Show each server setting and grant that is needed, and the statement that fixes it.

    Exit codes: 0 everything needed is there, 3 something is missing, 2 wrong configuration,
    1 a server cannot be reached.
    """

    def report() -> None:
        from connector.check import check_pipeline  # noqa: PLC0415  # keeps --help fast

        if not check_pipeline(load_settings(config), Console()):
            raise typer.Exit(EXIT_DEFINITE)

    _exit_code_of(report)


@app.command()
def demo(
    source: Annotated[SourceChoice, typer.Option(help="Kind of server.")] = SourceChoice.MYSQL,
    duration: Annotated[float, typer.Option(min=5, help="Seconds that the workload runs.")] = 40.0,
    rate: Annotated[
        float, typer.Option(min=1, help="Transactions a second that the workload aims at.")
    ] = 50.0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running until Ctrl-C.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(help="Where data and logs go.", show_default="a temporary folder"),
    ] = None,
    mysqld: Annotated[
        Path | None, typer.Option(help="A mysqld of your own, instead of the one that is fetched.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="[USER[:PASSWORD]@]HOST[:PORT]", help="A running server of your own, instead."
        ),
    ] = None,
) -> None:
    """Show the whole pipeline on real servers: MySQL, Kafka, Spark, Delta. No Docker needed.

    Starts private servers, changes a small shop, kills the connector in the middle, and compares
    every table row by row. Exit codes: 0 the mirror equals the source, else something differs or
    failed.
    """
    try:
        from local_stack.demo import DemoOptions, run_demo  # noqa: PLC0415  # an extra
    except ImportError as error:
        reason = f"the demo needs more packages ({error}): pip install 'binlog-connector[demo]'"
        _fail(ConfigError(reason), EXIT_CONFIG)
    options = DemoOptions(
        source=source.value,
        duration_seconds=duration,
        rate=rate,
        keep=keep,
        directory=directory,
        mysqld=mysqld,
        address=address,
    )
    # The servers' client libraries report on standard error what the demo says better.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    raise typer.Exit(run_demo(options))


def configure_logging(settings: LogSettings) -> None:
    """Send one line for each thing that happened to standard error."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # The Kafka client's own log repeats what our errors say.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def _exit_code_of(command: Callable[[], None]) -> None:
    try:
        command()
    except ConfigError as error:
        _fail(error, EXIT_CONFIG)
    except TransientError as error:
        _fail(error, EXIT_GAVE_UP)
    except ConnectorError as error:
        _fail(error, EXIT_DEFINITE)
    except StoppedHard:
        _errors.print("stopped before the batch was committed; it is read again by the next run")
        raise typer.Exit(EXIT_STOPPED_HARD) from None


def _fail(error: ConnectorError, code: int) -> NoReturn:
    _errors.print("error:", style="bold red", end=" ")
    _errors.print(str(error), markup=False)
    raise typer.Exit(code) from error


if __name__ == "__main__":
    main()
