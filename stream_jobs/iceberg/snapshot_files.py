"""Writes the files of metadata of one snapshot: vectors, manifests, and the list of these.

They have names of their own, so a snapshot that is not committed leaves files that nothing names.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.iceberg import manifests
from stream_jobs.iceberg.bounds import column_metrics, partition_values
from stream_jobs.iceberg.puffin import Vector, puffin_file
from stream_jobs.iceberg.schema import PartitionField
from stream_jobs.iceberg.summary import Changes
from stream_jobs.iceberg.table_files import Manifests, TableFiles


class WrittenSnapshot(NamedTuple):
    """What was written."""

    manifests: Manifests
    changes: Changes
    # The URI of the list of manifests.
    uri: str


class SnapshotFiles:
    """The snapshots of the Iceberg table of the Delta table at `path`."""

    def __init__(self, files: TableFiles, path: str) -> None:
        """Write to `files`."""
        self._files = files
        self._path = path

    def uris(self, snapshot: Snapshot) -> dict[str, DataFile]:
        """Return the files of a version as Iceberg names them."""
        root = f"{self._files.uri}/{self._path}"
        return {f"{root}/{file.location}": file for file in snapshot.files.values()}

    def write(
        self, before: Manifests, snapshot: Snapshot, own: manifests.NewSnapshot, first_row_id: int
    ) -> WrittenSnapshot:
        """Write what the snapshot `own` has, which follows one with the manifests `before`.

        Rows of new files get ids from `first_row_id` on. Raises MirrorError if the storage fails,
        or if a file of the Delta table is gone.
        """
        changes = self._changes(before, snapshot, own)
        data = manifests.next_manifests(
            manifests.DATA,
            before.data,
            own,
            changes.gone,
            changes.new,
            next_row_id=first_row_id,
        )
        deletes = manifests.next_manifests(
            manifests.DELETES, before.deletes, own, changes.stale, changes.vectors
        )
        every = [*data.manifests, *deletes.manifests]
        name = f"snap-{own.token}.avro"
        written = data.files | deletes.files | {name: manifests.manifest_list(own, every)}
        for own_name, content in written.items():
            self._files.write(self._path, own_name, content)
        after = Manifests(tuple(data.manifests), tuple(deletes.manifests))
        return WrittenSnapshot(after, changes, f"{own.folder}/{name}")

    def _changes(
        self, before: Manifests, snapshot: Snapshot, own: manifests.NewSnapshot
    ) -> Changes:
        """Return what `snapshot` changes; its new vectors are written."""
        files = self.uris(snapshot)
        have, had = manifests.live_files(before.data), manifests.live_files(before.deletes)
        new = {
            name: self._entry(name, file, snapshot, own.partition)
            for name, file in files.items()
            if name not in have
        }
        # Dead rows only become more, so their number says whether a vector is another one.
        changed = {
            name: file
            for name, file in files.items()
            if file.deleted and not (name in had and had[name].file.rows == file.deleted)
        }
        stale = {name for name in had if name in changed or not _is_dead_in(files.get(name))}
        partitions = {
            name: (new[name] if name in new else have[name].file).partition for name in changed
        }
        vectors = self._vectors(own, changed, partitions)
        return Changes(list(new.values()), have.keys() - files.keys(), vectors, stale)

    def _entry(
        self, uri: str, file: DataFile, snapshot: Snapshot, partition: tuple[PartitionField, ...]
    ) -> manifests.DataFileEntry:
        """Return the entry of a data file."""
        values = partition_values(snapshot.columns, partition, file.partition_values)
        rows = file.rows if file.rows >= 0 else self._count(file)
        metrics = manifests.encoded_metrics(column_metrics(snapshot.columns, file.statistics))
        return manifests.DataFileEntry(
            manifests.DATA, uri, "parquet", values, rows, file.size, metrics
        )

    def _count(self, file: DataFile) -> int:
        """Return the rows of a file whose writer has not counted them."""
        name = f"{self._path}/{file.location}"
        source = self._files.storage.open(name)
        if source is None:
            raise MirrorError(delta_errors.FILE_MISSING, file=name)
        try:
            rows: int = pq.read_metadata(source).num_rows
        except (pa.ArrowException, OSError) as error:
            raise MirrorError(delta_errors.FILE_DAMAGED, file=name, why=error) from error
        return rows

    def _vectors(
        self,
        own: manifests.NewSnapshot,
        changed: Mapping[str, DataFile],
        partitions: Mapping[str, tuple[Any, ...]],
    ) -> list[manifests.DataFileEntry]:
        """Write one file with the vectors that are not published yet; return their entries."""
        storage = self._files.storage
        vectors = [
            Vector(
                uri, deletion_vectors.read(storage, self._path, file.deletion_vector), file.deleted
            )
            for uri, file in changed.items()
            if file.deletion_vector is not None
        ]
        if not vectors:
            return []
        content, places = puffin_file(vectors)
        name = f"{own.token}.puffin"
        self._files.write(self._path, name, content)
        return [
            manifests.DataFileEntry(
                manifests.DELETES,
                f"{own.folder}/{name}",
                "puffin",
                partitions[vector.uri],
                vector.cardinality,
                len(content),
                referenced=vector.uri,
                offset=place.offset,
                length=place.length,
            )
            for vector, place in zip(vectors, places, strict=True)
        ]


def _is_dead_in(file: DataFile | None) -> bool:
    return file is not None and file.deleted > 0
