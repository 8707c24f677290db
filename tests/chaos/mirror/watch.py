"""What verify says while everything is struck: without a planted bug, no row may differ."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.chaos.failure import ChaosFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Watch:
    """Reads the log of `verify --forever`."""

    def __init__(self, *, has_bug: bool) -> None:
        self.rounds = 0
        # Tables that were not compared to their end in the last round.
        self.unfinished = 0
        self.rows = 0
        # How comparisons of a table have ended, and the codes of those without a verdict.
        self.verdicts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        # When the planted bug was named first, and what was said; times since 1970.
        self.named_at: float | None = None
        self.named = ""
        self._has_bug = has_bug

    def take(self, lines: Iterable[Mapping[str, object]]) -> None:
        """Take new lines. Raises ChaosFailure for a row that differs without a bug."""
        for line in lines:
            match line["event"]:
                case "row differs" | "interval is wrong":
                    self._found(line)
                case "equal" | "different" | "not finished":
                    self.verdicts[str(line["event"])] += 1
                    rows = line["rows"]
                    assert isinstance(rows, int)
                    self.rows += rows
                    if "code" in line:
                        self.codes[str(line["code"])] += 1
                case "round ended":
                    self.rounds += 1
                    unfinished = line["not_finished"]
                    assert isinstance(unfinished, int)
                    self.unfinished = unfinished
                case "interrupted":
                    self.codes[str(line["code"])] += 1
                case "defect":
                    reason = f"verify has a defect: {json.dumps(line)}"
                    raise ChaosFailure(reason)

    def _found(self, line: Mapping[str, object]) -> None:
        said = json.dumps(line)
        if not self._has_bug:
            reason = f"verify has found what is wrong: {said}"
            raise ChaosFailure(reason)
        if self.named_at is None:
            self.named_at, self.named = time.time(), said
