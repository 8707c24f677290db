"""Where the rows of some keys were at each version of a mirror.

Each data file is read once, whatever the number of versions that have it: first columns of keys,
then the rows of these keys. The versions differ in their files, and in the dead rows of these.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import numpy as np

from connector.errors import MirrorError
from stream_jobs.apply.keys import Keys
from stream_jobs.delta import deletion_vectors
from verification.digests import digests, pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_jobs.delta.data_file import DataFile
    from verification.clear_keys import Key
    from verification.digests import Digest
    from verification.key_ranges import KeyNumber
    from verification.mirror_side import MirrorSide

# The path of a file, and a position in it.
Place = tuple[str, int]
Places = frozenset[Place]

# Versions that are looked at: each costs a checkpoint and some commits.
_VERSIONS_MAX: Final = 500
_NOWHERE: Final[Places] = frozenset()


class PastRows:
    """Finds the rows of some keys."""

    def __init__(
        self, mirror: MirrorSide, keys: Mapping[Digest, Key], number: KeyNumber | None
    ) -> None:
        """Look for `keys`; `number` is the first column of the key, if it is an integer.

        Raises MirrorError if the log cannot be listed.
        """
        self._mirror = mirror
        self._log = mirror.log
        self._listing = self._log.list()
        found = np.array(list(keys), np.int64).reshape(-1, 2)
        self._wanted = Keys(found[:, 0].copy(), found[:, 1].copy())
        self._near = None
        self._values: list[int] = []
        if number is not None:
            first = [number.number(key[0]) for key in keys.values()]
            self._near = np.array(first, np.int64)
            self._values = sorted(number.literal(each) for each in first)
        self._files: dict[str, list[tuple[int, Digest]]] = {}  # positions of keys, by path
        self._rows: dict[Place, Digest] = {}
        self._versions: dict[int, dict[Digest, Places] | None] = {}

    @property
    def oldest(self) -> int:
        """The first version that the log has."""
        return min(self._listing.commits, default=0)

    def places(self, version: int, key: Digest) -> Places | None:
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
        found = self._versions[version]
        return None if found is None else found.get(key, _NOWHERE)

    def rows(self, places: Places) -> list[Digest]:
        """Return the digests of the rows at some places."""
        return sorted(self._rows[place] for place in places)

    def _all_places(self, version: int) -> dict[Digest, Places]:
        found: dict[Digest, set[Place]] = {}
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
                found.setdefault(key, set()).add((file.path, position))
        return {key: frozenset(places) for key, places in found.items()}

    def _may_have_rows(self, file: DataFile) -> bool:
        """Return whether the statistics of a file do not say that it has none of the keys."""
        if self._near is None:
            return True
        bounds = file.bounds(self._mirror.physical_name(self._mirror.key[0]))
        if bounds is None or not all(isinstance(each, int) for each in bounds):
            return True
        place = bisect_left(self._values, bounds[0])
        return place < len(self._values) and self._values[place] <= bounds[1]

    def _read(self, file: DataFile) -> list[tuple[int, Digest]]:
        mirror = self._mirror
        found = []
        for data, positions in mirror.rows_in(file, self._wanted, self._near):
            keys, rows = pairs(digests(data, mirror.key)), pairs(digests(data, mirror.columns))
            for position, key, row in zip(positions.tolist(), keys, rows, strict=True):
                found.append((position, key))
                self._rows[file.path, position] = row
        return found
