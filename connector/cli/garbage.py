"""When the garbage collector looks at objects.

The start of a short command makes about 40,000 objects, and nearly all of them stay to the end:
modules, classes, functions. With Python's threshold the collector looks at them dozens of times,
which is a tenth of the start.
"""

from __future__ import annotations

import gc
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
