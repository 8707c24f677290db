"""What a comparison without end knows of each table, for figures and health."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verification.report import TableResult


@dataclass(slots=True)
class TableFigures:
    """One table; times are those of the monotonic clock."""

    database: str
    table: str
    # When the last comparison began that came to an end; at first, when the table was met.
    verified_at: float = field(default_factory=time.monotonic)
    # When the last comparison began, of whatever end; None before the first one.
    tried_at: float | None = None
    rows: int = 0  # of the source, in all comparisons
    repaired: int = 0
    # Of the last comparison that came to an end; None before the first one.
    differences: int | None = None
    is_finished: bool = False
    is_left_out: bool = False

    def take(self, result: TableResult, began: float) -> None:
        """Add the result of a comparison that began at some time."""
        self.tried_at = began
        self.rows += result.rows
        self.repaired += len(result.repaired)
        self.is_left_out = result.verdict == "not compared"
        # What differs is known, also if its repair has failed.
        self.is_finished = result.verdict in {"equal", "different"}
        if self.is_finished:
            self.verified_at = began
            self.differences = len(result.differences) + len(result.intervals)


class Figures:
    """All tables, and what happens now; one thread writes, others read."""

    def __init__(self, pipeline: str) -> None:
        """Begin without tables."""
        self.pipeline = pipeline
        self.started_at = time.time()
        self.tables: dict[tuple[str, str], TableFigures] = {}
        self.rounds = 0
        # The table that is being compared, or "".
        self.current = ""
        # When something was read last; a pause moves it to its end.
        self.turned_at = time.monotonic()
        # Whether source and Kafka have answered when they were asked last, and why not.
        self.is_connected = False
        self.interrupted_by = ""

    def turn(self, seconds: float = 0.0) -> None:
        """Note that the process works, and may be silent for some seconds."""
        self.turned_at = time.monotonic() + seconds

    def keep(self, names: list[tuple[str, str]]) -> None:
        """Have these tables, and no others."""
        known = self.tables
        self.tables = {name: known.get(name) or TableFigures(*name) for name in names}

    def compared(self) -> list[TableFigures]:
        """Return the tables that are not left out."""
        return [table for table in self.tables.values() if not table.is_left_out]
