"""Since which version, and which cut, the mirror has the rows that differ.

The locations of a key's rows are compared, version by version: file and position. A row stays at
its location until it is changed or moved, so bisection finds the first version with its location.
If the row was only moved there, the search continues from the version before. Each data file is
read once, however many versions have it: first the columns of the key, then the rows of the keys.

A key without a row has no location, so versions are read one by one: ever farther apart, the older
they are. A time with a row is overlooked if it lasted less than a quarter of the versions since.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

import numpy as np

from stream_jobs.apply.row_hashes import Keys
from stream_jobs.cuts import Cut
from stream_jobs.cuts.cut import CutStore
from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import DataFile
from stream_jobs.errors import MirrorError
from verification.cut_facts import CutSummary, RowOrigin
from verification.digests import Digest, digest_pairs, row_digests
from verification.key_ranges import KeyNumber
from verification.mirror_side import MirrorSide
from verification.source_table import RowKey

# The path of a file, and a position in it.
RowLocation = tuple[str, int]
RowPlaces = frozenset[RowLocation]

# Versions that are looked at: each costs a checkpoint and some commits.
_VERSIONS_MAX: Final = 500
_NOWHERE: Final[RowPlaces] = frozenset()


class RowLocations:
    """Finds the rows of some keys."""

    def __init__(
        self, mirror: MirrorSide, keys: Mapping[Digest, RowKey], number: KeyNumber | None
    ) -> None:
        """Look for `keys`; `number` is the first column of the key, if it is an integer.

        Raises MirrorError if the log cannot be listed.
        """
        self._mirror = mirror
        self._log = mirror.log
        self._listing = self._log.list()
        digests = np.array(list(keys), np.int64).reshape(-1, 2)
        self._wanted = Keys(digests[:, 0].copy(), digests[:, 1].copy())
        self._near = None
        self._values: list[int] = []
        if number is not None:
            first = [number.number(key[0]) for key in keys.values()]
            self._near = np.array(first, np.int64)
            self._values = sorted(number.literal(value) for value in first)
        self._files: dict[str, list[tuple[int, Digest]]] = {}  # positions of keys, by path
        self._rows: dict[RowLocation, Digest] = {}
        self._versions: dict[int, dict[Digest, RowPlaces] | None] = {}

    @property
    def oldest(self) -> int:
        """The first version that the log has."""
        return min(self._listing.commits, default=0)

    def places(self, version: int, key: Digest) -> RowPlaces | None:
        """Return where the rows of a key are at a version; None if that cannot be told.

        Its files may be gone, or too many versions were looked at.
        """
        if version not in self._versions:
            if len(self._versions) >= _VERSIONS_MAX:
                return None
            try:
                self._versions[version] = self._all_places(version)
            except MirrorError:
                self._versions[version] = None
        cached = self._versions[version]
        return None if cached is None else cached.get(key, _NOWHERE)

    def rows(self, places: RowPlaces) -> list[Digest]:
        """Return the digests of the rows at some places."""
        return sorted(self._rows[place] for place in places)

    def _all_places(self, version: int) -> dict[Digest, RowPlaces]:
        locations: dict[Digest, set[RowLocation]] = {}
        for file in self._log.load_version(version, self._listing).files.values():
            if not self._may_have_rows(file):
                continue
            if file.path not in self._files:
                self._files[file.path] = self._read(file)
            own = self._files[file.path]
            if own and file.deletion_vector is not None:
                dead = deletion_vectors.load(
                    self._log.storage, self._log.path, file.deletion_vector
                )
                own = [(position, key) for position, key in own if position not in dead]
            for position, key in own:
                locations.setdefault(key, set()).add((file.path, position))
        return {key: frozenset(places) for key, places in locations.items()}

    def _may_have_rows(self, file: DataFile) -> bool:
        """Return whether the statistics of a file do not say that it has none of the keys."""
        if self._near is None:
            return True
        bounds = file.bounds(self._mirror.physical_name(self._mirror.key[0]))
        if bounds is None or not all(isinstance(bound, int) for bound in bounds):
            return True
        place = bisect_left(self._values, bounds[0])
        return place < len(self._values) and self._values[place] <= bounds[1]

    def _read(self, file: DataFile) -> list[tuple[int, Digest]]:
        mirror = self._mirror
        tables = []
        for data, positions in mirror.rows_in(file, self._wanted, self._near):
            keys, rows = (
                digest_pairs(row_digests(data, mirror.key)),
                digest_pairs(row_digests(data, mirror.columns)),
            )
            for position, key, row in zip(positions.tolist(), keys, rows, strict=True):
                tables.append((position, key))
                self._rows[file.path, position] = row
        return tables


class TableCuts:
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
        earliest = None
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
                earliest, high = cut, middle
            else:
                low = place + 1
        return earliest

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


# From a version to the next one that is looked at: a part of those between it and the newest one.
_PART_OF_PLACES: Final = 1
_PART_OF_NONE: Final = 4


class RowOrigins:
    """Looks back in the versions of one mirror."""

    def __init__(
        self, mirror: MirrorSide, store: CutStore, name: str, number: KeyNumber | None
    ) -> None:
        """Look at the table `name`; `number` is the first column of its key, if it has numbers."""
        self._mirror = mirror
        self._store = store
        self._name = name
        self._number = number

    def of(self, keys: Mapping[Digest, RowKey]) -> dict[Digest, RowOrigin]:
        """Return since when the rows of `keys` are as they are now; nothing if that is not known.

        What is wrong with old versions is no reason to end a comparison.
        """
        try:
            snapshot = self._mirror.refresh()
            cuts = TableCuts(self._store, self._name, snapshot.metadata.table_id)
            past = RowLocations(self._mirror, keys, self._number)
            first = cuts.first_with(0)
            oldest = past.oldest if first is None else first.tables[self._name].version
            search = _Search(past, oldest)
            return {key: self._since(cuts, *search.first(key, snapshot.version)) for key in keys}
        except MirrorError:
            return {}

    def _since(self, cuts: TableCuts, version: int, or_earlier: bool) -> RowOrigin:
        cut = cuts.first_with(version)
        if cut is None:
            return RowOrigin(version, or_earlier, None, None)
        return RowOrigin(version, or_earlier, CutSummary.of(cut), cut.tables[self._name].version)


class _Search:
    """Finds the first version of a state."""

    def __init__(self, past: RowLocations, oldest: int) -> None:
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

    def _first_place(self, key: Digest, places: RowPlaces, version: int) -> int:
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
