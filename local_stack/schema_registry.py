"""A private schema registry with Confluent's interface: Apicurio Registry, in memory.

::

    DIRECTORY
    ├── server.log  what the registry writes, over all starts
    └── port        the port of its clients, since the first start

https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/
"""

from __future__ import annotations

import tarfile
import urllib.request
from typing import TYPE_CHECKING, Final

from local_stack.cache import Cache
from local_stack.download import Artifact, fetch
from local_stack.endpoint import Endpoint
from local_stack.java import java_runtime
from local_stack.managed_server import HOST, ManagedServer
from local_stack.maven import repository

if TYPE_CHECKING:
    from pathlib import Path

_VERSION: Final = "2.6.13.Final"
_PATH: Final = (
    f"io/apicurio/apicurio-registry-app/{_VERSION}/apicurio-registry-app-{_VERSION}-all.tar.gz"
)
_BYTES: Final = 142_198_683
_SHA256: Final = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"
_CONFLUENT: Final = "/apis/ccompat/v7"
_MEMORY: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class SchemaRegistryServer(ManagedServer):
    """A private registry in one folder; a stop forgets all schemas."""

    name = f"Apicurio Registry {_VERSION}"
    port_taken = "already in use"

    def __init__(self, directory: Path, cache: Cache | None = None) -> None:
        """Keep the log in `directory`."""
        super().__init__(directory)
        self._cache = cache or Cache.of_environment()

    @property
    def url(self) -> str:
        """The URL for clients of Confluent's registry."""
        return f"http://{self.endpoint.host}:{self.endpoint.port}{_CONFLUENT}"

    def _prepare(self) -> None:
        self._cache.folder(f"servers/apicurio-{_VERSION}", self._unpack)

    def _unpack(self, folder: Path) -> None:
        artifact = Artifact(f"{repository()}/{_PATH}", f"maven/{_PATH}", _BYTES, _SHA256)
        (archive,) = fetch(self.name, [artifact], self._cache)
        with tarfile.open(archive) as tarball:
            tarball.extractall(folder, filter="data")
        # It is as large as what was unpacked, and not needed again.
        archive.unlink()

    def _command(self, port: int) -> list[str]:
        folder = self._cache.directory / f"servers/apicurio-{_VERSION}"
        return [
            str(java_runtime(self._cache)),
            *_MEMORY,
            f"-Dquarkus.http.host={HOST}",
            f"-Dquarkus.http.port={port}",
            "-jar",
            str(folder / f"apicurio-registry-app-{_VERSION}-runner.jar"),
        ]

    def _reach(self, port: int) -> Endpoint | None:
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}{_CONFLUENT}/subjects", timeout=1).close()
        except OSError:
            return None
        return Endpoint(HOST, port)
