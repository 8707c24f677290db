"""What `mirror.path` names becomes a storage: a folder, a bucket of S3, or a folder of HDFS."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from connector.errors import ConfigError, mirror
from stream_jobs.delta.local_storage import LocalStorage

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from stream_jobs.delta.storage import Storage

# Hadoop's name and everybody else's.
_S3: Final = frozenset({"s3", "s3a"})
# By the scheme of a path, that of the requests, and the port of a namenode.
_HDFS: Final = {"webhdfs": ("http", 9870), "swebhdfs": ("https", 9871)}
# As Java's programs take the name of the user.
_HDFS_USER: Final = "HADOOP_USER_NAME"


def storage_of(path: str) -> Storage:
    """Return the storage whose root is `path`; nothing was asked of it yet.

    Raises ConfigError for an unknown scheme or a missing package.
    """
    parts = urlsplit(path)
    if not parts.scheme:
        return LocalStorage(str(Path(path).absolute()))
    if parts.scheme == "file" and not parts.netloc:
        return LocalStorage(unquote(parts.path))
    if parts.scheme in _S3 and parts.netloc:
        return _bucket(path, parts)
    if parts.scheme in _HDFS and parts.netloc:
        return _hdfs(path, parts)
    if parts.scheme == "hdfs":
        raise ConfigError(mirror.HDFS_SCHEME, path=path)
    raise ConfigError(mirror.PATH_SCHEME, path=path)


def _bucket(path: str, parts: SplitResult) -> Storage:
    try:
        from stream_jobs.delta.s3_storage import S3Storage  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(mirror.S3_EXTRA, path=path, said=error) from error
    return S3Storage(parts.netloc, unquote(parts.path).strip("/"))


def _hdfs(path: str, parts: SplitResult) -> Storage:
    try:
        from stream_jobs.delta.hdfs_storage import HdfsStorage  # noqa: PLC0415  # of an extra
        from stream_jobs.delta.webhdfs import WebHdfs  # noqa: PLC0415  # of an extra
    except ModuleNotFoundError as error:
        raise ConfigError(mirror.HDFS_EXTRA, path=path, said=error) from error
    scheme, port = _HDFS[parts.scheme]
    hosts = [host if ":" in host else f"{host}:{port}" for host in parts.netloc.split(",")]
    hdfs = WebHdfs(scheme, tuple(hosts), os.environ.get(_HDFS_USER) or getpass.getuser())
    return HdfsStorage(hdfs, unquote(parts.path).rstrip("/"))
