"""`demo`: the whole pipeline on real servers."""

from __future__ import annotations

import logging
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from connector.cli.daemon import EXIT_CONFIG
from connector.cli.exit_codes import fail
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors


class SourceChoice(StrEnum):
    """Kinds of servers that the demo can start."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


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
        Path | None, typer.Option(help="Your own mysqld, instead of the downloaded one.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="[USER[:PASSWORD]@]HOST[:PORT]", help="Your own running server, instead."
        ),
    ] = None,
) -> None:
    """Show the whole pipeline on real servers: MySQL, Kafka, Spark, Delta. No Docker needed.

    Starts private servers, changes a small shop, and kills the connector in the middle. At the end,
    `verify` compares every table row by row, and finds and repairs a row that the demo damages.
    Exit codes: 0 the mirror equals the source, otherwise there is a difference or a failure.
    """
    try:
        from local_stack.demo import DemoOptions, run_demo  # noqa: PLC0415  # an extra
    except ImportError as error:
        fail(ConfigError(settings_errors.DEMO_EXTRA, said=error), EXIT_CONFIG)
    options = DemoOptions(
        source=source.value,
        duration_seconds=duration,
        rate=rate,
        keep=keep,
        directory=directory,
        mysqld=mysqld,
        address=address,
    )
    # The servers' client libraries repeat on standard error what the demo reports better.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    raise typer.Exit(run_demo(options))
