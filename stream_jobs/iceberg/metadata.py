"""The metadata of an Iceberg table: columns, snapshots and tags, as `metadata.json` has them.

Nothing here changes what it is given: a reader, or another thread, may still have it.

https://iceberg.apache.org/spec/#table-metadata
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import inf
from typing import Any, Final, NamedTuple

from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.iceberg.cut_tags import CutTags
from stream_jobs.iceberg.schema import (
    FIRST_PARTITION_ID,
    PartitionField,
    partition_fields,
    schema_fields,
)
from stream_jobs.iceberg.summary import short

TableMetadata = dict[str, Any]

# In the summary of a snapshot: when one replaced it that is gone, milliseconds since 1970.
_REPLACED_MS: Final = "cdc.replaced-ms"
# Nobody else's upkeep may delete files: Delta has the same ones.
_PROPERTIES: Final = {"gc.enabled": "false"}


def current_id(metadata: TableMetadata | None) -> int | None:
    """Return the id of the current snapshot; None without one."""
    own: int | None = None if metadata is None else metadata.get("current-snapshot-id")
    return own


def current_snapshot(metadata: TableMetadata) -> Mapping[str, Any] | None:
    """Return the entry of the current snapshot; None without one."""
    own = current_id(metadata)
    entries = [entry for entry in metadata["snapshots"] if entry["snapshot-id"] == own]
    return entries[0] if entries else None


def published_ms(metadata: TableMetadata) -> int:
    """Return when the current snapshot was published, milliseconds since 1970."""
    entry = current_snapshot(metadata)
    at: int = metadata["last-updated-ms"] if entry is None else entry["timestamp-ms"]
    return at


def snapshot_before(metadata: TableMetadata, version: int) -> Mapping[str, Any] | None:
    """Return the entry of the newest version before `version`; None without one."""
    older = (entry for entry in metadata["snapshots"] if entry["snapshot-id"] < version)
    return max(older, key=lambda entry: int(entry["snapshot-id"]), default=None)


def current_schema(metadata: TableMetadata) -> dict[str, Any]:
    """Return the schema of the current columns."""
    own = metadata["current-schema-id"]
    (schema,) = (schema for schema in metadata["schemas"] if schema["schema-id"] == own)
    known: dict[str, Any] = schema
    return known


def partition_spec(metadata: TableMetadata) -> Mapping[str, Any]:
    """Return how the table is partitioned: all manifests have this spec."""
    spec: Mapping[str, Any] = metadata["partition-specs"][0]
    return spec


def partition_specs(fields: Iterable[PartitionField]) -> list[dict[str, Any]]:
    """Return the specs of a table with these partitions."""
    return [{"spec-id": 0, "fields": [field.description() for field in fields]}]


def snapshot_ids(metadata: TableMetadata) -> set[int]:
    """Return the ids of all snapshots that can be read."""
    return {entry["snapshot-id"] for entry in metadata["snapshots"]}


def tags(metadata: TableMetadata) -> dict[str, int]:
    """Return the snapshot of each tag."""
    refs = metadata["refs"].items()
    return {name: ref["snapshot-id"] for name, ref in refs if ref["type"] == "tag"}


def with_columns(
    old: TableMetadata | None, path: str, snapshot: Snapshot, location: str
) -> TableMetadata:
    """Return metadata with the columns of `snapshot`, and without a new Iceberg snapshot.

    `path` is that of the Delta table, `location` the URI of the folder of the Iceberg table. The
    partition spec of `old` stays. Raises MirrorError for columns that Iceberg cannot have.
    """
    fields = schema_fields(path, snapshot.columns)
    partition = partition_fields(snapshot)
    metadata = old or {
        "format-version": 3,
        "table-uuid": snapshot.metadata.table_id,
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": 0,
        "next-row-id": 0,
        "schemas": [],
        "partition-specs": partition_specs(partition),
        "default-spec-id": 0,
        "last-partition-id": FIRST_PARTITION_ID - 1 + len(partition),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": _PROPERTIES,
        "refs": {},
        "snapshots": [],
        "snapshot-log": [],
    }
    schemas = metadata["schemas"]
    same = [schema["schema-id"] for schema in schemas if schema["fields"] == fields]
    own = same[0] if same else max((s["schema-id"] for s in schemas), default=-1) + 1
    if not same:
        schemas = [*schemas, {"type": "struct", "schema-id": own, "fields": fields}]
    return metadata | {
        "schemas": schemas,
        "current-schema-id": own,
        "last-column-id": max(snapshot.metadata.last_id, metadata["last-column-id"]),
    }


def at_time(metadata: TableMetadata, at: int) -> TableMetadata:
    """Return metadata of a new state, which is written at a time."""
    # Clocks may go back, and times in the metadata must not.
    return metadata | {"last-updated-ms": max(at, metadata["last-updated-ms"])}


def with_snapshot(metadata: TableMetadata, entry: Mapping[str, Any]) -> TableMetadata:
    """Return metadata whose current snapshot is `entry`. Its rows that are new have new ids."""
    own, at = entry["snapshot-id"], entry["timestamp-ms"]
    *older, last = metadata["snapshots"] or [None]
    if last is not None:
        older.append(last | {"summary": short(last["summary"])})
    return metadata | {
        "last-sequence-number": entry["sequence-number"],
        "next-row-id": metadata["next-row-id"] + entry["added-rows"],
        "current-snapshot-id": own,
        "refs": metadata["refs"] | {"main": {"snapshot-id": own, "type": "branch"}},
        "snapshots": [*older, entry],
        "snapshot-log": [*metadata["snapshot-log"], {"snapshot-id": own, "timestamp-ms": at}],
    }


def with_older_snapshot(metadata: TableMetadata, entry: Mapping[str, Any]) -> TableMetadata:
    """Return metadata with a snapshot beside the current one, and never current: for a tag."""
    *older, current = metadata["snapshots"]
    beside = {**entry, "summary": short(entry["summary"])}
    return metadata | {
        "last-sequence-number": entry["sequence-number"],
        "next-row-id": metadata["next-row-id"] + entry["added-rows"],
        "snapshots": [*older, beside, current],
    }


class CutsOfTable(NamedTuple):
    """The cuts of a pipeline whose tags stay."""

    tags: CutTags
    # By number: when it was written, in milliseconds since 1970.
    written: Mapping[int, int]
    # The newest one that the pipeline knows.
    newest: int


def with_tag(metadata: TableMetadata, tags: CutTags, cut: int, snapshot: int) -> TableMetadata:
    """Return metadata in which a snapshot has the tags of a cut."""
    return metadata | {"refs": tags.added(metadata["refs"], cut, snapshot)}


def without_old_tags(metadata: TableMetadata, cuts: CutsOfTable) -> TableMetadata:
    """Return metadata in which no cut of the pipeline but `cuts` has a tag of its own."""
    kept = cuts.tags.kept(metadata["refs"], cuts.written, cuts.newest)
    return metadata | {"refs": kept}


class Expiry(NamedTuple):
    """What Delta deletes the files of: what another version has replaced before a time.

    Times are in milliseconds since 1970. A quarter of the retention of Delta is for publishing
    late.
    """

    # Of what was replaced before, files may be gone soon, and are gone.
    soon: int
    gone: int

    @classmethod
    def of(cls, path: str, configuration: Mapping[str, str], at: int) -> "Expiry":
        """Return what holds for the Delta table at `path`, `at` a time."""
        gone = at - Retention.of(path, configuration).files
        return cls(at - _kept_ms(path, configuration), gone)


def expired(
    metadata: TableMetadata,
    cuts: CutsOfTable,
    count: int,
    expiry: Expiry,
    held: frozenset[int] = frozenset(),
) -> TableMetadata:
    """Return metadata with the tags of `cuts`, the newest `count` snapshots, and those `held`.

    What Delta may soon delete the files of goes, and so does the tag of a cut from then.
    """
    snapshots = metadata["snapshots"]
    recent = [number for number, written in cuts.written.items() if written >= expiry.soon]
    replaced = _replaced_ms(metadata)
    refs = dict(
        cuts.tags.kept(
            metadata["refs"], recent, cuts.newest, lambda own: replaced[own] < expiry.gone
        )
    )
    latest = refs.pop(cuts.tags.latest, None)
    ids = {ref["snapshot-id"] for ref in refs.values()}
    ids |= {own for own in _current_ids(metadata)[-count:] if replaced[own] >= expiry.soon}
    ids |= held
    if latest is not None and latest["snapshot-id"] in ids:
        refs[cuts.tags.latest] = latest
    schema_ids = {e["schema-id"] for e in snapshots if e["snapshot-id"] in ids}
    schema_ids.add(metadata["current-schema-id"])
    kept = metadata | {
        "refs": refs,
        "schemas": [s for s in metadata["schemas"] if s["schema-id"] in schema_ids],
        "snapshots": [e for e in snapshots if e["snapshot-id"] in ids],
        "snapshot-log": [e for e in metadata["snapshot-log"] if e["snapshot-id"] in ids],
    }
    known = _replaced_ms(kept)
    lost = {own: replaced[own] for own, at in known.items() if at != replaced[own]}
    return kept | {"snapshots": [_with_replaced_ms(e, lost) for e in kept["snapshots"]]}


def _current_ids(metadata: TableMetadata) -> list[int]:
    """Return the snapshots that are or were the current one."""
    return [entry["snapshot-id"] for entry in metadata["snapshot-log"]]


def _replaced_ms(metadata: TableMetadata) -> dict[int, float]:
    """Return until when snapshots were the newest state of the table, at the latest."""
    # One for a tag was replaced before it was published.
    until: dict[int, float] = {e["snapshot-id"]: e["timestamp-ms"] for e in metadata["snapshots"]}
    for entry, later in pairwise(metadata["snapshot-log"]):
        until[entry["snapshot-id"]] = later["timestamp-ms"]
    until |= dict.fromkeys(_current_ids(metadata)[-1:], inf)
    for entry in metadata["snapshots"]:
        if _REPLACED_MS in entry["summary"]:
            until[entry["snapshot-id"]] = int(entry["summary"][_REPLACED_MS])
    return until


def _with_replaced_ms(entry: Mapping[str, Any], lost: Mapping[int, float]) -> Mapping[str, Any]:
    """Return a snapshot that says when it was replaced, if what has replaced it is gone."""
    own = entry["snapshot-id"]
    if own not in lost:
        return entry
    return {**entry, "summary": {**entry["summary"], _REPLACED_MS: str(lost[own])}}


def readable_until(path: str, configuration: Mapping[str, str], metadata: TableMetadata) -> int:
    """Return until when the current snapshot can be read at least, if no other one follows.

    Delta has not replaced its files before it was published. A file that no version replaces stays.
    """
    return published_ms(metadata) + _kept_ms(path, configuration)


def _kept_ms(path: str, configuration: Mapping[str, str]) -> int:
    return Retention.of(path, configuration).files * 3 // 4
