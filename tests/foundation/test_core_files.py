"""A process that forbids core files has none."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import ctypes, os, resource
from connector.foundation.operating_system import forbid_core_files
most = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
is_dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
before = is_dumpable()
forbid_core_files()
print(before, is_dumpable(), resource.getrlimit(resource.RLIMIT_CORE))
if os.fork() == 0:
    os.abort()
print(os.WCOREDUMP(os.wait()[1]))
"""


def test_a_crash_leaves_no_memory_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 0 (0, 0)\nFalse\n"
