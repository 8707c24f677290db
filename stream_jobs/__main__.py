"""The command: `python -m stream_jobs CONFIG`, or this file given to spark-submit.

Standard output carries status lines only, see `stream_jobs.status`; everything that Spark, its JVM
or a library prints goes to standard error. Exit codes: 0 stopped, 1 failed, 2 wrong configuration.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from connector.errors import ConfigError
from stream_jobs.job import run
from stream_jobs.settings import load_settings
from stream_jobs.status import StatusLines

EXIT_CONFIG = 2


def main() -> int:
    """Run the job by the configuration file that is given as the only argument."""
    parser = argparse.ArgumentParser(prog="stream_jobs", description="Keep Delta tables equal.")
    parser.add_argument("config", type=Path, help="TOML file, see configs/stream_job.toml")
    arguments = parser.parse_args()
    # The JVM inherits the file descriptors: what it prints must not end up between the lines.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        lines = StatusLines(out)
        try:
            settings = load_settings(arguments.config)
        except ConfigError as error:
            lines.write("failed", error=str(error))
            return EXIT_CONFIG
        return run(settings, lines)


if __name__ == "__main__":
    sys.exit(main())
