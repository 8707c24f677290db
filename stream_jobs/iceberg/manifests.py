"""Manifests: which files a snapshot has. A manifest list names manifests, and a manifest files.

Only a manifest that loses a file is written again: its other files move to the new manifest of the
snapshot. If there are too many manifests, all files move.

https://iceberg.apache.org/spec/#manifests
https://iceberg.apache.org/spec/#manifest-lists
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from stream_jobs.iceberg.avro import ENCODED, Codec
from stream_jobs.iceberg.avro_reader import AvroType, read_file
from stream_jobs.iceberg.bounds import ColumnMetrics, serialize_partition
from stream_jobs.iceberg.schema import PartitionField

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, DELETES = 0, 1
# Of one kind; more are merged into one.
_MANIFESTS_MAX: Final = 16
# What reading a file of somebody else, or half of one of ours, ends with.
UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, zlib.error)


def _field(name: str, own: int, kind: AvroType) -> dict[str, Any]:
    """Return a field of a record; `?` after a type makes it one that may be null."""
    if isinstance(kind, str) and kind.endswith("?"):
        kind = ["null", kind[:-1]]
    return {"name": name, "type": kind, "field-id": own}


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _map(key: int, own: int, kind: str) -> AvroType:
    """Return the type of a map by ids of columns, or null."""
    pair = _record(f"k{key}_v{own}", _field("key", key, "int"), _field("value", own, kind))
    return ["null", {"type": "array", "items": pair, "logicalType": "map"}]


_METRICS: Final = (
    _field("value_counts", 109, _map(119, 120, "long")),
    _field("null_value_counts", 110, _map(121, 122, "long")),
    _field("lower_bounds", 125, _map(126, 127, "bytes")),
    _field("upper_bounds", 128, _map(129, 130, "bytes")),
)
_METRICS_CODEC: Final = Codec(_record("metrics", *_METRICS))


def encoded_metrics(metrics: ColumnMetrics) -> bytes:
    """Return metrics as all manifests have them: a file keeps them while it moves."""
    return _METRICS_CODEC.encoded(metrics)


# Row id, data file, and place in a file: the fields after the metrics.
_PLACE_FIELDS: Final = 4
_NO_METRICS: Final = encoded_metrics(ColumnMetrics())


class DataFileEntry(NamedTuple):
    """The struct `data_file` of a manifest: a data file, or the vector of one."""

    content: int
    uri: str
    file_format: str
    partition: tuple[Any, ...]
    rows: int  # of a vector: dead ones
    size: int
    metrics: bytes = b""  # encoded; a vector has none
    first_row_id: int | None = None
    # Of a vector: its data file, and where it is in its own file.
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None

    @property
    def key(self) -> str:
        """The URI of the data file."""
        return self.referenced or self.uri

    def without_metrics(self) -> "DataFileEntry":
        """Return what a manifest says of a file that is gone."""
        return self._replace(metrics=self.metrics and _NO_METRICS)


class LiveFile(NamedTuple):
    """A file of a snapshot."""

    snapshot_id: int  # that added it
    sequence: int
    file: DataFileEntry
    # Its row in manifests after the first one, and what has encoded that.
    moved: tuple[Codec, bytes] | None = None

    def encoded(self, codec: Codec) -> "LiveFile":
        """Return the same file, with its row for manifests of `codec`."""
        if self.moved is not None and self.moved[0] is codec:
            return self
        row = EXISTING, self.snapshot_id, self.sequence, self.sequence, self.file
        return self._replace(moved=(codec, codec.encoded(row)))


def _entry(partition: tuple[PartitionField, ...], *metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the type of a row of a manifest."""
    fields = [_field(field.name, field.field_id, ["null", field.avro_type]) for field in partition]
    return _record(
        "manifest_entry",
        _field("status", 0, "int"),
        _field("snapshot_id", 1, "long?"),
        _field("sequence_number", 3, "long?"),
        _field("file_sequence_number", 4, "long?"),
        _field(
            "data_file",
            2,
            _record(
                "r2",
                _field("content", 134, "int"),
                _field("file_path", 100, "string"),
                _field("file_format", 101, "string"),
                _field("partition", 102, _record("r102", *fields)),
                _field("record_count", 103, "long"),
                _field("file_size_in_bytes", 104, "long"),
                *metrics,
                _field("first_row_id", 142, "long?"),
                _field("referenced_data_file", 143, "string?"),
                _field("content_offset", 144, "long?"),
                _field("content_size_in_bytes", 145, "long?"),
            ),
        ),
    )


