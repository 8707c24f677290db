"""What a mirror did about a schema change, as its log and its topic show it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = "not there"
DIFFERS = "**differs**"


@dataclass(slots=True)
class Outcome:
    """What was found about one change on one server."""

    # Why the server did not do it; empty if it did.
    refused: str = ""
    # Operations of the records after the change: `t`, `r`, and those of rows.
    operations: set[str] = field(default_factory=set)
    # Whether the mirror got another column list, and whether its files were written again for it.
    has_other_columns: bool = False
    is_rewritten: bool = False
    # The code of the error with which the mirror stays as it was.
    stopped: str = ""
    # What differs in the end, and whether that is so because no row came since.
    differences: list[str] = field(default_factory=list)
    waits: bool = False
    # How other readers see another mirror than delta-rs.
    reader_differences: list[str] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        """Whether the mirror differs from the source without a word, or readers differ."""
        differs = bool(self.differences) and not self.stopped and not self.waits
        return differs or bool(self.reader_differences)

    @property
    def word(self) -> str:
        """The cell of the page."""
        if self.refused:
            return REFUSED
        if self.stopped:
            return f"set aside ({self.stopped})"
        if self.differences:
            return "with the next row" if self.waits else DIFFERS
        if "t" in self.operations:
            return "copied again" if "r" in self.operations else "emptied"
        if "r" in self.operations:
            return "copied again"
        if self.is_rewritten:
            return "rewritten"
        return "columns only" if self.has_other_columns else "nothing to do"


def read_log(mirror: Path, after: int, outcome: Outcome) -> None:
    """Add to `outcome` what the versions of a Delta table above `after` did."""
    for file in sorted((mirror / "_delta_log").glob("*.json")):
        if int(file.stem) > after:
            actions = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            if any("metaData" in action for action in actions):
                outcome.has_other_columns = True
                outcome.is_rewritten |= any("add" in action for action in actions)


def last_version(mirror: Path) -> int:
    """Return the newest version of a Delta table; -1 if there is none."""
    versions = [int(file.stem) for file in (mirror / "_delta_log").glob("*.json")]
    return max(versions, default=-1)
