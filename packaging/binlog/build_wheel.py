"""Builds the wheel of the parser: `connector.binlog` with `connector.foundation`, and errors.py.

::

    python packaging/binlog/build_wheel.py build/library

`CONNECTOR_COMPILED` chooses as for the whole package (`setup.py`). The build needs no network, but
what `pyproject.toml` requires of a build must be installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_HERE = Path(__file__).parent
_PROJECT = _HERE.parents[1]
_PACKAGES = ("binlog", "foundation")
_MODULES = ("__init__.py", "errors.py", "py.typed")
_BUILD = ("setup.py", "extension_cache.py", "LICENSE")


def build(destination: Path) -> None:
    """Leave the wheel in the folder `destination`; raises CalledProcessError where pip fails."""
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        # setuptools would also take the rest of a tree that it builds in.
        for name in _PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            source = _PROJECT / "connector" / name
            shutil.copytree(source, copy / "connector" / name, ignore=ignored)
        for name in _MODULES:
            shutil.copy(_PROJECT / "connector" / name, copy / "connector")
        for name in _BUILD:
            shutil.copy(_PROJECT / name, copy)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(_HERE / name, copy)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel"]
        offline = ["--no-deps", "--no-build-isolation", "--no-index"]
        wheel = ["--wheel-dir", str(destination), str(copy)]
        subprocess.run([*pip, *offline, *wheel], check=True)  # noqa: S603 - pip, of this Python


if __name__ == "__main__":
    build(Path(sys.argv[1]))
