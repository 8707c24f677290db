"""The command: `python -m stream_jobs CONFIG`, or this file given to spark-submit.

Standard output has only status lines, see `stream_jobs.status`. The output of Spark, its JVM and
libraries goes to standard error, and so does the text of a failure. Exit codes: 0 stopped, 1
failed, 2 wrong configuration.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from connector.errors import ConfigError, fields, mirror
from connector.errors.message import Message

# Packages of the extra; without the extra, one of them is missing.
_EXTRA = frozenset({"numpy", "py4j", "pyarrow", "pyroaring", "pyspark", "xxhash"})

EXIT_CONFIG = 2


def main() -> int:
    """Run the job with the configuration file that is the only argument."""
    parser = argparse.ArgumentParser(prog="stream_jobs", description="Keep Delta tables equal.")
    parser.add_argument(
        "config",
        type=Path,
        help="TOML file; `binlog-connector config stream_job.toml` explains the keys",
    )
    arguments = parser.parse_args()
    # The JVM inherits the file descriptors: its output must not be between the status lines.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        try:
            return _run(arguments.config, out)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _EXTRA:
                raise
            message = Message(mirror.EXTRA, {"said": error})
            # As a status line, too; the module for these cannot be imported either.
            print(json.dumps({"event": "failed", **fields(message)}), file=out)
            sys.stderr.write(f"error: {message}\n")
            return EXIT_CONFIG


def _run(config: Path, out: TextIO) -> int:
    from stream_jobs.job import run  # noqa: PLC0415  # of an extra
    from stream_jobs.settings import load_settings  # noqa: PLC0415  # after what has a clear error
    from stream_jobs.status import StatusLines  # noqa: PLC0415  # of an extra

    lines = StatusLines(out)
    try:
        settings = load_settings(config)
    except ConfigError as error:
        lines.fail(error.message)
        return EXIT_CONFIG
    return run(settings, lines)


if __name__ == "__main__":
    sys.exit(main())
