"""A part of a table: ranges of keys, chosen at random; the same seed makes the same choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verification.key_ranges import KeyRanges


@dataclass(frozen=True, slots=True)
class Sample:
    """How much is chosen, and by which seed."""

    percent: float
    seed: int

    def of(self, ranges: KeyRanges) -> KeyRanges:
        """Return so many of the ranges, one at least."""
        count = max(1, round(len(ranges) * self.percent / 100))
        chosen = np.zeros(len(ranges), np.bool_)
        chosen[np.random.default_rng(self.seed).choice(len(ranges), count, replace=False)] = True
        return ranges.take(chosen)