@lru_cache(maxsize=1024)
def _manifest_codec(partition: tuple[PartitionField, ...], content: int) -> Codec:
    # Vectors have no metrics.
    metrics = _METRICS if content == DATA else ()
    return Codec(_entry(partition, *metrics), _entry(partition, {"type": ENCODED}))


_SUMMARY: Final = _record(
    "r508",
    _field("contains_null", 509, "boolean"),
    _field("contains_nan", 518, "boolean?"),
    _field("lower_bound", 510, "bytes?"),
    _field("upper_bound", 511, "bytes?"),
)
_LIST: Final = Codec(
    _record(
        "manifest_file",
        _field("manifest_path", 500, "string"),
        _field("manifest_length", 501, "long"),
        _field("partition_spec_id", 502, "int"),
        _field("content", 517, "int"),
        _field("sequence_number", 515, "long"),
        _field("min_sequence_number", 516, "long"),
        _field("added_snapshot_id", 503, "long"),
        _field("added_files_count", 504, "int"),
        _field("existing_files_count", 505, "int"),
        _field("deleted_files_count", 506, "int"),
        _field("added_rows_count", 512, "long"),
        _field("existing_rows_count", 513, "long"),
        _field("deleted_rows_count", 514, "long"),
        _field(
            "partitions", 507, ["null", {"type": "array", "items": _SUMMARY, "element-id": 508}]
        ),
        _field("first_row_id", 520, "long?"),
    )
)


