"""The files of Iceberg tables in the storage of a mirror, which readers find by path alone.

    _iceberg/<database>/<table>/metadata/v42.metadata.json    the state after 42 changes
    _iceberg/<database>/<table>/metadata/version-hint.text    42
    _iceberg/<database>/<table>/metadata/snap-….avro          a manifest list
    _iceberg/<database>/<table>/metadata/….avro, ….puffin     manifests and deletion vectors

A change exists when its `v….metadata.json` does, which is put only if it is absent; the hint
follows. Files of rows stay in the Delta table, and are named by their URIs. The folder is none of
the Delta table: programs that clean that up delete what they do not know.

*Shared.* If pipelines share a mirror, each of them publishes. Who puts a change first wins, and the
others go on from it. Two rules keep a process away that has stood still: a change is deleted only
ten minutes after the tenth one that follows it, and a change is put and named within five minutes
after the hint was read (`docs/design/shards.md`).

https://iceberg.apache.org/spec/#file-system-tables
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import orjson

from stream_jobs.delta.log import Moment
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import with_account
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import iceberg_errors
from stream_jobs.iceberg.manifests import (
    UNREADABLE,
    Manifest,
    live_files,
    read_manifest,
    read_manifest_list,
)
from stream_jobs.iceberg.metadata import TableMetadata, current_snapshot
from stream_jobs.iceberg.summary import DELTA_VERSION

FOLDER: Final = "_iceberg"
_HINT: Final = "version-hint.text"
_METADATA: Final = re.compile(r"v([1-9][0-9]*)\.metadata\.json")
# Of these many changes, the metadata stay for readers that have begun.
_KEPT_METADATA: Final = 10
# A file that no metadata name may be needed by a reader that has begun, or by a change that has.
_UNNAMED_MS: Final = 600_000
# After that, a process that shares the table looks again before it changes it.
_LATE_MS: Final = _UNNAMED_MS // 2
_NO_MANIFESTS: Final[Mapping[str, Manifest]] = MappingProxyType({})


def reader_uri(path: str) -> str:
    """Return the root of a mirror, `mirror.path`, as readers of Iceberg name it."""
    parts = urlsplit(with_account(path))
    if not parts.scheme:
        return f"file://{Path(path).absolute()}"
    if parts.scheme in ("webhdfs", "swebhdfs"):
        # The first namenode, at its own port: the port of HTTP is another one.
        host = parts.netloc.partition(",")[0].partition(":")[0]
        return f"hdfs://{host}{unquote(parts.path).rstrip('/')}"
    scheme = "s3" if parts.scheme == "s3a" else parts.scheme
    return f"{scheme}://{parts.netloc}{unquote(parts.path).rstrip('/')}"


class TableHead(NamedTuple):
    """The newest state of an Iceberg table."""

    number: int  # of its changes
    metadata: TableMetadata
    # Whether the hint names it: readers see it.
    is_named: bool = True


class Manifests(NamedTuple):
    """The manifests of a snapshot."""

    data: tuple[Manifest, ...] = ()
    deletes: tuple[Manifest, ...] = ()  # of vectors

    @property
    def by_uri(self) -> dict[str, Manifest]:
        """All of them."""
        return {manifest.row.uri: manifest for kind in self for manifest in kind}


class TableFiles:
    """The Iceberg tables of a mirror."""

    def __init__(self, storage: Storage, uri: str, *, is_shared: bool = False) -> None:
        """Keep them in `storage`, whose root readers know as `uri`.

        If `is_shared`, other pipelines publish the same tables.
        """
        self.storage = storage
        self.uri = uri
        self.is_shared = is_shared

    def location(self, path: str) -> str:
        """Return the URI of the Iceberg table of the Delta table at `path`."""
        return f"{self.uri}/{FOLDER}/{path}"

    def is_of(self, path: str, head: TableHead, generation: str) -> bool:
        """Return whether this is the Iceberg table of the Delta table with the id `generation`.

        If the mirror was made again, or moved, it is another table.
        """
        known = head.metadata
        return known.get("table-uuid") == generation and known.get("location") == self.location(
            path
        )

    def load(self, path: str) -> TableHead | None:
        """Return the newest state of the table of `path`; None if there is none.

        Raises MirrorError if the storage fails, or for a file that is none of ours.
        """
        hint = self.storage.read(f"{_folder(path)}/{_HINT}")
        head = self._read(path, int(hint)) if hint is not None and hint.isdigit() else None
        if head is None:
            numbers = _numbers(file.name for file in self.storage.list(_folder(path)))
            head = self._read(path, max(numbers)) if numbers else None
        # A change whose writer died before the hint exists, too.
        while head is not None and (newer := self._read(path, head.number + 1)) is not None:
            head = newer
        return None if head is None else head._replace(is_named=hint == b"%d" % head.number)

    def is_newest(self, path: str, number: int) -> bool:
        """Return whether no other process has named a change after that with `number`."""
        if not self.is_shared:
            return True
        hint = self.storage.read(f"{_folder(path)}/{_HINT}")
        return hint == (b"%d" % number if number else None)

    def name(self, path: str, head: TableHead) -> None:
        """Let readers see a state that exists."""
        number = head.number
        self._name(path, number)
        # The process that has put a newer one may have named it before.
        while self.is_shared and self._read(path, number + 1) is not None:
            number += 1
            self._name(path, number)

    def _name(self, path: str, number: int) -> None:
        self.storage.write(f"{_folder(path)}/{_HINT}", b"%d" % number)

    def _read(self, path: str, number: int) -> TableHead | None:
        name = _metadata_name(number)
        content = self.storage.read(f"{_folder(path)}/{name}")
        if content is None:
            return None
        try:
            metadata: TableMetadata = orjson.loads(content)
        except ValueError as error:
            raise foreign(path, f"{name}: {error}") from error
        return TableHead(number, metadata)

    def commit(self, path: str, head: TableHead) -> None:
        """Write a new state, and let readers see it.

        Raises MirrorError if there is one of its number, or if the storage fails.
        """
        folder, content = _folder(path), orjson.dumps(head.metadata)
        name, began = _metadata_name(head.number), Moment.here()
        conflict = MirrorError(iceberg_errors.CONFLICT, path=folder, number=head.number)
        if not self.is_newest(path, head.number - 1) or self._is_late(began):
            raise conflict
        # A put that was repeated after a lost answer finds its own file.
        if not self.storage.put_if_absent(f"{folder}/{name}", content) and (
            self.storage.read(f"{folder}/{name}") != content
        ):
            raise conflict
        if self._is_late(began):
            # Who looks again names it, or what has come after it.
            raise conflict
        self.name(path, head)
        if not self.is_shared:
            self.storage.delete(f"{folder}/{_metadata_name(head.number - _KEPT_METADATA)}")

    def _is_late(self, began: Moment) -> bool:
        return self.is_shared and began.age_ms > _LATE_MS

    def delete(self, path: str) -> None:
        """Delete the table of `path`, if there is one."""
        folder = _folder(path)
        # Without it, no reader begins.
        self.storage.delete(f"{folder}/{_HINT}")
        for file in list(self.storage.list(folder)):
            self.storage.delete(f"{folder}/{file.name}")

    def write(self, path: str, name: str, content: bytes) -> None:
        """Write a file of metadata that the next state names."""
        self.storage.write(f"{_folder(path)}/{name}", content)

    def read(self, path: str, name: str) -> bytes:
        """Return a file of metadata; raises MirrorError if it is missing."""
        content = self.storage.read(f"{_folder(path)}/{name}")
        if content is None:
            raise foreign(path, f"{name} is missing")
        return content

    def manifests(
        self,
        path: str,
        head: TableHead,
        entry: Mapping[str, Any] | None = None,
        known: Mapping[str, Manifest] = _NO_MANIFESTS,
    ) -> Manifests:
        """Return the manifests of a snapshot, by default the current one.

        Those of `known`, by URI, are not read. Raises MirrorError if a file is missing, or is none
        of ours.
        """
        name = _metadata_name(head.number)
        try:
            if entry is None:
                entry = current_snapshot(head.metadata)
                if entry is None:
                    return Manifests()
                if entry["summary"][DELTA_VERSION] != str(entry["snapshot-id"]):
                    raise foreign(path, f"{name} has a snapshot of another program")
            name = file_name(entry["manifest-list"])
            kinds: tuple[list[Manifest], list[Manifest]] = [], []
            for row in read_manifest_list(self.read(path, name)):
                name = file_name(row.uri)
                own = known.get(row.uri)
                own = read_manifest(row, self.read(path, name)) if own is None else own
                kinds[row.content].append(own)
        except UNREADABLE as error:
            raise foreign(path, f"{name}: {type(error).__name__}") from error
        return Manifests(*map(tuple, kinds))

    def old_names(self, path: str, at: int) -> list[str]:
        """Return the files that had been there for some minutes `at` a time, ms since 1970."""
        before = at - _UNNAMED_MS
        return [own.name for own in self.storage.list(_folder(path)) if own.modified < before]

    def earlier(self, path: str, old: Iterable[str]) -> TableHead | None:
        """Return the newest state that is one of the files `old`: readers may still see it.

        None if no other pipelines share the table, or if there is none.
        """
        number = max(_numbers(old), default=0) if self.is_shared else 0
        return self._read(path, number) if number else None

    def delete_unnamed(
        self, path: str, old: Collection[str], named: Collection[str], number: int
    ) -> None:
        """Delete those of the files `old` that are not `named`; `number` is that of the state."""
        newest = min(number, max(_numbers(old), default=0))
        for name in old:
            own = _METADATA.fullmatch(name)
            is_kept = name in named if own is None else int(own[1]) > newest - _KEPT_METADATA
            if not is_kept and name != _HINT:
                self.storage.delete(f"{_folder(path)}/{name}")


def needed_files(entry: Mapping[str, Any], manifests: Manifests) -> frozenset[str]:
    """Return the names of the files of metadata that a snapshot needs."""
    uris = {entry["manifest-list"], *manifests.by_uri}
    uris |= {vector.file.uri for vector in live_files(manifests.deletes).values()}
    return frozenset(map(file_name, uris))


def _numbers(names: Iterable[str]) -> list[int]:
    """Return the numbers of those of the files that are metadata."""
    return [int(match[1]) for name in names if (match := _METADATA.fullmatch(name))]


def file_name(uri: str) -> str:
    """Return the name of a file of metadata."""
    return uri.rpartition("/")[2]


def foreign(path: str, why: str) -> MirrorError:
    """Return the error of an Iceberg table that is not what this job wrote."""
    return MirrorError(iceberg_errors.FOREIGN, path=_folder(path), why=why)


def _folder(path: str) -> str:
    return f"{FOLDER}/{path}/metadata"


def _metadata_name(number: int) -> str:
    return f"v{number}.metadata.json"
