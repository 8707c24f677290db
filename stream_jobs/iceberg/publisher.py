"""Publishes versions of one Delta table as snapshots of an Iceberg table that has the same files.

    publisher = TablePublisher(files, "shop/orders", snapshots=60)
    publisher.publish(delta.snapshot, Occasion(at))

The id of a snapshot is the version of the Delta table, so a version that is published once more
after a crash is the same snapshot. One Iceberg snapshot stands for all versions since the one
before.

Nothing is kept but in the storage: a publisher begins with what it finds there.

*Shared.* If another pipeline has published something meanwhile, the publisher begins again with
that. The current snapshot never goes back to an earlier version. If a cut needs one that is not
published, this becomes a snapshot beside the current one, which only the tag of the cut names.
"""

import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.log import Moment
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import iceberg_errors, manifests, metadata
from stream_jobs.iceberg.bounds import partition_values
from stream_jobs.iceberg.cut_tags import ALONE, CutTags
from stream_jobs.iceberg.metadata import TableMetadata
from stream_jobs.iceberg.schema import partition_fields
from stream_jobs.iceberg.snapshot_files import SnapshotFiles
from stream_jobs.iceberg.summary import summary
from stream_jobs.iceberg.table_files import (
    Manifests,
    TableFiles,
    TableHead,
    file_name,
    needed_files,
)

# Files that no snapshot has are looked for at each change whose number is a multiple of that, at
# least: whoever puts it, so also if no process puts many.
_SWEEP_EVERY: Final = 60
# Each of the snapshots in the metadata has them.
_TOKEN_DIGITS: Final = 12
# So often is a change tried that other pipelines have overtaken, and so long is waited at most.
_TRIES: Final = 10
_PAUSE_SECONDS: Final = 0.1
_NO_FACTS: Final[Mapping[str, str]] = MappingProxyType({})
_NO_CUTS: Final[Mapping[int, int]] = MappingProxyType({})
_NO_MANIFESTS: Final = Manifests()

_Result = TypeVar("_Result")


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
    # The snapshots that a catalog, which may lag, has or may have.
    held: frozenset[int] = frozenset()
    # The newest cut that the pipeline knows.
    newest_cut: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    """What is published."""

    head: TableHead
    manifests: Manifests = _NO_MANIFESTS
    # Whose columns and partitions it has, if that is known.
    described: Metadata | None = None


class _New(NamedTuple):
    """A snapshot whose files are written, and that no metadata have yet."""

    entry: dict[str, Any]
    manifests: Manifests


