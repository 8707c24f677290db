"""The truncates that one batch has found in one table, and what is still to be done about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.apply.modes.mode import Truncation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.apply.facts import PartResult
    from stream_jobs.apply.modes.mode import Mode
    from stream_jobs.schema.sequence import PackedSequence, Truncate
    from stream_jobs.tables.mirror_table import MirrorTable


class TableTruncates:
    """Rows below the floor are gone, or were changed by a truncate: as the mode says."""

    def __init__(self, mode: Mode) -> None:
        """Begin without a truncate."""
        self._mode = mode
        self._found: set[Truncate] = set()
        self.floor: PackedSequence | None = None
        # Whether rows of the mirror are below the floor that have to die.
        self.is_killing = False
        # Whether truncates have to change rows of the mirror before others are applied.
        self.is_changing = False

    def add(
        self, own: MirrorTable | None, highest: PackedSequence, results: Sequence[PartResult]
    ) -> None:
        """Add those that tasks have found; the mirror, if there is one, does not know them."""
        self.floor = highest
        self._found.update(truncate for each in results for truncate in each.truncates)
        if self._mode.truncation is Truncation.CHANGES:
            self.is_changing = own is not None and not own.is_empty
        else:
            self.is_killing = own is not None

    def known(self, own: MirrorTable | None) -> tuple[Truncate, ...]:
        """Return those that may be above rows which are still to come, in order."""
        before = () if own is None else own.progress.truncates
        return tuple(sorted({*before, *self._found}))

    def follow(self, own: MirrorTable) -> None:
        """Take over what the mirror knows, after it was loaded or has changed."""
        floors = [each for each in (self.floor, own.progress.floor) if each is not None]
        self.floor = max(floors, default=None)
        self.is_changing = self.is_changing and not own.is_empty

    def commit_killed(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        """Commit that the rows below the floor are gone."""
        assert self.floor is not None
        own.commit_floor(results, self.floor)
        self.is_killing = False

    def commit_changed(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        """Commit the rows that truncates have changed."""
        assert self.floor is not None
        own.commit_closed(results, self.floor, self._found)
        self.is_changing = False
