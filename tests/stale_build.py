"""Sources that were edited after they were compiled: the tests refuse to run the old code."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING

from connector.foundation import compiled

if TYPE_CHECKING:
    from pathlib import Path


def newer_sources() -> list[Path]:
    """Return the sources that are newer than the extension modules; none if those do not run."""
    if compiled.why_interpreted():
        return []
    name = compiled.NATIVE_MODULE.rpartition(".")[2]
    built = (compiled.PACKAGE / (name + EXTENSION_SUFFIXES[0])).stat().st_mtime_ns
    return [source for source in compiled.sources() if source.stat().st_mtime_ns > built]
