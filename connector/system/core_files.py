"""Core files, in which the kernel keeps the memory of a process that crashed.

https://man7.org/linux/man-pages/man5/core.5.html
"""

from __future__ import annotations

import ctypes
import resource
from typing import Final

_SET_DUMPABLE: Final = 4


def forbid_core_files() -> None:
    """Let no crash of this process write its memory into a file, and give it to no program.

    A limit holds for files alone: a program that collects them gets the memory in spite of it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # It does not fail for these arguments.
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
