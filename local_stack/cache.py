"""The folder where downloads, unpacked servers and data templates live between runs.

::

    $BINLOG_CONNECTOR_CACHE, else $XDG_CACHE_HOME/binlog-connector, else ~/.cache/binlog-connector
    ├── files/       downloads, under the path that they have in their repository
    ├── servers/     unpacked, ready to execute
    ├── templates/   data directories, initialised once and copied at each first start
    └── locks/       one file per name above, held with flock(2) while that name is being made

Whatever has its final name is complete: it was made under another name and renamed. So a second
run asks nobody, and processes that start at once (pytest-xdist) do each piece of work once.
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
    """One cache folder, shared by all processes that name it."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which is created when the first thing is put into it."""
        self.directory = directory.absolute()

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Cache:
        """Return the cache that the environment names, or the user's default one."""
        if chosen := environment.get(CACHE_VARIABLE):
            return cls(Path(chosen).expanduser())
        base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(base) / "binlog-connector")

    def file(self, name: str) -> Path:
        """Return where the download `name` is kept, whether it is there or not."""
        return self.directory / "files" / name

    def folder(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the folder `name`; where it is missing, `build` fills an empty one first.

        A folder whose `build` failed or was cut off leaves nothing under its final name.
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
        """Hold `name` against other processes and threads; waits until it is free.

        Raises LocalStackError when the folder cannot be written.
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
            # The kernel lets go when the process ends, however it ends.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
