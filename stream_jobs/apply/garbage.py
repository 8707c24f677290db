"""How often a process looks for garbage that refers to itself.

A batch makes many objects, and hardly any of them is part of a cycle. With Python's default,
looking for cycles takes a fifth of the time of a batch of small tables.

https://docs.python.org/3/library/gc.html
"""

from __future__ import annotations

import gc
from typing import Final

# New objects that were not freed, before the youngest ones are looked at.
_OBJECTS: Final = 50_000


def collect_rarely() -> None:
    """Leave alone what is there, which is mostly modules, and look seldom at what comes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)
