"""`verify`: compares what the pipeline has delivered with the source."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated, NamedTuple

import typer

from connector.cli import command_errors
from connector.cli.arguments import grouped
from connector.cli.daemon import EXIT_STOPPED_HARD, ConfigPath, exit_code_of, loaded
from connector.foundation.errors import ConfigError


class Compared(NamedTuple):
    """What is compared with the tables of the source."""

    mirror: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare tables with their mirrors, row by row. FILE is the configuration of the "
            "Spark job: it says where the mirror is, and what was chosen for tables.",
            show_default=False,
        ),
    ] = None
    replica: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare tables with those of the replica, row by row. FILE is the configuration "
            "of `binlog-connector-mirror replica`, which is that of the Spark job.",
            show_default=False,
        ),
    ] = None
    topics: Annotated[
        bool,
        typer.Option(
            "--topics", help="Compare the topics with the source's log, record by record."
        ),
    ] = False
    first: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE:POS|GTIDS",
            help="With --topics: begin here, or after these transactions; by default at the oldest "
            "position that topics and log tell of. A position is one in the newest server's log.",
            show_default=False,
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FILE:POS|GTIDS",
            help="With --topics: end here, or with these transactions; by default at the newest "
            "progress.",
            show_default=False,
        ),
    ] = None


class Outcome(NamedTuple):
    """What is told, and what is done about differences."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON report.")] = False
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="With --mirror or --replica: let the running pipeline copy the rows that differ, "
            "and compare them again. It takes surplus rows back by their keys; if that cannot be "
            "done, the whole table is copied.",
        ),
    ] = False
    no_values: Annotated[
        bool,
        typer.Option(
            "--no-values",
            help="With --mirror or --replica: print hashes instead of values; keys stay.",
        ),
    ] = False
    forever: Annotated[
        bool,
        typer.Option(
            "--forever",
            help="With --mirror or --replica: go round all tables until SIGTERM or Ctrl-C, as "
            "[verify] says.",
        ),
    ] = False


class Choice(NamedTuple):
    """Which rows of mirrors are compared."""

    sample: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            metavar="PERCENT",
            help="With --mirror or --replica: compare only so many ranges of keys, chosen at "
            "random.",
            show_default="all rows",
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --sample: choose as the run that has printed this number.",
            show_default="a random number",
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="CUT",
            help="With --mirror: compare only keys that have changed since this cut, at the source "
            "or in the mirror. A cut is named by its number, a time, a position FILE:POS, or a "
            "GTID or a set of them; between two cuts, the earlier one is taken.",
            show_default="all rows",
        ),
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --mirror or --replica: if this is interrupted, the same command with the "
            "same FILE goes on where it was. FILE goes when everything was compared.",
            show_default="none",
        ),
    ] = None


class Effort(NamedTuple):
    """How fast, how much, and how long."""

    rows_per_second: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --mirror or --replica: rows that are read at the source; 0: no limit.",
            show_default="0; verify.rows_per_second with --forever",
        ),
    ] = None
    max_differences: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --mirror or --replica: a table with so many is not compared further.",
        ),
    ] = 1000
    patience: Annotated[
        float,
        typer.Option(
            min=0,
            help="With --mirror or --replica: seconds that the pipeline may need to catch up, and "
            "that mirror or replica may stand still while they do.",
        ),
    ] = 60.0


@grouped
def verify(
    *,
    config: ConfigPath,
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE…]",
            help="With --mirror or --replica: shop.orders, or a pattern such as shop.*",
            show_default="all followed tables",
        ),
    ] = None,
    compared: Compared,
    outcome: Outcome,
    choice: Choice,
    effort: Effort,
) -> None:
    """Prove that mirrors or a replica equal the tables, or that topics have every change once.

    Pipeline, Spark job and replica may be running. Nothing is locked, and nothing is written
    except the copies of --repair.

    Exit codes: 0 equal, or stopped (--forever), 4 different, 1 not finished: a server cannot be
    reached, or pipeline, mirror or replica lag, 2 wrong configuration or arguments, 3 the log
    cannot prove it, or not all of it, or a server refuses, or the mirror does not have the cut.
    """

    def compare() -> None:
        _require_fitting(compared, outcome, choice, of_tables=bool(tables))
        job = compared.mirror or compared.replica
        if job is None:
            from connector.cli.verify_topics import verify_topics  # noqa: PLC0415  # fast --help

            first, until = compared.first, compared.until
            verify_topics(loaded(config), first, until, as_json=outcome.as_json)
        elif outcome.forever:
            from connector.cli.verify_mirror import verify_forever  # noqa: PLC0415  # fast --help

            verify_forever(
                config,
                job,
                tables or (),
                of_replica=compared.replica is not None,
                repair=outcome.repair,
                rows_per_second=effort.rows_per_second,
                max_differences=effort.max_differences,
                patience=effort.patience,
            )
        else:
            from connector.cli.verify_mirror import verify_mirror  # noqa: PLC0415  # fast --help

            verify_mirror(
                config,
                job,
                tables or (),
                of_replica=compared.replica is not None,
                as_json=outcome.as_json,
                no_values=outcome.no_values,
                repair=outcome.repair,
                rows_per_second=effort.rows_per_second or 0,
                max_differences=effort.max_differences,
                patience=effort.patience,
                sample=choice.sample,
                seed=choice.seed,
                since=choice.since or "",
                state=choice.state,
            )

    try:
        exit_code_of(compare)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_STOPPED_HARD) from None


def _require_fitting(
    compared: Compared, outcome: Outcome, choice: Choice, *, of_tables: bool
) -> None:
    """Raise ConfigError if options are of something else than what is compared."""
    topics, replica = compared.topics, compared.replica is not None
    if topics + replica + (compared.mirror is not None) != 1:
        raise ConfigError(command_errors.WHAT)
    parts = [each is not None for each in (choice.sample, choice.since, choice.state)]
    of_tables = of_tables or outcome.repair or outcome.no_values or any(parts)
    if (topics and of_tables) or (replica and choice.since is not None):
        raise ConfigError(command_errors.NEEDS_MIRROR)
    not_forever = outcome.as_json or outcome.no_values or any(parts)
    if outcome.forever and (topics or not_forever):
        raise ConfigError(command_errors.FOREVER)
    if (compared.first or compared.until) and not topics:
        raise ConfigError(command_errors.NEEDS_TOPICS)
    if parts.count(True) > 1:
        raise ConfigError(command_errors.ONE_PART)
