"""Since which cut the mirror has the rows that differ.

The places of a key's rows are compared, version by version: its files and positions. A row stays at
its place until it is changed or moved, so the first version with its place is found by bisection.
If the row was only moved there, the search goes on from the version before.

A key without a row has no place, so versions are looked at one by one: ever farther apart, the
older they are. A time with a row is overlooked if it had less than a quarter of the versions since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError
from verification.cuts_of_table import CutsOfTable
from verification.past_rows import PastRows
from verification.since import CutFacts, Since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_jobs.cuts.store import CutStore
    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.key_ranges import KeyNumber
    from verification.mirror_side import MirrorSide
    from verification.past_rows import Places

# From a version to the next one that is looked at: a part of those between it and the newest one.
_PART_OF_PLACES: Final = 1
_PART_OF_NONE: Final = 4


class Origins:
    """Looks back in the versions of one mirror."""

    def __init__(
        self, mirror: MirrorSide, store: CutStore, name: str, number: KeyNumber | None
    ) -> None:
        """Look at the table `name`; `number` is the first column of its key, if it has numbers."""
        self._mirror = mirror
        self._store = store
        self._name = name
        self._number = number

    def of(self, keys: Mapping[Digest, Key]) -> dict[Digest, Since]:
        """Return since when the rows of `keys` are as they are now; nothing if that is not known.

        What is wrong with old versions is no reason to end a comparison.
        """
        try:
            snapshot = self._mirror.refresh()
            cuts = CutsOfTable(self._store, self._name, snapshot.metadata.table_id)
            past = PastRows(self._mirror, keys, self._number)
            first = cuts.first_with(0)
            oldest = past.oldest if first is None else first.tables[self._name].version
            search = _Search(past, oldest)
            return {key: self._since(cuts, *search.first(key, snapshot.version)) for key in keys}
        except MirrorError:
            return {}

    def _since(self, cuts: CutsOfTable, version: int, or_earlier: bool) -> Since:
        cut = cuts.first_with(version)
        if cut is None:
            return Since(version, or_earlier, None, None)
        return Since(version, or_earlier, CutFacts.of(cut), cut.tables[self._name].version)


class _Search:
    """Finds the first version of a state."""

    def __init__(self, past: PastRows, oldest: int) -> None:
        """Look at no version before `oldest`."""
        self._past = past
        self._oldest = oldest

    def first(self, key: Digest, version: int) -> tuple[int, bool]:
        """Return the first version from which on a key's rows are those of `version`.

        And whether they may be so earlier, too.
        """
        past = self._past
        places = past.places(version, key)
        while places is not None:
            version = self._first_place(key, places, version)
            before = past.places(version - 1, key) if version > self._oldest else None
            if before is None:
                break
            if past.rows(before) != past.rows(places):
                return version, False
            # A compaction, or another program, has moved them.
            places, version = before, version - 1
        return version, True

    def _first_place(self, key: Digest, places: Places, version: int) -> int:
        """Return the first version from which on the rows are at `places`, as in `version`."""
        high = low = version
        step = 1
        part = _PART_OF_PLACES if places else _PART_OF_NONE
        while low > self._oldest:
            low = max(self._oldest, version - step)
            if self._past.places(low, key) != places:
                break
            high = low
            step += max(1, step // part)
        else:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            if self._past.places(middle, key) == places:
                high = middle
            else:
                low = middle
        return high
