"""Java starts twice as fast if it finds its loaded classes in an archive of an earlier process.

::

    CACHE/classes
    ├── kafka-1f0e….jsa         used by every process with this Java and class path
    └── kafka-1f0e….jsa.9c3d    what the first of them writes when it ends

Java writes the header last, so a file with a header is complete. It checks version and class path
itself, and starts without an archive that does not fit.

https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache

# A process that has not written its archive after this time does not write it any more.
_WRITER_SECONDS = 1800.0
_HEADER_BYTES = 4
# Each class that cannot be archived would be a warning on standard output.
_QUIET = "-Xlog:cds*=off"


def shared_classes(
    name: str, java: Path, class_path: str, cache: Cache, *, writes: bool = True
) -> tuple[str, ...]:
    """Return the options with which `java` uses the archive of `class_path`.

    If there is none and it `writes`, it takes some seconds longer to end. Without options, Java
    starts as always.
    """
    folder = cache.directory / "classes"
    folder.mkdir(parents=True, exist_ok=True)
    facts = f"{java} {java.stat().st_mtime_ns} {class_path}"
    digest = hashlib.sha256(facts.encode()).hexdigest()[:16]
    archive = folder / f"{name}-{digest}.jsa"
    with cache.lock(f"classes/{archive.name}"):
        if not archive.exists():
            _finish(archive)
        if archive.exists():
            return (f"-XX:SharedArchiveFile={archive}", _QUIET)
        if not writes or _writers(archive):
            return ()
        written = archive.with_name(f"{archive.name}.{secrets.token_hex(4)}")
        written.touch()
        return (f"-XX:ArchiveClassesAtExit={written}", _QUIET)


def _finish(archive: Path) -> None:
    """Give a complete archive its name, and remove what was never completed."""
    for path in _writers(archive):
        with path.open("rb") as file:
            is_complete = any(file.read(_HEADER_BYTES))
        if is_complete:
            path.rename(archive)
        elif time.time() - path.stat().st_mtime > _WRITER_SECONDS:
            path.unlink()


def _writers(archive: Path) -> list[Path]:
    return sorted(archive.parent.glob(f"{archive.name}.*"))
