"""The versions of rows that changes open and close, key by key in the order of their sequences."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stream_jobs.schema.sequence import PackedSequence, Truncate


class End(NamedTuple):
    """How a version ends."""

    sequence: PackedSequence
    us: int | None  # the source's time
    op: str


class KeyChange(NamedTuple):
    """One change of a key."""

    sequence: PackedSequence
    us: int | None
    op: str
    row: int  # the place of its values; -1 for a delete
    values: bytes | None = None  # equal for equal values; None if that does not matter
    # Whether all truncates below it are known: then a copied row may be the same version.
    is_covered: bool = True


class Version(NamedTuple):
    """The newest version of a key that the mirror has."""

    start: PackedSequence
    end: PackedSequence | None  # of a truncate; None if it is open
    values: bytes | None = None


@dataclass(slots=True)
class Versions:
    """What a batch does to versions."""

    # By the place of their values: versions that begin, with their end if they have one.
    opened: dict[int, End | None] = field(default_factory=dict)
    # By number of a key: versions of the mirror that end.
    closed: dict[int, End] = field(default_factory=dict)

    def follow(
        self,
        key: int,
        known: Version | None,
        changes: Iterable[KeyChange],
        truncates: Sequence[Truncate],
    ) -> None:
        """Add the `changes` of one key, in order; the mirror has the version `known`.

        Changes that come after `known` in their partition are above it. A truncate comes from
        another partition: a version that it has ended can end earlier.
        """
        starts = [each.sequence for each in truncates]
        values = None if known is None else known.values
        # What ends the current version at the latest; its place is -1 if it is `known`.
        place: int | None = None if known is None else -1
        limit = None if known is None or known.end is None else End(known.end, None, "t")
        for change in changes:
            is_open = place is not None and (limit is None or change.sequence < limit.sequence)
            is_copy = change.op == "r" and change.is_covered
            if is_open and is_copy and change.values == values:
                continue
            if place is not None and is_open:
                self._end(key, place, End(change.sequence, change.us, change.op))
            place = None
            if change.row >= 0:
                place, values = change.row, change.values
                after = bisect_right(starts, change.sequence)
                limit = None
                if after < len(starts):
                    limit = End(starts[after], truncates[after].us, "t")
                self.opened[place] = limit

    def _end(self, key: int, place: int, end: End) -> None:
        if place < 0:
            self.closed[key] = end
        else:
            self.opened[place] = end
