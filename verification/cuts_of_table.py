"""The cuts of a mirror that have one of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_jobs.cuts import Cut
    from stream_jobs.cuts.store import CutStore


class CutsOfTable:
    """Finds cuts by versions of a table, which rise from cut to cut. Few of them are read."""

    def __init__(self, store: CutStore, name: str, generation: str) -> None:
        """Look for the table `name` with the id `generation` in the cuts of `store`."""
        self._store = store
        self._name = name
        self._generation = generation
        self._numbers = store.numbers()
        self._read: dict[int, Cut | None] = {}

    def first_with(self, version: int) -> Cut | None:
        """Return the first cut with this version of the table, or a later one; None without one.

        Raises MirrorError if a cut cannot be read.
        """
        found = None
        low, high = 0, len(self._numbers)
        while low < high:
            middle = (low + high) // 2
            place = middle
            # The table may be left out for some time.
            while place < high and (cut := self._cut(place)) is None:
                place += 1
            if place == high or cut is None:
                high = middle
            elif cut.tables[self._name].version >= version:
                found, high = cut, middle
            else:
                low = place + 1
        return found

    def _cut(self, place: int) -> Cut | None:
        """Return a cut if it has the table."""
        number = self._numbers[place]
        if number not in self._read:
            # The job may have removed it meanwhile.
            cut = self._store.read(number)
            own = None if cut is None else cut.tables.get(self._name)
            has_table = own is not None and own.generation == self._generation
            self._read[number] = cut if has_table else None
        return self._read[number]
