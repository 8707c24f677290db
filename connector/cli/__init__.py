"""The command line: each command calls one function elsewhere and turns errors into exit codes.

`connector.cli.commands` is the table of commands. What a command imports is imported when it runs,
so `--help` is fast.
"""

import os
import sys

from connector.cli.start import collect_rarely, print_version

__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process."""
    if sys.argv[1:] == ["--version"]:
        print_version()
        return
    collect_rarely()
    from connector.cli.commands import execute  # noqa: PLC0415  # makes many objects

    try:
        code = execute(sys.argv[1:])
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        code = end.code
    _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """End the process at once; come back if what it said cannot be written.

    Python would first free each object, which is a tenth of the time of a short command. And there
    may be threads that wait for servers inside of OpenSSL: to take that down is a segmentation
    fault.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(code)
