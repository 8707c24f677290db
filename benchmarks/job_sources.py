"""A copy of the sources that are measured: those in place may be compiled with other flags."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

LOG: Final = Path(__file__).parent / "workload" / "instructions.000001.zst"
_PROJECT: Final = Path(__file__).parents[1]
# What the build and the jobs need.
_SOURCES: Final = ("connector", "stream_jobs", "benchmarks", "setup.py", "extension_cache.py")
_PROJECT_FILES: Final = ("pyproject.toml", "README.md", "LICENSE")
# Functions keep their names.
_FLAGS: Final = "-O1"


class JobSources:
    """The sources in a folder of their own."""

    def __init__(self, folder: Path, *, compiled: bool) -> None:
        """Copy them into an empty folder, and compile them there if that is wanted."""
        self.folder = folder
        self._environment = os.environ | {
            "CFLAGS": _FLAGS,
            "CONNECTOR_COMPILED": "require" if compiled else "off",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(folder),
        }
        self._copy()
        if compiled:
            build = [f"{sys.prefix}/build/bin/python", "setup.py", "--quiet"]
            self.call(*build, "build_ext", "--inplace")

    def call(self, *command: str) -> str:
        """Run a command in the folder; return its output, or raise CalledProcessError."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def _copy(self) -> None:
        unwanted = shutil.ignore_patterns("*.so", "__pycache__", "rivals")
        for name in (*_SOURCES, *_PROJECT_FILES):
            source = _PROJECT / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name, ignore=unwanted)
            elif source.exists():
                shutil.copy(source, self.folder)
