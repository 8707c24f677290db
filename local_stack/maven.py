"""Maven coordinates become jars in the cache.

`group:artifact:version` is published at `REPOSITORY/group/with/slashes/artifact/version/
artifact-version.jar`. The repository is the one in the environment, else a mirror of Maven Central
in the user's `settings.xml`, else Maven Central.

https://maven.apache.org/repositories/layout.html
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from connector.errors import LocalStackError, local_files
from local_stack.download import Artifact, fetch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local_stack.cache import Cache

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
            local_files.SETTINGS_XML, file=settings, said=error, variable=REPOSITORY_VARIABLE
        ) from error
    for mirror in root.iterfind(".//{*}mirrors/{*}mirror"):
        names = (mirror.findtext("{*}mirrorOf") or "").replace(" ", "").split(",")
        url = (mirror.findtext("{*}url") or "").strip()
        covers = {"*", "central", "external:*"}.intersection(names) and "!central" not in names
        # Other mirrors, such as the blocker that Maven itself has, are not for Maven Central.
        if covers and url.startswith(("http://", "https://")):
            return url
    return None
