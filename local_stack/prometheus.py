"""A private Prometheus, and its tool `promtool`, from Debian's package.

::

    DIRECTORY
    ├── prometheus.yml  written by the caller
    ├── data/           time series
    ├── server.log      what the server writes, over all starts
    └── port            the port of its clients, since the first start
"""

import os
import urllib.error
import urllib.request
from pathlib import Path

from local_stack.cache import Cache
from local_stack.installation import LIBRARY_FOLDERS, LOADER
from local_stack.package_repositories import unpack_packages
from local_stack.server import HOST, Endpoint, ManagedServer

# The newest suite whose package has promtool.
_SUITE = "bookworm"
_PACKAGES = ("prometheus", "libc6")


class Prometheus(ManagedServer):
    """A private Prometheus in one folder, which has its `prometheus.yml`."""

    name = "Prometheus"
    port_taken = "address already in use"

    def __init__(self, directory: Path, cache: Cache | None = None) -> None:
        """Serve `directory`."""
        super().__init__(directory)
        self._cache = cache or Cache.of_environment()

    def _prepare(self) -> None:
        _unpacked(self._cache)

    def _command(self, port: int) -> list[str]:
        return [
            *_program("prometheus", self._cache),
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={HOST}:{port}",
        ]

    def _reach(self, port: int) -> Endpoint | None:
        try:
            urllib.request.urlopen(f"http://{HOST}:{port}/-/ready", timeout=1).close()
        except (OSError, urllib.error.URLError):
            return None
        return Endpoint(HOST, port)


def promtool(cache: Cache | None = None) -> list[str]:
    """Return the command that calls promtool, which is downloaded if necessary.

    Raises LocalStackError if it cannot be downloaded.
    """
    return _program("promtool", cache or Cache.of_environment())


def _program(name: str, cache: Cache) -> list[str]:
    """Return the command that calls a program of the package with the package's own libc."""
    root = _unpacked(cache)
    folders = [root / folder for folder in LIBRARY_FOLDERS]
    loader = next(folder / LOADER for folder in folders if (folder / LOADER).exists())
    libraries = os.pathsep.join(str(folder) for folder in folders)
    return [str(loader), "--library-path", libraries, str(root / "usr/bin" / name)]


def _unpacked(cache: Cache) -> Path:
    def unpack(folder: Path) -> None:
        unpack_packages(Prometheus.name, _SUITE, _PACKAGES, folder, cache)

    return cache.folder("servers/prometheus", unpack)
