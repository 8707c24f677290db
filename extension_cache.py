"""Built extension modules, kept under a key of what they were built from; `setup.py` asks for them.

::

    $BINLOG_CONNECTOR_CACHE, else $XDG_CACHE_HOME/binlog-connector, else ~/.cache/binlog-connector
    ├── compiled/KEY/     one file per extension module, and SHA256SUMS of them all
    └── locks/            one file per key, held with flock(2) while it is being built

Whatever has its final name is complete: it was made under another name and renamed. Each build
checks the sums of what it takes; an entry that is damaged is removed and built again. A cache that
cannot be read or written costs time, never a build.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CACHE_VARIABLE = "BINLOG_CONNECTOR_CACHE"
# One entry has some 20 MB; the newest are those of the branches that are worked on.
KEPT_ENTRIES = 6
_SUMS = "SHA256SUMS"


class ExtensionCache:
    """The extension modules of earlier builds, in one folder."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which is created when the first build is kept."""
        self.directory = directory.absolute()

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> ExtensionCache:
        """Return the cache that the environment names, or the user's default one."""
        if chosen := environment.get(CACHE_VARIABLE):
            return cls(Path(chosen).expanduser())
        base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(base) / "binlog-connector")

    def lock(self, key: str) -> None:
        """Hold `key` against other builds until this process ends; waits until it is free."""
        path = self._lock(key)
        # Without a lock two builds do the same work, and both are right.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The kernel lets go when the process ends, however it ends.
            fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), fcntl.LOCK_EX)

    def find(self, key: str, names: Iterable[str]) -> dict[str, bytes] | None:
        """Return the modules `names` that were built under `key`, or None if they are not here.

        An entry that is not what was stored is removed.
        """
        folder = self._folder(key)
        if not folder.is_dir():
            return None
        found = _stored(folder, names)
        if found is None:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        # The newest entries are those that were used last.
        with suppress(OSError):
            os.utime(folder)
        return found

    def keep(self, key: str, built: Mapping[str, Path]) -> None:
        """Store the modules `built` under `key`, and remove the entries that were not used long."""
        unfinished = self._folder(f"{key}.{os.getpid()}.part")
        try:
            unfinished.mkdir(parents=True)
            contents = {name: path.read_bytes() for name, path in built.items()}
            for name, content in contents.items():
                (unfinished / name).write_bytes(content)
            (unfinished / _SUMS).write_text(_sums(contents), encoding="ascii")
            # Fails where another build without a lock was first; its entry is as good.
            unfinished.rename(self._folder(key))
            self._remove_old()
        except OSError:
            pass
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _folder(self, key: str) -> Path:
        return self.directory / "compiled" / key

    def _lock(self, key: str) -> Path:
        return self.directory / "locks" / f"compiled~{key}.lock"

    def _remove_old(self) -> None:
        folders = list((self.directory / "compiled").iterdir())
        folders.sort(key=lambda folder: folder.stat().st_mtime_ns, reverse=True)
        for folder in folders[KEPT_ENTRIES:]:
            shutil.rmtree(folder, ignore_errors=True)
            self._lock(folder.name).unlink(missing_ok=True)


def key_of(parts: Iterable[bytes]) -> str:
    """Return the key of what a build is made from; where one part ends matters."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()[:32]


def _stored(folder: Path, names: Iterable[str]) -> dict[str, bytes] | None:
    try:
        found = {name: (folder / name).read_bytes() for name in names}
        sums = (folder / _SUMS).read_bytes()
    except OSError:
        return None
    return found if sums == _sums(found).encode() else None


def _sums(contents: Mapping[str, bytes]) -> str:
    lines = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    return "".join(lines)
