"""`verify --table`: compares tables that other programs have made, and prints what is found."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence

import structlog

from connector.cli.configuration import configure_logging
from connector.cli.exit_codes import say
from connector.cli.log_input import password_of
from connector.cli.verify_mirror import run_until_stopped, shown
from connector.foundation.errors.message import visible
from connector.foundation.operating_system import share_one_arena
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.addresses import source_settings
from verification.foreign.continuous_run import ForeignContinuousRun
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult, foreign_lines, foreign_report
from verification.foreign.run import verify_tables
from verification.foreign.table_choice import TableChoice, TablesFile, read_choice, read_tables_file
from verification.metrics import VerificationMetrics, metrics_server
from verification.report import exit_code
from verification.run_progress import RunProgress


def compared(arguments: Namespace) -> tuple[SourceSettings, list[TableChoice], ForeignLimits]:
    """Return the source, what is compared with it, and how; raises ConfigError."""
    url = arguments.config
    source = source_settings(url, password=password_of(url, arguments.password_env))
    choices = [read_choice(text) for text in arguments.table]
    choices += _file(arguments).tables
    limits = ForeignLimits(
        arguments.lag,
        arguments.max_differences,
        arguments.rows_per_second or 0,
        arguments.pace or "adaptive",
        arguments.patience,
    )
    return source, choices, limits


def _file(arguments: Namespace) -> TablesFile:
    path = arguments.file_of_tables
    return TablesFile() if path is None else read_tables_file(path)


def verify_foreign(arguments: Namespace) -> int:
    """Compare the tables that the arguments name, and return the exit code of what is found.

    Raises ConfigError for wrong arguments, and the errors of connecting.
    """
    source, choices, limits = compared(arguments)
    with_values = not arguments.no_values
    # Dozens of threads wait for the source and for targets.
    share_one_arena()
    run = RunProgress()
    with shown(run):
        results = verify_tables(source, choices, limits, run)
    if arguments.json:
        json.dump(foreign_report(results, with_values=with_values), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        say_results(results, arguments)
    return exit_code({result.verdict for result in results})


def say_results(results: Sequence[ForeignResult], arguments: Namespace) -> None:
    """Print what people read of a run."""
    for line in foreign_lines(
        results, with_values=not arguments.no_values, shows_all=arguments.all
    ):
        say(visible(line))


def verify_foreign_forever(arguments: Namespace) -> int:
    """Compare the tables that the arguments name until SIGTERM or Ctrl-C.

    Options that are given override the section [verify] of the file. Raises ConfigError for wrong
    arguments, and for an address that cannot be used.
    """
    source, choices, limits = compared(arguments)
    file = _file(arguments)
    own = file.verify
    if arguments.rows_per_second is None:
        limits = limits._replace(rows_per_second=own.rows_per_second)
    name = f"{source.host}:{source.port}"
    configure_logging(file.log, command="verify", pipeline=name)
    metrics = VerificationMetrics(name)

    def forever() -> None:
        # What lags is waited for, and nothing is read meanwhile.
        patience = limits.patience_seconds + limits.lag_seconds
        with metrics_server(metrics, own.listen, patience):
            structlog.get_logger().info(
                "starting",
                name=name,
                compared_with="tables of other programs",
                rows_per_second=limits.rows_per_second,
                pause_seconds=own.pause_seconds,
                full_every_hours=own.full_every_hours,
                metrics=own.listen,
            )
            ForeignContinuousRun(source, choices, limits, own, metrics).run()

    run_until_stopped(forever, metrics)
    return 0
