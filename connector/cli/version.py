"""What `--version` prints."""

from __future__ import annotations

import sys

from connector import compiled
from connector.contract.version import VERSION


def print_version() -> None:
    """Print the version, and how the hot path runs."""
    sys.stdout.write(f"binlog-connector {VERSION} ({compiled.description()})\n")
