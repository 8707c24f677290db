"""The command: `binlog-connector-mirror`, or `python -m stream_jobs`.

`spark-submit` runs this file, whose path is what `binlog-connector-mirror --script` prints.

`run` keeps the tables equal; `status`, `resume`, `cuts` and `drop-shards` look after them, and
`replica` brings them to a database server, all without Spark. A configuration file alone means
`run`.

Standard output of `run` has only status lines, see `stream_jobs.run.status_lines`. The output of
Spark, its JVM and libraries goes to standard error, and so does the text of a failure, unless lines
are JSON.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from connector.foundation.errors import ConfigError, ConnectorError, fields
from connector.foundation.errors.message import Message, visible
from connector.foundation.settings import settings_errors
from connector.foundation.table_view import TableView
from stream_jobs.log_lines import EcsLine
from stream_jobs.run.arguments import parsed

if TYPE_CHECKING:
    from stream_jobs.settings import Settings

# Packages of the extra; without the extra, one of them is missing.
_EXTRA = frozenset({"numpy", "py4j", "pyarrow", "pyroaring", "pyspark", "xxhash"})

EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_REFUSED = 3


def main() -> int:
    """Do what the arguments say, and return the exit code."""
    arguments = parsed(sys.argv[1:])
    if arguments.command != "run":
        try:
            return _look_after(arguments)
        except ModuleNotFoundError as error:
            sys.stderr.write(f"error: {_missing(error)}\n")
            return EXIT_CONFIG
    # The JVM inherits the file descriptors: its output must not be between the status lines.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        try:
            return _run(arguments.configs, out)
        except ModuleNotFoundError as error:
            message = _missing(error)
            # The module that writes status lines cannot be imported either.
            if _wants_json(arguments.configs[0]):
                print(EcsLine("mirror", None).text("failed", fields(message)), file=out)
            else:
                sys.stderr.write(f"error: {message}\n")
            return EXIT_CONFIG


def _wants_json(config: Path) -> bool:
    from stream_jobs.settings import Settings  # noqa: PLC0415  # keeps --help fast

    return Settings.peek(config, "log.format") == "json"


def _missing(error: ModuleNotFoundError) -> Message:
    """Return what to install; raises `error` if that does not help."""
    if error.name is None or error.name.partition(".")[0] not in _EXTRA:
        raise error
    return Message(settings_errors.SPARK_EXTRA, {"said": error})


def _run(configs: list[Path], out: TextIO) -> int:
    if len(configs) > 1 or configs[0].is_dir():
        from stream_jobs.run.many_jobs import run_files  # noqa: PLC0415  # of an extra

        return run_files(configs, out)
    from stream_jobs.run.one_job import run_file  # noqa: PLC0415  # of an extra

    return run_file(configs[0], out)


def _look_after(arguments: argparse.Namespace) -> int:
    """Run another command than `run`."""
    from stream_jobs.settings import load_settings  # noqa: PLC0415  # keeps --help fast

    config = arguments.config
    try:
        settings = load_settings(config)
        if arguments.command == "resume":
            return _resume(settings, arguments)
        if arguments.command == "replica":
            from stream_jobs.replica.loop import follow  # noqa: PLC0415  # of an extra

            return follow(settings, sys.stdout, once=arguments.once)
        from stream_jobs.run import commands  # noqa: PLC0415  # of an extra

        if arguments.command == "cuts":
            commands.show_cuts(settings, sys.stdout, as_json=arguments.json)
            return 0
        if arguments.command == "drop-shards":
            prefix, lost = arguments.prefix, arguments.lost_host
            commands.drop_shards(settings, prefix, lost, sys.stdout, confirmed=arguments.yes)
            return 0
        return commands.show_status(
            settings,
            config,
            sys.stdout,
            as_json=arguments.json,
            view=TableView.of(arguments),
        )
    except ConnectorError as error:
        sys.stderr.write(f"error: {error}\n")
        return _exit_code(error)


def _exit_code(error: ConnectorError) -> int:
    from stream_jobs.run.job_state import OF_OTHER_OWNERS  # noqa: PLC0415  # of an extra

    if isinstance(error, ConfigError):
        return EXIT_CONFIG
    return EXIT_REFUSED if error.code in OF_OTHER_OWNERS else EXIT_FAILED


def _resume(settings: Settings, arguments: argparse.Namespace) -> int:
    from stream_jobs.tables.quarantine_files import resume  # noqa: PLC0415  # of an extra

    asked = resume(
        settings,
        arguments.config,
        arguments.tables,
        every=arguments.all,
        skipped=arguments.skip_record,
        rebuild=arguments.rebuild,
    )
    if not asked:
        sys.stdout.write("no table is set aside\n")
    for name, needs_copy in asked:
        table = visible(name)
        lines = f"{table}: the running job tries it again within one interval, else the next run\n"
        if needs_copy:
            lines += (
                f"{table}: Kafka has deleted its first records; unless the connector has copied it "
                "since, let it do so now: "
                f"`binlog-connector snapshot CONNECTOR.toml {table}`\n"
            )
        sys.stdout.write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
