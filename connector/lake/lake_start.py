"""Starts a lake, for `up` and for notebooks: what is wrong is said before anything is written."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from connector.foundation.errors import ConfigError
from connector.lake import lake_errors
from connector.lake.lake_folder import LakeFolder, LakeOptions
from connector.replication.server.addresses import source_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from connector.lake.lake_pipeline import LakePipeline


def options_of(
    url: str,
    password: str | None,
    tables: Sequence[str],
    *,
    iceberg: bool,
    listen: str | None = None,
) -> LakeOptions:
    """Return the choices for a new lake; `password` replaces that of `url`.

    Without patterns of `tables`, those of the database in `url`. Raises ConfigError for a URL with
    a mistake; its text never contains the password.
    """
    parts = urlsplit(url)
    database = unquote(parts.path.strip("/"))
    source = source_settings(parts._replace(path="").geturl(), password=password)
    patterns = tables or [f"{database}.*" if database else "*.*"]
    return LakeOptions(source, patterns, ["delta", "iceberg"] if iceberg else ["delta"], listen)


def lake_of(path: Path, options: LakeOptions | None) -> LakeFolder:
    """Return the lake in the folder `path`, which may not exist yet.

    Raises ConfigError without the packages of the mirror, and without `options` for a new lake.
    """
    if find_spec("pyspark") is None:
        raise ConfigError(lake_errors.EXTRA, said="No module named 'pyspark'")
    folder = LakeFolder(path)
    if options is None and not folder.is_lake:
        raise ConfigError(lake_errors.NO_SOURCE, folder=path)
    return folder


@contextmanager
def running(
    folder: LakeFolder, options: LakeOptions | None, check: Callable[[LakeOptions], None]
) -> Iterator[LakePipeline]:
    """Run the two programs of a lake until the block ends; a new lake gets its files first.

    `check` raises what keeps the source of a new lake from being followed. Raises ConfigError for a
    lake that was made with other options, or that another process keeps.
    """
    from connector.lake.lake_pipeline import LakePipeline  # noqa: PLC0415  # an extra

    if options is not None and not folder.is_lake:
        check(options)
    folder.lock()
    try:
        if options is not None and folder.is_lake:
            folder.require(options)
        elif options is not None:
            folder.write(options)
        with LakePipeline(folder) as pipeline:
            yield pipeline
    finally:
        folder.unlock()
