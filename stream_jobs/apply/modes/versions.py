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
    us: int | None  # from when it is valid
    end: End | None  # of a delete or a truncate; None if it is open
    values: bytes | None = None


class Opened(NamedTuple):
    """A version that begins."""

    us: int | None
    end: End | None


@dataclass(slots=True)
class Versions:
    """What a batch does to versions."""

    # By the place of their values: versions that begin.
    opened: dict[int, Opened] = field(default_factory=dict)
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

        The order is that of the sequences. Times of the log can run backwards: it may have whole
        seconds, times of the beginnings of statements, and those of several servers. Then a border
        of the key is at the time of the one before it, so that no moment has two versions.
        """
        starts = [each.sequence for each in truncates]
        values = None if known is None else known.values
        # What ends the current version at the latest; its place is -1 if it is `known`.
        place: int | None = None if known is None else -1
        limit = None if known is None else known.end
        border_us = None if known is None else known.us
        for change in changes:
            is_open = place is not None and (limit is None or change.sequence < limit.sequence)
            is_copy = change.op == "r" and change.is_covered
            if is_open and is_copy and change.values == values:
                continue
            if place is not None and not is_open and limit is not None:
                border_us = later(border_us, limit.us)
            us = later(border_us, change.us)
            if place is not None and is_open:
                border_us = us
                self._end(key, place, End(change.sequence, us, change.op))
            place = None
            if change.row >= 0:
                place, values = change.row, change.values
                after = bisect_right(starts, change.sequence)
                limit = None
                if after < len(starts):
                    limit = End(starts[after], later(us, truncates[after].us), "t")
                border_us = us
                self.opened[place] = Opened(us, limit)

    def _end(self, key: int, place: int, end: End) -> None:
        if place < 0:
            self.closed[key] = end
        else:
            self.opened[place] = self.opened[place]._replace(end=end)


def later(a: int | None, b: int | None) -> int | None:
    """Return the later of two times; None is an unknown one."""
    return max((each for each in (a, b) if each is not None), default=None)
