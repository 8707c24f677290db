"""An Iceberg table of any writer: by the newest metadata of its folder, or in a REST catalog.

The mirror's own reader knows the files that the mirror writes. Here, formats 1 to 3 count, with
deletes of all kinds, and columns are found by their ids, as they may have been renamed.

https://iceberg.apache.org/spec/#file-system-tables
"""

import gzip
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation.errors import ConfigError
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.iceberg.catalog_login import CatalogAccess, CatalogLogin, signer_of
from stream_jobs.iceberg.manifests import UNREADABLE
from stream_jobs.iceberg.rest_catalog import CatalogName, RestCatalog
from verification.foreign import foreign_errors
from verification.foreign.file_target import FileTarget, Part
from verification.foreign.iceberg_deletes import DeadRows
from verification.foreign.iceberg_state import DATA, IcebergFile, IcebergState, with_snapshot

_NAME: Final = re.compile(r"v?(\d+)(?:-.+?)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
_GZIP: Final = b"\x1f\x8b"
_SCHEMES: Final = {
    "": "file",
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "az": "azure",
    "abfss": "azure",
    "hdfs": "hdfs",
    "webhdfs": "hdfs",
    "swebhdfs": "hdfs",
}

# Whose URIs name a bucket or a container.
_BUCKETS: Final = frozenset({"s3", "gs", "azure"})


class UriFiles:
    """Files by their URIs, in the storage that a user has named."""

    def __init__(self, target: str, place: str) -> None:
        """Read the files of a table at `place`; `target` is for people.

        Raises ConfigError for a scheme that no storage has.
        """
        self._target = target
        self.scheme, self._host, _ = split_uri(place)
        self._storages: dict[str, Storage] = {}
        self._storage(self._host)

    def open(self, uri: str) -> pa.NativeFile | None:
        """Return a file for reads at any position; None if it does not exist."""
        storage, path = self.located(uri)
        return storage.open(path)

    def read(self, uri: str) -> bytes:
        """Return the content of a file; raises MirrorError if it does not exist."""
        storage, path = self.located(uri)
        return self._there(uri, storage.read(path))

    def read_part(self, uri: str, start: int, size: int) -> bytes:
        """Return a part of a file; raises MirrorError if it does not exist."""
        storage, path = self.located(uri)
        return self._there(uri, storage.read_part(path, start, size))

    def located(self, uri: str) -> tuple[Storage, str]:
        """Return the storage of a file, and its path there.

        Raises MirrorError if it is in a storage of another kind.
        """
        scheme, host, path = split_uri(uri)
        if _SCHEMES.get(scheme) != _SCHEMES.get(self.scheme):
            features = [f"files at {scheme}://{host}"]
            raise MirrorError(foreign_errors.FEATURES, target=self._target, features=features)
        # Other programs name the namenode by another port than that of HTTP.
        return self._storage(host if _SCHEMES[scheme] in _BUCKETS else self._host), path

    def _storage(self, host: str) -> Storage:
        if host not in self._storages:
            scheme = self.scheme
            if _SCHEMES.get(scheme) == "azure":
                # Another program may name a container with its account, and the user without it.
                scheme = "abfss" if "@" in host else "az"
            root = f"{scheme}://{host}/" if scheme not in ("", "file") else "/"
            self._storages[host] = storage_of(root)
        return self._storages[host]

    @staticmethod
    def _there(uri: str, content: bytes | None) -> bytes:
        if content is None:
            raise MirrorError(delta_errors.FILE_MISSING, file=uri)
        return content


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return the scheme, the host or bucket, and the path below its root."""
    scheme, colon, rest = uri.partition(":")
    if not colon or "/" in scheme:
        return "", "", re.sub("/+", "/", str(Path(uri).absolute())).strip("/")
    if not rest.startswith("//"):
        return scheme, "", rest.strip("/")
    host, _, path = rest[2:].partition("/")
    # A local path may have more slashes than it needs; a key of S3 may not.
    return scheme, host, re.sub("/+", "/", path).strip("/") if scheme == "file" else path


class IcebergTarget(FileTarget):
    """An Iceberg table of any writer."""

    def __init__(self, name: str, path: str) -> None:
        """Look at the table at `path`: its folder, that of its metadata, or one file of these.

        Raises ConfigError for a scheme that no storage has.
        """
        super().__init__(name)
        self._place = path.rstrip("/")
        self._files = UriFiles(name, self._place)
        self._state: IcebergState | None = None
        self._metadata = ""  # the URI of the file that `_state` has
        self._is_newest = False  # whether `_state` is the newest one of this file
        self._manifests: dict[str, list[IcebergFile]] = {}
        self._dead_rows: DeadRows | None = None
        self._by_part: dict[str, IcebergFile] = {}

    def refresh(self) -> str:
        """Read the newest snapshot from now on."""
        uri = self._newest()
        if uri != self._metadata or not self._is_newest:
            self._load(uri, lambda: self._document(uri))
            self._metadata, self._is_newest = uri, True
        return self._named_state()

    @property
    def version(self) -> str:
        """The snapshot that is read; "" if there is none yet."""
        assert self._state is not None
        number = self._state.snapshot_id
        return "" if number is None else str(number)

    @property
    def table_id(self) -> str:
        """What tells this table from another one at its place."""
        assert self._state is not None
        return self._state.table_id

    @property
    def duckdb_scan(self) -> str:
        """The table function of DuckDB that reads the snapshot."""
        uri = self._metadata if "://" in self._metadata else str(Path(self._metadata).absolute())
        quoted = uri.replace("'", "''")
        return f"iceberg_scan('{quoted}', snapshot_from_id => {self.version})"

    def read_version(self, version: str) -> str:
        """Read one snapshot from now on; return its name.

        Raises MirrorError if the newest metadata do not have it.
        """
        uri = self._newest()
        self._load(uri, lambda: self._document_at(uri, version))
        self._metadata, self._is_newest = uri, False
        return self._named_state()

    def _document_at(self, uri: str, version: str) -> dict[str, Any]:
        found = with_snapshot(self._document(uri), int(version))
        if found is None:
            facts = {"target": self.name, "snapshot": version}
            raise MirrorError(foreign_errors.SNAPSHOT_GONE, **facts)
        return found

    def _named_state(self) -> str:
        assert self._state is not None
        number = self._state.snapshot_id
        return "no snapshot" if number is None else f"snapshot {number}"

    def _open(self, path: str) -> pa.NativeFile | None:
        return self._files.open(path)

    def _dead(self, part: Part) -> NDArray[np.bool_] | None:
        assert self._dead_rows is not None
        return self._dead_rows.of(self._by_part[part.path], part)

    def _document(self, uri: str) -> dict[str, Any]:
        content = self._files.read(uri)
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        document: dict[str, Any] = orjson.loads(content)
        return document

    def _load(self, name: str, read: Callable[[], Mapping[str, Any]]) -> None:
        """Take the metadata that `read` returns; `name` is what people call them.

        Raises MirrorError if they are damaged.
        """
        try:
            self._take(read())
        except UNREADABLE as error:
            why = f"{type(error).__name__}: {error}"
            raise MirrorError(delta_errors.FILE_DAMAGED, file=name, why=why) from error

    def _take(self, document: Mapping[str, Any]) -> None:
        state = IcebergState(self.name, document)
        self._manifests = state.files(self._files.read, self._manifests)
        every = [file for files in self._manifests.values() for file in files]
        data = [file for file in every if file.content == DATA]
        self._dead_rows = DeadRows(state, every, self._files.open, self._files.read_part)
        self.rows = max(0, sum(file.rows for file in data) - self._dead_rows.count)
        self.schema = state.schema
        ids = {field.name: field.field_id for field in state.fields}
        physical = {
            field.name: names[0]
            for field in state.fields
            if (names := state.aliases.get(field.field_id))
        }
        self._by_part = {file.uri: file for file in data}
        self.parts = [Part(file.uri, physical, state.constants(file), ids=ids) for file in data]
        self._state = state

    def _newest(self) -> str:
        """Return the URI of the newest metadata; raises MirrorError if there are none."""
        if self._place.endswith((".metadata.json", ".metadata.json.gz")):
            return self._place
        storage, path = self._files.located(self._place)
        folders = [path] if path.endswith("metadata") else [f"{path}/metadata", path]
        for folder in folders:
            found = [
                (int(match[1]), file.modified, file.name)
                for file in storage.list(folder)
                if (match := _NAME.fullmatch(file.name))
            ]
            if found:
                below = folder.removeprefix(path)
                return f"{self._place}{below}/{max(found)[2]}"
        raise MirrorError(foreign_errors.NO_TARGET, target=self.name)


_FORM: Final = "iceberg-rest:https://HOST/PATH?table=NAMESPACE.TABLE&warehouse=NAME"
_SIGV4: Final = frozenset({"sigv4_service", "sigv4_region"})
_OPTIONS: Final = _SIGV4 | {"table", "warehouse", "scope", "token_file", "token_url"}


class CatalogTarget(IcebergTarget):
    """One table of a REST catalog, which has its metadata.

        iceberg-rest:https://CLIENT:SECRET@HOST/PATH?table=NAMESPACE.TABLE&warehouse=NAME
        iceberg-rest:https://HOST/PATH?table=NAMESPACE.TABLE&sigv4_service=glue&sigv4_region=eu-west-1

    The files of the table are read with the credentials of the environment, as those of a mirror.
    """

    def __init__(self, name: str, place: str) -> None:
        """Ask the catalog at `place` for each state of the table; `name` is for people.

        Raises ConfigError for a place of another form.
        """
        super().__init__(name, "")
        self._table, access = _access(name, place)
        self._catalog = RestCatalog(access)
        self._known: Mapping[str, Any] = {}

    def refresh(self) -> str:
        """Read the newest snapshot from now on."""
        found = self._catalog.load(self._table)
        if found is None:
            raise MirrorError(foreign_errors.NO_TARGET, target=self.name)
        metadata: Mapping[str, Any] = dict(found)
        if metadata != self._known:
            self._files = UriFiles(self.name, _place(metadata))
            self._load(self.name, lambda: metadata)
            self._known = metadata
        return self._named_state()


def _place(metadata: Mapping[str, Any]) -> str:
    """Return where the files are that are read: the location of a table is for new ones."""
    current = metadata.get("current-snapshot-id")
    for snapshot in metadata.get("snapshots") or ():
        if snapshot.get("snapshot-id") == current and "manifest-list" in snapshot:
            return str(snapshot["manifest-list"])
    return str(metadata.get("location"))


def _access(name: str, place: str) -> tuple[CatalogName, CatalogAccess]:
    """Return the table and its catalog.

    Raises ConfigError for another form, or if a package is missing.
    """
    try:
        parts = urlsplit(place)
    except ValueError:
        parts = urlsplit("")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    *namespace, table = options.get("table", "").split(".")
    is_url = parts.scheme in ("http", "https") and parts.hostname
    is_known = options.keys() <= _OPTIONS and len(_SIGV4 & options.keys()) != 1
    if not (is_url and namespace and all(namespace) and table and is_known):
        raise ConfigError(foreign_errors.SERVER_FORM, target=name, form=_FORM)
    token_file = options.get("token_file")
    login = CatalogLogin(
        token_file=None if token_file is None else Path(token_file),
        client_id=unquote(parts.username or ""),
        client_secret=unquote(parts.password or ""),
        scope=options.get("scope", "catalog"),
        token_url=options.get("token_url", ""),
    )
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    warehouse = options.get("warehouse", "")
    signer = signer_of(options.get("sigv4_service", ""), options.get("sigv4_region", ""))
    return CatalogName(tuple(namespace), table), CatalogAccess(url, warehouse, login, signer)
