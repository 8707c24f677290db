"""The archive of Java's classes, with which a later process starts in half of the time.

The first process with a class path writes the archive when it ends, which takes some seconds. The
archive is in a folder of this user alone, because Java runs what is in it; it can be deleted at any
time. Java refuses an archive if a file of the class path has changed, as by an installation;
so the name of the archive has the times of these files.

    FOLDER/spark-1f0e….jsa        what later processes use
    FOLDER/spark-1f0e….jsa.9c3d   what a process writes when it ends; the header comes last

https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from connector.foundation.private_folders import is_private

_HEADER_BYTES: Final = 4
# After this time, another process may write the archive: the first one may have been killed.
_WRITER_SECONDS: Final = 3600.0
# An archive has 50 to 200 MB. One that was not used for so long belongs to what is not there.
_UNUSED_SECONDS: Final = 14 * 86_400.0
# Java would report each class that it cannot store.
_QUIET: Final = "-Xlog:cds*=off"
_WRITE: Final = "-XX:ArchiveClassesAtExit="


def archive_options(
    jars: Sequence[str], folder: Path, java: Path | None = None, *, writes: bool = True
) -> str:
    """Return the options of a Spark driver with `jars`, on `java` or the one that Spark finds."""
    java = java or _java()
    if java is None:
        return ""
    class_path: list[Path | str] = [*_jars_of_spark(), *jars]
    return " ".join(shared_classes("spark", java, class_path, folder, writes=writes))


def shared_classes(
    name: str, java: Path, class_path: Iterable[Path | str], folder: Path, *, writes: bool = True
) -> tuple[str, ...]:
    """Return the options with which `java` uses the archive of `class_path` in `folder`.

    Without an archive it is told to write one, unless another process does that, or this one does
    not `write`. Without options, Java starts as always.
    """
    if not is_private(folder):
        return ()
    facts = "\n".join([_dated(java), *map(_dated, class_path)])
    archive = folder / f"{name}-{hashlib.sha256(facts.encode()).hexdigest()[:16]}.jsa"
    _finish(archive)
    # Another process may remove the archive at this moment.
    with suppress(FileNotFoundError):
        os.utime(archive)
        return (f"-XX:SharedArchiveFile={archive}", _QUIET)
    if not writes or any(_written(archive)):
        return ()
    written = archive.with_name(f"{archive.name}.{secrets.token_hex(4)}")
    written.touch()
    return (f"{_WRITE}{written}", _QUIET)


def written_at_exit(options: Iterable[str]) -> list[Path]:
    """Return the archive that a process with these options writes when it ends by itself."""
    return [Path(option.removeprefix(_WRITE)) for option in options if option.startswith(_WRITE)]


def _java() -> Path | None:
    """Return the Java that Spark starts; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    return None if java is None else Path(java).resolve()


def _jars_of_spark() -> list[Path]:
    home = os.environ.get("SPARK_HOME")
    package = find_spec("pyspark")
    if home is None and package is not None and package.origin is not None:
        home = str(Path(package.origin).parent)
    return sorted(Path(home, "jars").iterdir()) if home and Path(home, "jars").is_dir() else []


def _dated(path: Path | str) -> str:
    """Return a path with the time at which its file was written; it may be no file."""
    try:
        return f"{path} {Path(path).stat().st_mtime_ns}"
    except OSError:
        return str(path)


def _finish(archive: Path) -> None:
    """Give a complete archive its name, and remove what nobody completes or uses."""
    now = time.time()
    for path in _written(archive):
        # Another process may do the same at this moment.
        with suppress(FileNotFoundError):
            if _is_complete(path):
                path.replace(archive)
                _remove_unused(archive, now)
            elif now - path.stat().st_mtime > _WRITER_SECONDS:
                path.unlink()


def _remove_unused(archive: Path, now: float) -> None:
    for other in archive.parent.glob("*.jsa"):
        with suppress(FileNotFoundError):
            if now - other.stat().st_mtime > _UNUSED_SECONDS:
                other.unlink()


def _written(archive: Path) -> Iterator[Path]:
    return archive.parent.glob(f"{archive.name}.*")


def _is_complete(path: Path) -> bool:
    with path.open("rb") as file:
        return any(file.read(_HEADER_BYTES))
