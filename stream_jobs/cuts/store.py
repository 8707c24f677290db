"""The files of the cuts below the root of a mirror.

    _cdc/cuts/<number>.json          a cut
    _cdc/cut_tables/<name>.json      a base: all tables, for some cuts from a number on

Numbers rise, and a cut is put only if it is absent: of two jobs that write the same number, one is
told. A base is written before the cuts that need it, and removed after them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError, mirror_jobs
from stream_jobs.cuts.cut import Base, Cut, read_cut, write_cut
from stream_jobs.folders.paths import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.delta.storage import Storage

FOLDER: Final = f"{OWN_FOLDER}/cuts"
_BASES: Final = f"{OWN_FOLDER}/cut_tables"
# So many cuts share a base.
_CUTS_OF_A_BASE: Final = 100


class CutStore:
    """The cuts of one mirror."""

    def __init__(self, storage: Storage, root: str = "") -> None:
        """Look in `storage`, whose root is `root` in errors."""
        self._storage = storage
        self._root = root.rstrip("/")
        # The base that was read or written last.
        self._base: Base | None = None

    def written(self) -> dict[int, int]:
        """Return the numbers of all cuts, in order, and when they were written."""
        found = {
            file.name.removesuffix(".json"): file.modified
            for file in self._storage.list(FOLDER)
            if file.name.endswith(".json")
        }
        return {int(name): modified for name, modified in found.items() if name.isdecimal()}

    def numbers(self) -> list[int]:
        """Return the numbers of all cuts, in order."""
        return list(self.written())

    def read(self, number: int) -> Cut | None:
        """Return a cut; None if it does not exist, or not any more.

        Raises MirrorError for a file that is not a cut.
        """
        found = self._read(number)
        if found is None:
            return None
        cut, name = found
        base = self._read_base(name)
        return None if base is None else replace(cut, tables={**base.tables, **cut.tables})

    def read_all(self) -> Iterator[Cut]:
        """Yield all cuts, the oldest first."""
        for number in self.numbers():
            # The job may remove old ones meanwhile.
            if (cut := self.read(number)) is not None:
                yield cut

    def latest(self) -> Cut | None:
        """Return the newest cut; None without one."""
        for number in reversed(self.numbers()):
            if (cut := self.read(number)) is not None:
                return cut
        return None

    def put(self, cut: Cut) -> bool:
        """Write a cut; return False if there is one of its number."""
        base = self._base
        if (
            base is None
            or not 0 <= cut.number - base.number < _CUTS_OF_A_BASE
            or base.difference(cut) is None
        ):
            base = self._base = Base.of(cut)
            self._storage.write(f"{_BASES}/{base.name}.json", base.write())
        return self._storage.put_if_absent(_path(cut.number), write_cut(cut, base))

    def remove(self, number: int) -> None:
        """Remove a cut."""
        self._storage.delete(_path(number))

    def remove_bases(self, oldest: int) -> None:
        """Remove the bases that no cut from `oldest` on needs."""
        found = self._read(oldest)
        names = [file.name.removesuffix(".json") for file in self._storage.list(_BASES)]
        for name in names:
            if found is not None and name < found[1]:
                self._storage.delete(f"{_BASES}/{name}.json")

    def _read(self, number: int) -> tuple[Cut, str] | None:
        """Return a cut without the tables of its base, and the name of the base."""
        path = _path(number)
        content = self._storage.read(path)
        if content is None:
            return None
        try:
            return read_cut(number, content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._wrong(path) from error

    def _read_base(self, name: str) -> Base | None:
        if self._base is None or self._base.name != name:
            path = f"{_BASES}/{name}.json"
            content = self._storage.read(path)
            if content is None:
                return None
            try:
                self._base = Base.read(name, content)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise self._wrong(path) from error
        return self._base

    def _wrong(self, path: str) -> MirrorError:
        return MirrorError(mirror_jobs.OWN_FILE, path=f"{self._root}/{path}")


def _path(number: int) -> str:
    return f"{FOLDER}/{number:020d}.json"
