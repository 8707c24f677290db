"""The one error of a run: the promise was broken, or could not be watched."""

from __future__ import annotations


class ChaosFailure(Exception):
    """What was found; the run ends."""
