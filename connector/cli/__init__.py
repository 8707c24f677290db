"""The command line: each command calls one function elsewhere and turns errors into exit codes.

One module for each command. A command imports its dependencies when it runs, so `--help` is fast.

The start of a short command makes about 40,000 objects, and nearly all of them stay to the end:
modules, classes, functions. With Python's threshold the garbage collector looks at them dozens of
times, which is a tenth of the start.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Final

# More than the start of a short command makes.
_OBJECTS: Final = 50_000
_USUAL: Final = gc.get_threshold()


def collect_rarely() -> None:
    """Let a start do without the collector."""
    gc.set_threshold(_OBJECTS)


def freeze_objects() -> None:
    """Never look at the objects that exist now, which stay; collect later ones as usual."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


__all__ = ["main"]


def main() -> None:
    """Run the command line and end the process."""
    collect_rarely()
    from connector.cli.arguments import plain_call  # noqa: PLC0415  # makes many objects

    arguments = sys.argv[1:]
    try:
        call = plain_call(arguments)
        if call is None:
            from connector.cli.application import application  # noqa: PLC0415  # as above

            application(arguments)()
        else:
            call()
            _leave(0)
    except SystemExit as end:
        if isinstance(end.code, int):
            _leave(end.code)
        raise


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
