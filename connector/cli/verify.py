"""`verify`: compares what the pipeline has delivered with the source."""

from __future__ import annotations

from typing import Annotated

import typer

from connector.cli.daemon import EXIT_STOPPED_HARD, ConfigPath, exit_code_of, loaded
from connector.cli.option_groups import grouped
from connector.cli.verify_options import Choice, Compared, Effort, Outcome
from connector.errors import ConfigError, verification


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
            from connector.cli.verify_forever import verify_forever  # noqa: PLC0415  # fast --help

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
        raise ConfigError(verification.WHAT)
    parts = [each is not None for each in (choice.sample, choice.since, choice.state)]
    of_tables = of_tables or outcome.repair or outcome.no_values or any(parts)
    if (topics and of_tables) or (replica and choice.since is not None):
        raise ConfigError(verification.NEEDS_MIRROR)
    not_forever = outcome.as_json or outcome.no_values or any(parts)
    if outcome.forever and (topics or not_forever):
        raise ConfigError(verification.FOREVER)
    if (compared.first or compared.until) and not topics:
        raise ConfigError(verification.NEEDS_TOPICS)
    if parts.count(True) > 1:
        raise ConfigError(verification.ONE_PART)
