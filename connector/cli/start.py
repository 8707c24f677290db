"""What the start of a command does without: the garbage collector, rich, and most modules.

The start of a short command makes about 40,000 objects, and nearly all of them stay to the end:
modules, classes, functions. With Python's threshold the garbage collector looks at them dozens of
times, which is a tenth of the start.
"""

import gc
import sys
from importlib import import_module
from typing import Any, Final

from connector.foundation import VERSION, compiled

PROGRAM: Final = "binlog-connector"
# Set by a shell that asks for completions.
COMPLETION: Final = "_BINLOG_CONNECTOR_COMPLETE"

# More than the start of a short command makes.
_OBJECTS: Final = 50_000
_USUAL: Final = gc.get_threshold()


def print_version() -> None:
    """Print the version, and how the hot path runs."""
    sys.stdout.write(f"{PROGRAM} {VERSION} ({compiled.description()})\n")


def collect_rarely() -> None:
    """Let a start do without the collector."""
    gc.set_threshold(_OBJECTS)


def freeze_objects() -> None:
    """Never look at the objects that exist now, which stay; collect later ones as usual."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


def import_without_extras() -> None:
    """Import structlog without rich, and PyMySQL without cryptography, which use these if they can.

    structlog prints tracebacks by rich. The daemon logs no traceback, and rich with what it imports
    takes 35 ms and 4 MB. PyMySQL encrypts passwords by cryptography. We do that ourselves, for the
    few logins that need it, and cryptography takes 7 MB.
    """
    _import_without("structlog", "rich")
    _import_without("pymysql", "cryptography")


def _import_without(name: str, extra: str) -> None:
    """Import a module as if `extra` were not installed, unless one of them is imported already."""
    modules: dict[str, Any] = sys.modules
    if extra in modules or name in modules:
        return
    # With None there, an import raises ImportError.
    modules[extra] = None
    try:
        import_module(name)
    finally:
        del modules[extra]
