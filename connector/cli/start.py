"""What the start of a command does without: the garbage collector, rich, and most modules.

The start of a short command makes about 40,000 objects, and nearly all of them stay to the end:
modules, classes, functions. With Python's threshold the garbage collector looks at them dozens of
times, which is a tenth of the start.
"""

import gc
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
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
    """Import packages of the daemon without what they import for others.

    structlog prints tracebacks by rich. The daemon logs no traceback, and rich with what it imports
    takes 35 ms and 4 MB. Loggers of structlog can be awaited. No coroutine of the daemon logs, and
    asyncio takes 20 ms and 1.4 MB. PyMySQL encrypts passwords by cryptography. We do that
    ourselves, for the few logins that need it, and cryptography takes 7 MB. The first settings let
    pydantic look for plugins among all installed packages, and crc32c, which kafka-python imports,
    looks for its own version: 20 ms and 1 MB.
    """
    metadata: Any = ModuleType("importlib.metadata")
    metadata.entry_points = lambda **_: ()
    metadata.version = lambda _: ""
    _import_without("structlog", {"rich": None, "asyncio": ModuleType("asyncio")})
    _import_without("pymysql", {"cryptography": None})
    for name in ("connector.foundation.settings.file_settings", "kafka"):
        _import_without(name, {"importlib.metadata": metadata})


def _import_without(name: str, extras: Mapping[str, ModuleType | None]) -> None:
    """Import a module as if `extras` were not installed, or were what stands for them.

    Whatever is imported already stays as it is.
    """
    modules: dict[str, Any] = sys.modules
    if name in modules:
        return
    # With None there, an import raises ImportError.
    hidden = {extra: other for extra, other in extras.items() if extra not in modules}
    modules.update(hidden)
    try:
        import_module(name)
    finally:
        for extra in hidden:
            del modules[extra]
