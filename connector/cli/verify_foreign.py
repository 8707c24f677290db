"""`verify --table`: compares tables that other programs have made, and prints what is found."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from connector.cli.exit_codes import say
from connector.cli.log_input import password_of
from connector.cli.verify_mirror import shown
from connector.foundation.errors.message import visible
from connector.foundation.operating_system import share_one_arena
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.addresses import source_settings
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.foreign_report import ForeignResult, foreign_lines, foreign_report
from verification.foreign.run import verify_tables
from verification.foreign.table_choice import TableChoice, read_choice, read_choices
from verification.report import exit_code
from verification.run_progress import RunProgress


def compared(arguments: Namespace) -> tuple[SourceSettings, list[TableChoice], ForeignLimits]:
    """Return the source, what is compared with it, and how; raises ConfigError."""
    url = arguments.config
    source = source_settings(url, password=password_of(url, arguments.password_env))
    choices = [read_choice(text) for text in arguments.table]
    choices += read_choices(arguments.file_of_tables) if arguments.file_of_tables else []
    limits = ForeignLimits(
        arguments.lag,
        arguments.max_differences,
        arguments.rows_per_second or 0,
        arguments.pace or "adaptive",
        arguments.patience,
    )
    return source, choices, limits


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
