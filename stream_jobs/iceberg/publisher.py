"""Publishes versions of one Delta table as snapshots of an Iceberg table that has the same files.

    publisher = TablePublisher(files, "shop/orders", snapshots=60)
    publisher.publish(delta.snapshot, Occasion(at))

The id of a snapshot is the version of the Delta table, so a version that is published once more
after a crash is the same snapshot. One Iceberg snapshot stands for all versions since the one
before.

Nothing is kept but in the storage: a publisher begins with what it finds there.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.iceberg import manifests, metadata
from stream_jobs.iceberg.bounds import column_metrics, partition_values
from stream_jobs.iceberg.puffin import Vector, puffin_file
from stream_jobs.iceberg.schema import PartitionField, partition_fields
from stream_jobs.iceberg.summary import Changes, summary
from stream_jobs.iceberg.table_files import TableFiles, TableHead, file_name

# Files that no snapshot has are looked for after so many new snapshots, at least.
_SWEEP_EVERY: Final = 60
# Each of the snapshots in the metadata has them.
_TOKEN_DIGITS: Final = 12
_NO_FACTS: Final[Mapping[str, str]] = MappingProxyType({})
_NO_CUTS: Final[Mapping[int, int]] = MappingProxyType({})


class Occasion(NamedTuple):
    """When and at which cut a version is published."""

    at: int  # milliseconds since 1970
    # What the summary says besides.
    facts: Mapping[str, str] = _NO_FACTS
    # The cut at which the table has this version.
    cut: int | None = None
    # The cuts whose tags stay, and when each was written.
    cuts: Mapping[int, int] = _NO_CUTS
    # Whether no version since the last one has changed a row.
    is_rewrite: bool = False
    # The snapshot that readers of a catalog see, which may lag.
    held: int | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """What is published."""

    head: TableHead
    data: tuple[manifests.Manifest, ...] = ()
    deletes: tuple[manifests.Manifest, ...] = ()
    # By snapshot: the names of files of metadata that it needs. Those of earlier processes are
    # missing, but for the last one.
    needs: Mapping[int, frozenset[str]] = field(default_factory=dict)
    # Whose columns and partitions it has, if that is known.
    described: Metadata | None = None


class TablePublisher:
    """The Iceberg table of the Delta table at `path`. One thread at a time may use it."""

    def __init__(self, files: TableFiles, path: str, snapshots: int) -> None:
        """Write to `files`, and keep the newest `snapshots`, if Delta keeps their files."""
        self._files = files
        self._path = path
        self._snapshots = snapshots
        self._state: _State | None = None
        self._unswept = 0

    def publish(self, snapshot: Snapshot, occasion: Occasion) -> TableHead:
        """Make a version the current snapshot, unless it or a later one is; return what is there.

        Raises MirrorError if Iceberg cannot have the table, if another process has written to it,
        or if the storage fails. The next call then begins with what is stored.
        """
        state, self._state = self._state, None
        state = self._next(self._begun(state, snapshot), snapshot, occasion)
        self._state = state
        self._sweep(state)
        return state.head

    def _begun(self, state: _State | None, snapshot: Snapshot) -> _State | None:
        """Return what is published of this table; None if nothing is."""
        if state is None:
            head = self._files.load(self._path)
            if head is not None and not head.is_named:
                # A process died in between.
                self._files.name(self._path, head)
                head = head._replace(is_named=True)
            state = None if head is None else self._loaded(head)
        if state is None:
            return None
        generation = snapshot.metadata.table_id
        is_same = self._files.is_of(self._path, state.head, generation) and (
            state.described is snapshot.metadata or self._has_partitions(state, snapshot)
        )
        return state if is_same else _State(TableHead(state.head.number, {}))

    def _has_partitions(self, state: _State, snapshot: Snapshot) -> bool:
        """Return whether the files that are published have the partitions that Delta says.

        Readers take these values from manifests alone. If a column was dropped and added, or if
        an earlier version of this program has numbered the columns in another order, no manifest
        can be kept.
        """
        partition = partition_fields(snapshot)
        if state.head.metadata["partition-specs"] != metadata.partition_specs(partition):
            return False
        values = {
            uri: partition_values(snapshot.columns, partition, file.partition_values)
            for uri, file in (self._uris(snapshot) if partition else {}).items()
        }
        return all(
            own.file.partition == values.get(uri, own.file.partition)
            for kind in (state.data, state.deletes)
            for uri, own in manifests.live_files(kind).items()
        )

    def _uris(self, snapshot: Snapshot) -> dict[str, DataFile]:
        """Return the files of a version as Iceberg names them."""
        root = f"{self._files.uri}/{self._path}"
        return {f"{root}/{file.location}": file for file in snapshot.files.values()}

    def _loaded(self, head: TableHead) -> _State:
        """Return what is stored; raises MirrorError if it is not ours."""
        data, deletes = self._files.manifests(self._path, head)
        entry = metadata.current_snapshot(head.metadata)
        if entry is None:
            return _State(head)
        needs = {entry["snapshot-id"]: _needed(entry, data, deletes)}
        return _State(head, tuple(data), tuple(deletes), needs)

    def _next(self, state: _State | None, snapshot: Snapshot, occasion: Occasion) -> _State:
        """Return what is published now."""
        state = state or _State(TableHead(0, {}))
        old = state.head.metadata or None
        current = metadata.current_id(old)
        if old is not None and current is not None and current >= snapshot.version:
            head = self._tagged(state.head, snapshot.version, occasion)
        else:
            if old is None or state.described is not snapshot.metadata:
                location = self._files.location(self._path)
                old = metadata.with_columns(old, self._path, snapshot, location)
            known = metadata.at_time(old, occasion.at)
            head = TableHead(state.head.number, known)
            state = replace(state, head=head, described=snapshot.metadata)
            state = self._with_snapshot(state, snapshot, occasion)
            before = metadata.expiry_time(self._path, snapshot.configuration, occasion.at)
            known = metadata.expired(
                _with_cut(state.head.metadata, occasion),
                occasion.cuts,
                self._snapshots,
                before,
                occasion.held,
            )
            head = self._committed(state.head.number, known)
        kept = metadata.snapshot_ids(head.metadata)
        needs = {own: names for own, names in state.needs.items() if own in kept}
        return replace(state, head=head, needs=needs)

    def tag(self, version: int, generation: str, occasion: Occasion) -> bool:
        """Give the current snapshot the tags of a cut, if it is this version of the Delta table.

        `generation` is the id of the Delta table. Returns whether it has the tags. Raises
        MirrorError as `publish`.
        """
        state, self._state = self._state, None
        head = self._files.load(self._path) if state is None else state.head
        is_same = (
            head is not None
            and metadata.current_id(head.metadata) == version
            and head.is_named
            and self._files.is_of(self._path, head, generation)
        )
        if head is not None and is_same:
            head = self._tagged(head, version, occasion)
        if state is not None and head is not None:
            self._state = replace(state, head=head)
        return is_same

    def _tagged(self, head: TableHead, version: int, occasion: Occasion) -> TableHead:
        """Return the same snapshots, with the tags of the cut at which `version` is current."""
        known = head.metadata
        is_tagged = occasion.cut is None or metadata.tag_of(occasion.cut) in known["refs"]
        if is_tagged or metadata.current_id(known) != version:
            return head
        known = metadata.at_time(known, occasion.at)
        known = metadata.without_old_tags(_with_cut(known, occasion), occasion.cuts)
        return self._committed(head.number, known)

    def _committed(self, number: int, known: metadata.TableMetadata) -> TableHead:
        head = TableHead(number + 1, known)
        self._files.commit(self._path, head)
        return head

    def _with_snapshot(self, state: _State, snapshot: Snapshot, occasion: Occasion) -> _State:
        """Return the state after `snapshot` has become the current one, not committed yet."""
        known = state.head.metadata
        parent, first = metadata.current_id(known), known["next-row-id"]
        own = manifests.NewSnapshot(
            snapshot.version,
            known["last-sequence-number"] + 1,
            f"{known['location']}/metadata",
            f"{snapshot.version}-{uuid.uuid4().hex[:_TOKEN_DIGITS]}",
            metadata.current_schema(known),
            partition_fields(snapshot),
        )
        changes = self._changes(state, snapshot, own)
        data = manifests.next_manifests(
            manifests.DATA, state.data, own, changes.gone, changes.new, next_row_id=first
        )
        deletes = manifests.next_manifests(
            manifests.DELETES, state.deletes, own, changes.stale, changes.vectors
        )
        every = [*data.manifests, *deletes.manifests]
        name = f"snap-{own.token}.avro"
        written = data.files | deletes.files | {name: manifests.manifest_list(own, every)}
        for own_name, content in written.items():
            self._files.write(self._path, own_name, content)
        facts, is_rewrite = occasion.facts, occasion.is_rewrite
        entry = {
            "snapshot-id": own.snapshot_id,
            "sequence-number": own.sequence,
            "timestamp-ms": max(occasion.at, known["last-updated-ms"]),
            "first-row-id": first,
            "added-rows": changes.added_rows,
            "manifest-list": f"{own.folder}/{name}",
            "schema-id": known["current-schema-id"],
            "summary": summary(snapshot.version, changes, every, facts, is_rewrite=is_rewrite),
        }
        if parent is not None:
            entry["parent-snapshot-id"] = parent
        return replace(
            state,
            head=TableHead(state.head.number, metadata.with_snapshot(known, entry)),
            data=tuple(data.manifests),
            deletes=tuple(deletes.manifests),
            needs={
                **state.needs,
                own.snapshot_id: _needed(entry, data.manifests, deletes.manifests),
            },
        )

    def _changes(self, state: _State, snapshot: Snapshot, own: manifests.NewSnapshot) -> Changes:
        """Return what `snapshot` changes; its new vectors are written."""
        files = self._uris(snapshot)
        have, had = manifests.live_files(state.data), manifests.live_files(state.deletes)
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

    def _sweep(self, state: _State) -> None:
        """Delete now and then what no snapshot needs, and no crashed process will name."""
        self._unswept += 1
        is_known = state.needs.keys() >= metadata.snapshot_ids(state.head.metadata)
        if is_known and self._unswept >= max(_SWEEP_EVERY, self._snapshots):
            named = frozenset().union(*state.needs.values())
            self._files.delete_unnamed(self._path, named, state.head.number)
            self._unswept = 0


def _with_cut(known: metadata.TableMetadata, occasion: Occasion) -> metadata.TableMetadata:
    return known if occasion.cut is None else metadata.with_tag(known, occasion.cut)


def _is_dead_in(file: DataFile | None) -> bool:
    return file is not None and file.deleted > 0


def _needed(
    entry: Mapping[str, Any],
    data: Collection[manifests.Manifest],
    deletes: Collection[manifests.Manifest],
) -> frozenset[str]:
    """Return the names of the files of metadata that a snapshot needs."""
    uris = {entry["manifest-list"], *(manifest.row.uri for manifest in (*data, *deletes))}
    uris |= {vector.file.uri for vector in manifests.live_files(deletes).values()}
    return frozenset(map(file_name, uris))
