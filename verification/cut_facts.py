"""Cuts in a report: since which a row is there, and since which rows are compared."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from stream_jobs.cuts import Cut
from verification.source_moment import short


@dataclass(frozen=True, slots=True)
class CutSummary:
    """What a report says of a cut."""

    number: int
    transaction: str  # all transactions up to the cut, or the position after the last one
    seq: str
    source_time_ms: int | None

    @classmethod
    def of(cls, cut: Cut) -> Self:
        """Return the facts of a cut."""
        place = cut.position if cut.gtid is None else cut.gtid
        return cls(cut.number, place, cut.seq, cut.source_time_ms)

    def to_json(self) -> dict[str, Any]:
        """Return the members of the report."""
        return {
            "cut": self.number,
            "transaction": self.transaction,
            "seq": self.seq,
            "time": self._time(),
        }

    def __str__(self) -> str:
        facts = [fact for fact in (short(self.transaction), self._time()) if fact]
        return f"cut {self.number} ({', '.join(facts)})" if facts else f"cut {self.number}"

    def _time(self) -> str | None:
        if self.source_time_ms is None:
            return None
        at = datetime.fromtimestamp(self.source_time_ms / 1000, UTC)
        return at.isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """The version from which on a row of the mirror, or its absence, is as it is now."""

    version: int
    or_earlier: bool  # older versions cannot be read, or were not looked at
    cut: CutSummary | None  # the first one with this version, or a later one; None if there is none
    cut_version: int | None  # of the table at this cut

    def to_json(self) -> dict[str, Any]:
        """Return the member of the report."""
        none = dict.fromkeys(("cut", "transaction", "seq", "time"))
        return {
            **(none if self.cut is None else self.cut.to_json()),
            "cut_version": self.cut_version,
            "version": self.version,
            "or_earlier": self.or_earlier,
        }

    def __str__(self) -> str:
        earlier = " or earlier" if self.or_earlier else ""
        if self.cut is None:
            return f"version {self.version}{earlier}, which is in no cut yet"
        if self.cut_version == self.version:
            return f"{self.cut}{earlier}"
        version = f"version {self.version}{earlier}, which no cut names"
        return f"{version}; {self.cut} is the first later one"


@dataclass(frozen=True, slots=True)
class IncrementalScope:
    """What was compared of a table, if it was what has changed since a cut."""

    cut: CutSummary
    keys: int | None  # None: all rows
    all_rows_because: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the member of the report."""
        own = {"keys": self.keys, "all_rows_because": self.all_rows_because}
        return self.cut.to_json() | own

    def __str__(self) -> str:
        if self.keys is None:
            return f"all rows, not only changes since {self.cut}: {self.all_rows_because}"
        return f"keys that have changed since {self.cut}: {self.keys}"