class TablePublisher:
    """The Iceberg table of the Delta table at `path`. One thread at a time may use it."""

    def __init__(self, files: TableFiles, path: str, snapshots: int, tags: CutTags = ALONE) -> None:
        """Write to `files`, and keep the newest `snapshots`, if Delta keeps their files.

        Cuts have the names of `tags`.
        """
        self._files = files
        self._path = path
        self._snapshots = snapshots
        self._tags = tags
        self._writer = SnapshotFiles(files, path)
        self._state: _State | None = None
        # What is known of files, which never change: by URI, the manifests of the newest state;
        # by the name of its list, the files that a snapshot needs.
        self._manifests: dict[str, manifests.Manifest] = {}
        self._needed: dict[str, frozenset[str]] = {}

    def publish(self, snapshot: Snapshot, occasion: Occasion) -> TableHead:
        """Make a version the current snapshot, unless it or a later one is; return what is there.

        In a shared mirror, a version at a cut gets its tag also if a later one is there. Raises
        MirrorError if Iceberg cannot have the table, if another process has written to it, or if
        the storage fails. The next call then begins with what is stored.
        """
        return self._repeated(lambda: self._publish(snapshot, occasion))

    def tag(self, version: int, generation: str, occasion: Occasion) -> bool:
        """Give the snapshot of a version of the Delta table the tags of a cut, if it is published.

        `generation` is the id of the Delta table. Returns whether it has the tags. Raises
        MirrorError as `publish`.
        """
        return self._repeated(lambda: self._tag(version, generation, occasion))

    def _repeated(self, change: Callable[[], _Result]) -> _Result:
        """Make a change; if pipelines share the table, until no other one comes in between."""
        for _ in range(_TRIES - 1 if self._files.is_shared else 0):
            try:
                return change()
            except MirrorError as error:
                if error.code is not iceberg_errors.CONFLICT:
                    raise
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - not a secret
        return change()

    def _publish(self, snapshot: Snapshot, occasion: Occasion) -> TableHead:
        state = self._next(self._begun(snapshot), snapshot, occasion)
        self._state = state
        self._manifests = state.manifests.by_uri
        return state.head

    def _tag(self, version: int, generation: str, occasion: Occasion) -> bool:
        state = self._known()
        head = self._files.load(self._path) if state is None else state.head
        tagged = None
        if head is not None and head.is_named and self._files.is_of(self._path, head, generation):
            tagged = self._tagged(head, version, occasion)
        if state is not None:
            self._state = state if tagged is None else replace(state, head=tagged)
        return tagged is not None

    def _known(self) -> _State | None:
        """Return what this publisher knows, if nobody has published anything since."""
        state, self._state = self._state, None
        if state is None or not self._files.is_newest(self._path, state.head.number):
            return None
        return state

    def _stored(self) -> _State | None:
        """Return what is published; None if nothing is."""
        state = self._known()
        if state is not None:
            return state
        head = self._files.load(self._path)
        if head is None:
            return None
        if not head.is_named:
            # A process died in between.
            self._files.name(self._path, head)
            head = head._replace(is_named=True)
        own = self._files.manifests(self._path, head, known=self._manifests)
        entry = metadata.current_snapshot(head.metadata)
        if entry is not None:
            self._needed[file_name(entry["manifest-list"])] = needed_files(entry, own)
        return _State(head, own)

    def _begun(self, snapshot: Snapshot) -> _State:
        """Return what is published of this table."""
        state = self._stored()
        if state is None:
            return _State(TableHead(0, {}))
        is_same = self._files.is_of(self._path, state.head, snapshot.metadata.table_id)
        if is_same and self._files.is_shared and _has_passed(state.head, snapshot):
            # What is published is not described by an earlier version.
            return state
        is_same = is_same and (
            state.described is snapshot.metadata or self._has_partitions(state, snapshot)
        )
        return state if is_same else _State(TableHead(state.head.number, {}))

    def _has_partitions(self, state: _State, snapshot: Snapshot) -> bool:
        """Return whether the files that are published have the partitions that Delta says.

        Readers take these values from manifests alone. If a column was dropped and added, or if
        an earlier version of this program has numbered the columns in another order, no manifest
        can be kept.
        """
        if not _has_spec(state.head, snapshot):
            return False
        partition = partition_fields(snapshot)
        values = {
            uri: partition_values(snapshot.columns, partition, file.partition_values)
            for uri, file in (self._writer.uris(snapshot) if partition else {}).items()
        }
        return all(
            own.file.partition == values.get(uri, own.file.partition)
            for kind in state.manifests
            for uri, own in manifests.live_files(kind).items()
        )

    def _next(self, state: _State, snapshot: Snapshot, occasion: Occasion) -> _State:
        """Return what is published now."""
        if _has_passed(state.head, snapshot):
            head = self._tagged(state.head, snapshot.version, occasion)
            if head is None and occasion.cut is not None and self._files.is_shared:
                head = self._with_older(state.head, snapshot, occasion)
            return state if head is None else replace(state, head=head)
        known = state.head.metadata or None
        if known is None or state.described is not snapshot.metadata:
            known = self._with_columns(known, snapshot)
        new = self._new(known, state.manifests, snapshot, occasion)
        known = metadata.with_snapshot(metadata.at_time(known, occasion.at), new.entry)
        if occasion.cut is not None:
            known = metadata.with_tag(known, self._tags, occasion.cut, snapshot.version)
        cuts = self._cuts(occasion)
        expiry = metadata.Expiry.of(self._path, snapshot.configuration, occasion.at)
        known = metadata.expired(known, cuts, self._snapshots, expiry, occasion.held)
        head = self._committed(state.head.number, known)
        return _State(head, new.manifests, snapshot.metadata)

    def _with_older(
        self, head: TableHead, snapshot: Snapshot, occasion: Occasion
    ) -> TableHead | None:
        """Publish a version that is older than the current one, for the tag of a cut alone.

        It follows a version that is older still. So it names no file of vectors that has newer
        ones, which some readers would apply. Returns None if it has other partitions.
        """
        if not _has_spec(head, snapshot):
            return None
        entry = metadata.snapshot_before(head.metadata, snapshot.version)
        before = _NO_MANIFESTS
        if entry is not None:
            before = self._files.manifests(self._path, head, entry, self._manifests)
        known = self._with_columns(head.metadata, snapshot)
        new = self._new(known, before, snapshot, occasion, entry)
        known = metadata.with_older_snapshot(metadata.at_time(known, occasion.at), new.entry)
        known |= {"current-schema-id": head.metadata["current-schema-id"]}
        return self._with_tags(head.number, known, snapshot.version, occasion)

    def _with_columns(self, known: TableMetadata | None, snapshot: Snapshot) -> TableMetadata:
        location = self._files.location(self._path)
        return metadata.with_columns(known, self._path, snapshot, location)

    def _tagged(self, head: TableHead, version: int, occasion: Occasion) -> TableHead | None:
        """Return the same snapshots, of which `version` has the tags of the cut; None without it.

        Without a cut, they are the same.
        """
        known = head.metadata
        if version not in metadata.snapshot_ids(known):
            return None
        if occasion.cut is None:
            return head
        # The number may be that of a cut from before the pipeline was removed.
        if metadata.tags(known).get(self._tags.of(occasion.cut)) == version:
            return head
        known = metadata.at_time(known, occasion.at)
        return self._with_tags(head.number, known, version, occasion)

    def _with_tags(
        self, number: int, known: TableMetadata, version: int, occasion: Occasion
    ) -> TableHead:
        assert occasion.cut is not None
        known = metadata.with_tag(known, self._tags, occasion.cut, version)
        return self._committed(number, metadata.without_old_tags(known, self._cuts(occasion)))

    def _cuts(self, occasion: Occasion) -> metadata.CutsOfTable:
        newest = max(occasion.newest_cut, occasion.cut or 0)
        return metadata.CutsOfTable(self._tags, occasion.cuts, newest)

    def _committed(self, number: int, known: TableMetadata) -> TableHead:
        head, began = TableHead(number + 1, known), Moment.here()
        self._files.commit(self._path, head)
        self._sweep(head, began.wall_ms)
        return head

    def _new(
        self,
        known: TableMetadata,
        before: Manifests,
        snapshot: Snapshot,
        occasion: Occasion,
        parent: Mapping[str, Any] | None = None,
    ) -> _New:
        """Write a snapshot that follows one with the manifests `before`, and return it.

        `known` has the columns of `snapshot`. The parent is the current one, if none is given.
        """
        parent, first = parent or metadata.current_snapshot(known), known["next-row-id"]
        own = manifests.NewSnapshot(
            snapshot.version,
            known["last-sequence-number"] + 1,
            f"{known['location']}/metadata",
            f"{snapshot.version}-{uuid.uuid4().hex[:_TOKEN_DIGITS]}",
            metadata.current_schema(known),
            partition_fields(snapshot),
        )
        written = self._writer.write(before, snapshot, own, first)
        changes, facts = written.changes, occasion.facts
        every = [manifest for kind in written.manifests for manifest in kind]
        is_rewrite = occasion.is_rewrite
        entry = {
            "snapshot-id": own.snapshot_id,
            "sequence-number": own.sequence,
            "timestamp-ms": max(occasion.at, known["last-updated-ms"]),
            "first-row-id": first,
            "added-rows": changes.added_rows,
            "manifest-list": written.uri,
            "schema-id": known["current-schema-id"],
            "summary": summary(snapshot.version, changes, every, facts, is_rewrite=is_rewrite),
        }
        if parent is not None:
            entry["parent-snapshot-id"] = parent["snapshot-id"]
        self._needed[file_name(written.uri)] = needed_files(entry, written.manifests)
        return _New(entry, written.manifests)

    def _sweep(self, head: TableHead, at: int) -> None:
        """Delete now and then what no snapshot needs, and no crashed process will name.

        `at` is a time before `head` was committed, milliseconds since 1970.
        """
        if head.number % max(_SWEEP_EVERY, self._snapshots):
            return
        old = self._files.old_names(self._path, at)
        known, self._needed = self._needed, self._needed_by(head, self._needed)
        named = set().union(*self._needed.values())
        earlier = self._files.earlier(self._path, old)
        if earlier is not None:
            known |= self._needed
            named = named.union(*self._needed_by(earlier, known, is_whole=False).values())
        self._files.delete_unnamed(self._path, old, named, head.number)

    def _needed_by(
        self, head: TableHead, known: Mapping[str, frozenset[str]], *, is_whole: bool = True
    ) -> dict[str, frozenset[str]]:
        """Return the files that each snapshot of a state needs, by the name of its list.

        Unless it `is_whole`, some may be gone.
        """
        needed = {}
        read = dict(self._manifests)
        for entry in head.metadata["snapshots"]:
            name = file_name(entry["manifest-list"])
            if name in known:
                needed[name] = known[name]
                continue
            # Another process has published it.
            try:
                own = self._files.manifests(self._path, head, entry, read)
            except MirrorError as error:
                if is_whole or error.code is not iceberg_errors.FOREIGN:
                    raise
                continue
            read |= own.by_uri
            needed[name] = needed_files(entry, own)
        return needed


def _has_passed(head: TableHead, snapshot: Snapshot) -> bool:
    """Return whether the current snapshot is this version, or a later one."""
    current = metadata.current_id(head.metadata)
    return current is not None and current >= snapshot.version


def _has_spec(head: TableHead, snapshot: Snapshot) -> bool:
    """Return whether a table is partitioned by the columns of `snapshot`."""
    specs = metadata.partition_specs(partition_fields(snapshot))
    return bool(head.metadata["partition-specs"] == specs)
