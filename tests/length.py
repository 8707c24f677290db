"""How long the stories are that could go on for ever: simulations, replays, kills, examples.

`make test` runs the short form of each, `make test-all` (TESTS=all) the full one. Of the tests with
servers, `make test` runs one half, as `tests/selection.py` says; with TESTS=both it runs both.
"""

from __future__ import annotations

import os
from typing import Final

import pytest

FULL: Final = os.environ.get("TESTS") == "all"
BOTH_HALVES: Final = FULL or os.environ.get("TESTS") == "both"

# For a slow test whose parts other tests see.
full_only = pytest.mark.skipif(not FULL, reason="slow: `make test-all`")


def length(*, short: int, full: int) -> int:
    """Return how many rounds a story has in this run."""
    return full if FULL else short
