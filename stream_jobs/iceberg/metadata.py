"""The metadata of an Iceberg table: columns, snapshots and tags, as `metadata.json` has them.

Nothing here changes what it is given: a reader, or another thread, may still have it.

https://iceberg.apache.org/spec/#table-metadata
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.iceberg.schema import (
    FIRST_PARTITION_ID,
    PartitionField,
    partition_fields,
    schema_fields,
)
from stream_jobs.iceberg.summary import short

TableMetadata = dict[str, Any]

LATEST_CUT: Final = "latest_cut"
_TAG: Final = "cut_"
# Nobody else's upkeep may delete files: Delta has the same ones.
_PROPERTIES: Final = {"gc.enabled": "false"}


def tag_of(cut: int) -> str:
    """Return the tag of the cut with this number."""
    return f"{_TAG}{cut}"


def current_id(metadata: TableMetadata | None) -> int | None:
    """Return the id of the current snapshot; None without one."""
    own: int | None = None if metadata is None else metadata.get("current-snapshot-id")
    return own


def current_snapshot(metadata: TableMetadata) -> Mapping[str, Any] | None:
    """Return the entry of the current snapshot; None without one."""
    own = current_id(metadata)
    entries = [entry for entry in metadata["snapshots"] if entry["snapshot-id"] == own]
    return entries[0] if entries else None


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


def with_tag(metadata: TableMetadata, cut: int) -> TableMetadata:
    """Return metadata in which the current snapshot has the tags of a cut."""
    tag = {"snapshot-id": current_id(metadata), "type": "tag"}
    return metadata | {"refs": metadata["refs"] | {tag_of(cut): tag, LATEST_CUT: tag}}


def without_old_tags(metadata: TableMetadata, cuts: Collection[int]) -> TableMetadata:
    """Return metadata in which no cut but `cuts` has a tag of its own."""
    names = {"main", LATEST_CUT, *map(tag_of, cuts)}
    return metadata | {"refs": {n: ref for n, ref in metadata["refs"].items() if n in names}}


def expired(
    metadata: TableMetadata,
    cuts: Mapping[int, int],
    count: int,
    before: int,
    held: int | None = None,
) -> TableMetadata:
    """Return metadata with the tags of `cuts`, the newest `count` snapshots, and the `held` one.

    `cuts` has the times of cuts. Delta may delete the files of a snapshot that another one has
    replaced `before` this time, milliseconds since 1970; so what was current only then goes, and so
    does the tag of a cut from then.
    """
    snapshots = metadata["snapshots"]
    recent = [number for number, written in cuts.items() if written >= before]
    refs = without_old_tags(metadata, recent)["refs"]
    latest = refs.pop(LATEST_CUT, None)
    ids = {ref["snapshot-id"] for ref in refs.values()}
    ids |= {
        entry["snapshot-id"]
        for entry, later in pairwise(snapshots[-count:])
        if later["timestamp-ms"] >= before
    }
    if held is not None:
        ids.add(held)
    if latest is not None and latest["snapshot-id"] in ids:
        refs[LATEST_CUT] = latest
    schema_ids = {e["schema-id"] for e in snapshots if e["snapshot-id"] in ids}
    schema_ids.add(metadata["current-schema-id"])
    return metadata | {
        "refs": refs,
        "schemas": [s for s in metadata["schemas"] if s["schema-id"] in schema_ids],
        "snapshots": [e for e in snapshots if e["snapshot-id"] in ids],
        "snapshot-log": [e for e in metadata["snapshot-log"] if e["snapshot-id"] in ids],
    }


def expiry_time(path: str, configuration: Mapping[str, str], at: int) -> int:
    """Return the earliest time when a snapshot was replaced whose files Delta keeps, `at` a time.

    `path` is that of the Delta table. A quarter of its retention is for publishing late.
    """
    return at - _kept_ms(path, configuration)


def readable_until(path: str, configuration: Mapping[str, str], metadata: TableMetadata) -> int:
    """Return until when the current snapshot can be read at least, if no other one follows.

    Delta has not replaced its files before it was published. A file that no version replaces stays.
    """
    written: int = metadata["last-updated-ms"]
    return written + _kept_ms(path, configuration)


def _kept_ms(path: str, configuration: Mapping[str, str]) -> int:
    return Retention.of(path, configuration).files * 3 // 4
