"""The shared libraries that a MySQL build needs and a machine may lack.

Minimal systems lack libaio and libnuma, and Debian 13 and Ubuntu 24.04 renamed libaio's soname. If
the loader does not find one, Debian 12's package of it (33 kB, for any newer libc) goes into the
cache and on LD_LIBRARY_PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_stack
from local_stack.debian import unpack_packages

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache

SUITE = "bookworm"
PACKAGES = {"libaio.so.1": "libaio1", "libnuma.so.1": "libnuma1"}
FOLDERS = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")
MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


def library_path(program: Path, cache: Cache) -> str:
    """Return the folder that LD_LIBRARY_PATH needs for `program`; empty if nothing is missing.

    Raises LocalStackError with the libraries that are missing and cannot be downloaded.
    """
    missing = missing_libraries(program)
    if not missing:
        return ""
    path = ""
    if not missing.difference(PACKAGES):
        packages = sorted(PACKAGES.values())
        root = cache.folder(
            f"servers/libraries-{SUITE}",
            lambda folder: unpack_packages("libaio, libnuma", SUITE, packages, folder, cache),
        )
        path = os.pathsep.join(str(root / folder) for folder in FOLDERS)
        missing = missing_libraries(program, path)
    if missing:
        raise LocalStackError(local_stack.NO_LIBRARIES, program=program, libraries=missing)
    return path


def missing_libraries(program: Path, library_path: str = "") -> set[str]:
    """Return the sonames that the loader does not find for `program`."""
    ldd = shutil.which("ldd")
    if ldd is None:
        raise LocalStackError(local_stack.NO_LDD, program=program)
    run = subprocess.run(  # noqa: S603 - a fixed program on a path of ours
        [ldd, str(program)],
        env=library_environment(library_path),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        said = (run.stderr or run.stdout).strip()
        raise LocalStackError(local_stack.OTHER_SYSTEM, program=program, said=said)
    return set(MISSING.findall(run.stdout))


def library_environment(library_path: str) -> dict[str, str]:
    """Return the environment with `library_path` before the current LD_LIBRARY_PATH."""
    environment = dict(os.environ)
    if library_path:
        paths = [library_path, environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))
    return environment
