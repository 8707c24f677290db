"""The folder of downloads, unpacked servers and data templates, which later runs use again.

::

    $BINLOG_CONNECTOR_CACHE, else $XDG_CACHE_HOME/binlog-connector, else ~/.cache/binlog-connector
    ├── files/       downloads, under the path that they have in their repository
    ├── servers/     unpacked, ready to execute
    ├── classes/     archives with which Java starts faster
    ├── templates/   data directories, initialised once and copied at each first start
    └── locks/       one file per name above, held with flock(2) while that name is being made

Everything with its final name is complete: it was made under another name and renamed. So a second
run downloads nothing, and parallel processes (pytest-xdist) do each piece of work once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from connector.errors import LocalStackError, local_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CACHE_VARIABLE = "BINLOG_CONNECTOR_CACHE"


class Cache:
    """One cache folder, which all processes with the same environment share."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which is created at the first use."""
        self.directory = directory.absolute()

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Cache:
        """Return the cache that the environment names, or the user's default one."""
        if chosen := environment.get(CACHE_VARIABLE):
            return cls(Path(chosen).expanduser())
        base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(base) / "binlog-connector")

    @property
    def classes(self) -> Path:
        """The folder of the archives with which Java starts faster."""
        return self.directory / "classes"

    def file(self, name: str) -> Path:
        """Return the path of the download `name`, which may not exist yet."""
        return self.directory / "files" / name

    def folder(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the folder `name`; if it does not exist, `build` fills an empty one first.

        If `build` fails or is interrupted, the folder does not get its final name.
        """
        final = self.directory / name
        if final.is_dir():
            return final
        with self.lock(name):
            if not final.is_dir():
                unfinished = final.with_name(f"{final.name}.part")
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir(parents=True)
                build(unfinished)
                unfinished.rename(final)
        return final

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Lock `name` against other processes and threads; waits until it is free.

        Raises LocalStackError if the folder cannot be written.
        """
        path = self.directory / "locks" / f"{name.replace('/', '~')}.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise LocalStackError(
                local_files.CACHE,
                directory=self.directory,
                said=error.strerror,
                variable=CACHE_VARIABLE,
            ) from error
        try:
            # The kernel releases the lock when the process ends, for any reason.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
