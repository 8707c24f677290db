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

import os
import sys
from typing import TYPE_CHECKING, TextIO

from connector.foundation.errors import ConfigError, fields
from connector.foundation.errors.message import Message
from connector.foundation.settings import settings_errors
from stream_jobs.errors import exit_codes
from stream_jobs.log_lines import EcsLine
from stream_jobs.run.arguments import parsed

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

# Packages of the extra; without the extra, one of them is missing.
_EXTRA = frozenset({"numpy", "py4j", "pyarrow", "pyroaring", "pyspark", "xxhash"})


def main() -> int:
    """Do what the arguments say, and return the exit code."""
    arguments = parsed(sys.argv[1:])
    if arguments.command != "run":
        try:
            return _other(arguments)
        except ConfigError as error:
            sys.stderr.write(f"error: {error}\n")
            return exit_codes.CONFIG
        except ModuleNotFoundError as error:
            sys.stderr.write(f"error: {_missing(error)}\n")
            return exit_codes.CONFIG
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
            return exit_codes.CONFIG


def _wants_json(config: Path) -> bool:
    from stream_jobs.settings import Settings  # noqa: PLC0415  # keeps --help fast

    return Settings.peek(config, "log.format") == "json"


def _missing(error: ModuleNotFoundError) -> Message:
    """Return what to install; raises `error` if that does not help."""
    if error.name is None or error.name.partition(".")[0] not in _EXTRA:
        raise error
    return Message(settings_errors.SPARK_EXTRA, {"said": error})


def _run(configs: list[Path], out: TextIO) -> int:
    from stream_jobs.run.process import run_configurations  # noqa: PLC0415  # of an extra

    return run_configurations(configs, out)


def _other(arguments: Namespace) -> int:
    """Run another command than `run`; raises ConfigError."""
    from stream_jobs.settings import load_settings  # noqa: PLC0415  # keeps --help fast

    settings = load_settings(arguments.config)
    if arguments.command == "replica":
        from stream_jobs.replica.loop import follow  # noqa: PLC0415  # of an extra

        return follow(settings, sys.stdout, once=arguments.once)
    from stream_jobs.run.commands import look_after  # noqa: PLC0415  # of an extra

    return look_after(settings, arguments, sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
