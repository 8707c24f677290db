"""The folder from which Spark is started: pyspark's own, without its copy of pyspark.

Spark puts `SPARK_HOME/python/lib/pyspark.zip` before everything else that its Python processes
import. Python compiles what it imports from an archive anew in each process, which takes a second;
the installed package is compiled already. Spark starts eight processes, most of them one after the
other. So it is started from a folder with links, which has no such archive.

    FOLDER/home-1f0e…/bin, conf, jars → those of the installed package
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark

from stream_jobs.spark.class_archive import is_private

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARIABLE: Final = "SPARK_HOME"
_LINKED: Final = ("bin", "conf", "jars")


@contextmanager
def started_from(folder: Path) -> Iterator[None]:
    """Let Spark start from a folder below `folder`, unless the environment names one."""
    package = Path(pyspark.__file__).parent
    if _VARIABLE in os.environ or not (package / "jars").is_dir() or not is_private(folder):
        yield
        return
    digest = hashlib.sha256(str(package).encode()).hexdigest()[:16]
    home = folder / f"home-{digest}"
    home.mkdir(mode=0o700, exist_ok=True)
    for name in _LINKED:
        if (package / name).exists() and not (home / name).exists():
            # Another job may do the same at this moment.
            link = home / f".{name}.{secrets.token_hex(4)}"
            link.symlink_to(package / name)
            link.replace(home / name)
    # Other programs that this process starts are not meant.
    os.environ[_VARIABLE] = str(home)
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
