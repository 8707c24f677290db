"""The product as a user installs it: a wheel in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PROJECT = Path(__file__).parents[3]
_SOURCES = ("connector", "stream_jobs", "local_stack", "verification", "configs", "docs/man")
_FILES = ("pyproject.toml", "setup.py", "extension_cache.py", "MANIFEST.in", "README.md", "LICENSE")


def installed(folder: Path) -> Path:
    """Build the wheel, install it into a new environment, and return the folder of its commands.

    Libraries are those of this Python; the product is that of the wheel alone.
    """
    sources = folder / "sources"
    sources.mkdir(parents=True)
    for name in _SOURCES:
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(PROJECT / name, sources / name, symlinks=True, ignore=ignored)
    for name in _FILES:
        shutil.copy2(PROJECT / name, sources / name)
    # Compiled modules have tests of their own.
    environment = os.environ | {"CONNECTOR_COMPILED": "off"}
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(sources)],
        environment,
    )
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], environment)
    python = folder / "venv/bin/python"
    (wheel,) = folder.glob("*.whl")
    _run(
        [*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)],
        environment,
    )
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python.parent


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