class ManifestRow(NamedTuple):
    """A row of a manifest list."""

    uri: str
    size: int
    spec_id: int
    content: int
    sequence: int
    lowest_sequence: int
    snapshot_id: int
    added: int
    existing: int
    deleted: int
    added_rows: int
    existing_rows: int
    deleted_rows: int
    partitions: list[tuple[Any, ...]] | None
    first_row_id: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest, and its live files by the URI of the data file."""

    row: ManifestRow
    live: Mapping[str, LiveFile]
    # Bytes of the live files.
    size: int


class NewSnapshot(NamedTuple):
    """What all files of a new snapshot share."""

    snapshot_id: int
    sequence: int
    folder: str  # the URI of the folder of metadata
    token: str  # makes the names of its files unique
    schema: Mapping[str, Any]
    partition: tuple[PartitionField, ...]

    @property
    def head(self) -> dict[str, str]:
        """The metadata of a manifest."""
        return {
            "schema": orjson.dumps(self.schema).decode(),
            "schema-id": str(self.schema["schema-id"]),
            "partition-spec": orjson.dumps([f.description() for f in self.partition]).decode(),
            "partition-spec-id": "0",
            "format-version": "3",
        }


def live_files(manifests: Iterable[Manifest]) -> dict[str, LiveFile]:
    """Return the live files of manifests of one kind, by the URI of the data file."""
    return {key: entry for manifest in manifests for key, entry in manifest.live.items()}


class NextManifests(NamedTuple):
    """The manifests of the next snapshot, of one kind, and the files to write for them, by name."""

    manifests: list[Manifest]
    files: dict[str, bytes]


def next_manifests(
    content: int,
    manifests: Sequence[Manifest],
    snapshot: NewSnapshot,
    gone: AbstractSet[str],
    new: Sequence[DataFileEntry],
    next_row_id: int = 0,
) -> NextManifests:
    """Return the manifests after `manifests`, without `gone`, and with `new` files.

    New data files get row ids from `next_row_id` on.
    """
    kept: list[Manifest] = []
    existing: list[LiveFile] = []
    deleted: list[LiveFile] = []
    for manifest in manifests:
        lost = gone & manifest.live.keys()
        if lost or len(manifests) >= _MANIFESTS_MAX:
            deleted += (manifest.live[key] for key in lost)
            existing += (entry for key, entry in manifest.live.items() if key not in lost)
        elif manifest.live:
            kept.append(manifest)
    if not new and not existing and not deleted:
        return NextManifests(kept, {})
    own, sequence = snapshot.snapshot_id, snapshot.sequence
    codec = _manifest_codec(snapshot.partition, content)
    existing = [entry.encoded(codec) for entry in existing]
    head = snapshot.head | {"content": ("data", "deletes")[content]}
    name = f"{snapshot.token}-m{content}.avro"
    written = codec.file(head, _rows(codec, own, new, existing, deleted))
    live = {entry.file.key: entry for entry in existing}
    live |= _with_row_ids([LiveFile(own, sequence, file) for file in new], next_row_id)
    groups = new, [entry.file for entry in existing], [entry.file for entry in deleted]
    added, left, removed = (sum(file.rows for file in group) for group in groups)
    row = ManifestRow(
        f"{snapshot.folder}/{name}",
        len(written),
        0,
        content,
        sequence,
        min((entry.sequence for entry in live.values()), default=sequence),
        own,
        len(new),
        len(existing),
        len(deleted),
        added,
        left,
        removed,
        [
            _summary(field, [file.partition[place] for group in groups for file in group])
            for place, field in enumerate(snapshot.partition)
        ]
        or None,
        next_row_id if content == DATA else None,
    )
    return NextManifests([*kept, _manifest(row, live)], {name: written})


def _rows(
    codec: Codec,
    snapshot_id: int,
    new: Iterable[DataFileEntry],
    existing: Iterable[LiveFile],
    deleted: Iterable[LiveFile],
) -> list[bytes]:
    rows = [codec.encoded((ADDED, snapshot_id, None, None, file)) for file in new]
    rows += [entry.moved[1] for entry in existing if entry.moved is not None]
    for _, sequence, file, _ in deleted:
        row = DELETED, snapshot_id, sequence, sequence, file.without_metrics()
        rows.append(codec.encoded(row))
    return rows


def _manifest(row: ManifestRow, live: Mapping[str, LiveFile]) -> Manifest:
    return Manifest(row, live, sum(entry.file.size for entry in live.values()))


def _with_row_ids(entries: Iterable[LiveFile], first: int | None) -> dict[str, LiveFile]:
    """Return entries by key; data files get the row ids that they inherit from their manifest."""
    live, row_id = {}, first or 0
    for entry in entries:
        file = entry.file
        if file.content == DATA and file.first_row_id is None:
            file, row_id = file._replace(first_row_id=row_id), row_id + file.rows
        live[file.key] = entry._replace(file=file)
    return live


def _summary(field: PartitionField, values: Sequence[Any]) -> tuple[Any, ...]:
    known = [value for value in values if value is not None]
    if not known:
        return True, False, None, None
    if any(isinstance(value, Decimal) for value in known):
        # Files of the time before the type became wider may have integers.
        known = [Decimal(value) for value in known]
    bounds = (serialize_partition(field.kind, pick(known)) for pick in (min, max))
    return len(known) < len(values), False, *bounds


def manifest_list(snapshot: NewSnapshot, manifests: Iterable[Manifest]) -> bytes:
    """Return the file that names `manifests`."""
    head = {
        "snapshot-id": str(snapshot.snapshot_id),
        "sequence-number": str(snapshot.sequence),
        "format-version": "3",
    }
    return _LIST.file(head, [_LIST.encoded(manifest.row) for manifest in manifests])


def read_manifest_list(content: bytes) -> list[ManifestRow]:
    """Return the rows of a file that `manifest_list` returned; raises one of `UNREADABLE`."""
    return [ManifestRow(*row) for row in read_file(content)]


def read_manifest(row: ManifestRow, content: bytes) -> Manifest:
    """Return the manifest that `row` names; raises one of `UNREADABLE` for another file."""
    entries = []
    for status, snapshot_id, sequence, _, file in read_file(content):
        if status != DELETED:
            # An added file has the number of its manifest.
            inherited = row.sequence if sequence is None else sequence
            kind, uri, file_format, partition, rows, size, *metrics = file[:-_PLACE_FIELDS]
            own = DataFileEntry(
                kind,
                uri,
                file_format,
                partition,
                rows,
                size,
                encoded_metrics(ColumnMetrics(*metrics)) if row.content == DATA else b"",
                *file[-_PLACE_FIELDS:],
            )
            entries.append(LiveFile(snapshot_id, inherited, own))
    return _manifest(row, _with_row_ids(entries, row.first_row_id))
