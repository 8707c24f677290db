"""Packages of any Debian suite, and jars of a Maven repository, in the cache.

*Debian.* Packages are unpacked into a folder, without apt, root or chroot::

    dists/SUITE/InRelease                     SHA-256 of every index
    └─ main/binary-amd64/by-hash/SHA256/...   Packages.xz: Filename, Size, SHA256 of every package
       └─ pool/main/...                       the packages

Suites change, so nothing is pinned here: each file is compared with the digest in the file above
it, and unpacked packages are kept. The mirror is the one in the environment, else that of the
system's apt, else Debian's. If it does not have the suite any more, Debian's archive is used. The
signature of InRelease is not checked, so who made the packages is known by HTTPS alone: a mirror
of apt over plain HTTP, which is enough for apt itself, is not used.

*Maven.* `group:artifact:version` is published at `REPOSITORY/group/with/slashes/artifact/version/
artifact-version.jar`. The repository is the one in the environment, else a mirror of Maven Central
in the user's `settings.xml`, else Maven Central.

https://wiki.debian.org/DebianRepository/Format
https://maven.apache.org/repositories/layout.html
"""

import lzma
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from local_stack import stack_errors
from local_stack.cache import Cache, unpack_deb
from local_stack.download import Artifact, NotPublished, fetch, read_text
from local_stack.stack_errors import LocalStackError

MIRROR_VARIABLE = "BINLOG_CONNECTOR_DEBIAN_MIRROR"
DEFAULT_MIRROR = "https://deb.debian.org/debian"
ARCHIVE = "https://archive.debian.org/debian"
APT = Path("/etc/apt")
INDEX = "main/binary-amd64/Packages.xz"

# One-line style, `deb [options] URI suite main`, and deb822 style, `URIs: URI`. The main archive
# ends in /debian; security updates and archives of other vendors have other paths.
APT_URI = re.compile(
    r"^\s*(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(https://\S+/debian)/?(?:\s|$)", re.MULTILINE
)


def unpack_packages(
    title: str, suite: str, packages: Sequence[str], directory: Path, cache: Cache
) -> None:
    """Unpack `packages` of `suite` (amd64) below `directory`.

    Raises LocalStackError if the mirror cannot be reached or lacks a package.
    """
    base = mirror()
    try:
        index = _fetch_index(base, suite, cache)
    except NotPublished:
        base = ARCHIVE
        index = _fetch_index(base, suite, cache)
    by_name = find_packages(lzma.decompress(index.read_bytes()), packages)
    missing = [name for name in packages if name not in by_name]
    if missing:
        raise LocalStackError(
            stack_errors.NO_PACKAGES,
            mirror=base,
            suite=suite,
            packages=missing,
            variable=MIRROR_VARIABLE,
        )
    artifacts = []
    for fields in by_name.values():
        path = fields["Filename"]
        artifacts.append(
            Artifact(f"{base}/{path}", f"debian/{path}", int(fields["Size"]), fields["SHA256"])
        )
    for deb in fetch(title, artifacts, cache):
        unpack_deb(deb, directory)


def find_packages(index: bytes, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the fields of those packages in `names` that a Packages file lists."""
    by_name = {}
    # Bytes, because there are 50 MB of them; with an empty line after the last paragraph, too.
    lines = b"\n" + index + b"\n\n"
    for name in names:
        start = lines.find(f"\nPackage: {name}\n".encode()) + 1
        if start:
            paragraph = lines[start : lines.find(b"\n\n", start)].decode("utf-8")
            by_name[name] = dict(re.findall(r"^(\S+): (.*)$", paragraph, re.MULTILINE))
    return by_name


def mirror(environment: Mapping[str, str] = os.environ, apt: Path = APT) -> str:
    """Return the base URL of the mirror, without a slash at its end."""
    if chosen := environment.get(MIRROR_VARIABLE):
        return chosen.rstrip("/")
    lists = apt / "sources.list.d"
    for file in (
        *sorted(lists.glob("*.sources")),
        apt / "sources.list",
        *sorted(lists.glob("*.list")),
    ):
        if file.is_file() and (match := APT_URI.search(file.read_text(errors="replace"))):
            return match[1]
    return DEFAULT_MIRROR


def _fetch_index(base: str, suite: str, cache: Cache) -> Path:
    release = read_text(f"{base}/dists/{suite}/InRelease")
    # Only in the SHA256 paragraph; MD5 digests are shorter.
    match = re.search(rf"^ ([0-9a-f]{{64}})\s+(\d+) {re.escape(INDEX)}$", release, re.MULTILINE)
    if match is None:
        raise LocalStackError(stack_errors.NO_INDEX, mirror=base, suite=suite, index=INDEX)
    sha256, size = match[1], int(match[2])
    folder = INDEX.rpartition("/")[0]
    # By digest, so that a replaced index cannot differ from the listed one.
    url = f"{base}/dists/{suite}/{folder}/by-hash/SHA256/{sha256}"
    name = f"debian/dists/{suite}/{folder}/{sha256}.xz"
    (file,) = fetch(
        f"the package list of Debian {suite}", [Artifact(url, name, size, sha256)], cache
    )
    return file


REPOSITORY_VARIABLE = "BINLOG_CONNECTOR_MAVEN_REPOSITORY"
MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar of a Maven repository, pinned by its digest."""

    group: str
    artifact: str
    version: str
    size: int
    sha256: str

    @property
    def path(self) -> str:
        """Its path in a repository."""
        folder = f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"
        return f"{folder}/{self.artifact}-{self.version}.jar"


def fetch_jars(title: str, jars: Sequence[Jar], cache: Cache) -> list[Path]:
    """Return the files of `jars`, in order; missing ones are downloaded.

    Raises NotPublished if the repository lacks one, LocalStackError if it cannot be downloaded.
    """
    base = repository()
    artifacts = [
        Artifact(f"{base}/{jar.path}", f"maven/{jar.path}", jar.size, jar.sha256) for jar in jars
    ]
    return fetch(title, artifacts, cache)


def repository(environment: Mapping[str, str] = os.environ, settings: Path | None = None) -> str:
    """Return the base URL of the repository, without a slash at its end."""
    if chosen := environment.get(REPOSITORY_VARIABLE):
        return chosen.rstrip("/")
    mirror = _mirror_of_central(settings or Path.home() / ".m2" / "settings.xml")
    return (mirror or MAVEN_CENTRAL).rstrip("/")


def _mirror_of_central(settings: Path) -> str | None:
    if not settings.is_file():
        return None
    try:
        root = ET.parse(settings).getroot()  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise LocalStackError(
            stack_errors.SETTINGS_XML, file=settings, said=error, variable=REPOSITORY_VARIABLE
        ) from error
    for mirror in root.iterfind(".//{*}mirrors/{*}mirror"):
        names = (mirror.findtext("{*}mirrorOf") or "").replace(" ", "").split(",")
        url = (mirror.findtext("{*}url") or "").strip()
        covers = {"*", "central", "external:*"}.intersection(names) and "!central" not in names
        # Other mirrors, such as the blocker that Maven itself has, are not for Maven Central.
        if covers and url.startswith(("http://", "https://")):
            return url
    return None
