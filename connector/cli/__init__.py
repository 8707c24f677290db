"""The command line: each command calls one function elsewhere and turns errors into exit codes.

One module for each command. A command imports its dependencies when it runs, so `--help` is fast.
"""

from __future__ import annotations

import gc
import os
import sys
import threading

from connector.cli.application import application

__all__ = ["application", "main"]


def main() -> None:
    """Run the command line."""
    try:
        application(sys.argv[1:])()
    except SystemExit as end:
        if threading.active_count() > 1 and isinstance(end.code, int):
            # They wait for servers, and may be inside of OpenSSL when an orderly end takes it down:
            # that is a segmentation fault.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code)
        raise
    finally:
        # The interpreter looks for garbage before it ends: in all that was imported there is none.
        gc.freeze()
