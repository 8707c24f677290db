"""An Iceberg table of any writer, as its metadata describe it: columns, and files of a snapshot.

Nothing of the rows is read here. Files are named by their URIs, as the metadata have them.

https://iceberg.apache.org/spec/#table-metadata
https://iceberg.apache.org/spec/#manifests
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import orjson
import pyarrow as pa

from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.avro_reader import read_records
from verification.foreign import foreign_errors

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
_DELETED: Final = 2
_VERSION_MAX: Final = 3
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "uuid": pa.binary(16),
    # A column that has only NULL.
    "unknown": pa.string(),
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_FIXED: Final = re.compile(r"fixed\[(\d+)\]")


class Field(NamedTuple):
    """A column of a table."""

    field_id: int
    name: str
    kind: pa.DataType
    default: object  # of rows in files without the column


class IcebergFile(NamedTuple):
    """A file of data, or of deletes."""

    uri: str
    content: int
    file_format: str
    partition: tuple[object, ...]  # the number of the specification, and the values
    rows: int
    sequence: int
    equality_ids: tuple[int, ...] = ()
    # Of a deletion vector: its data file, and where it is in its own file.
    referenced: str | None = None
    offset: int = 0
    length: int = 0

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.file_format == "PUFFIN"

    @property
    def partition_values(self) -> tuple[object, ...]:
        """The values of its partition; none without partitions."""
        return self.partition[1:]


# Returns the content of a file by its URI; raises MirrorError.
Read = Callable[[str], bytes]


def with_snapshot(metadata: Mapping[str, Any], snapshot_id: int) -> dict[str, Any] | None:
    """Return metadata in which a snapshot is the current one; None if they do not have it."""
    for snapshot in metadata.get("snapshots") or ():
        if snapshot["snapshot-id"] == snapshot_id:
            own = {**metadata, "current-snapshot-id": snapshot_id}
            if "schema-id" in snapshot:
                own["current-schema-id"] = snapshot["schema-id"]
            return own
    return None


class IcebergState:
    """A table as one file of metadata describes it."""

    def __init__(self, target: str, metadata: Mapping[str, Any]) -> None:
        """Understand `metadata`; `target` is for people.

        Raises MirrorError for what this reader does not know, and KeyError, TypeError or ValueError
        for no metadata.
        """
        self._target = target
        self._metadata = metadata
        version = metadata["format-version"]
        if version > _VERSION_MAX:
            self._refuse(f"format-version {version}")
        schemas = metadata.get("schemas") or [metadata["schema"]]
        current = metadata.get("current-schema-id", schemas[0].get("schema-id"))
        (schema,) = (each for each in schemas if each.get("schema-id") == current)
        self.fields = [self._field(each) for each in schema["fields"]]
        # Deletes may name a column that was dropped since.
        self._every = {each["id"]: each for some in [*schemas, schema] for each in some["fields"]}
        specs = metadata.get("partition-specs") or [
            {"spec-id": 0, "fields": metadata.get("partition-spec", [])}
        ]
        self._specs = {spec["spec-id"]: spec["fields"] for spec in specs}
        self.aliases = _aliases(metadata)

    @property
    def snapshot_id(self) -> int | None:
        """The current snapshot; None if the table has none yet."""
        own = self._metadata.get("current-snapshot-id")
        return None if own in (None, -1) else int(own)

    @property
    def table_id(self) -> str:
        """The UUID of the table; "" in old metadata without one."""
        return str(self._metadata.get("table-uuid") or "")

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return pa.schema([(field.name, field.kind) for field in self.fields])

    def columns_of(self, ids: Sequence[int]) -> list[Field]:
        """Return columns by their ids, also those that are gone.

        Raises MirrorError for a column that no schema has on its own.
        """
        for own in ids:
            if own not in self._every:
                self._refuse("equality deletes by parts of columns")
        return [self._field(self._every[own]) for own in ids]

    def files(
        self, read: Read, known: Mapping[str, list[IcebergFile]]
    ) -> dict[str, list[IcebergFile]]:
        """Return the files of the current snapshot, by their manifests.

        `known` has manifests that were read before. Raises MirrorError, and what reading a damaged
        file raises.
        """
        if self.snapshot_id is None:
            return {}
        (snapshot,) = (
            each for each in self._metadata["snapshots"] if each["snapshot-id"] == self.snapshot_id
        )
        if "manifest-list" not in snapshot:
            self._refuse("snapshots without a manifest list")
        found = {}
        for row in read_records(read(snapshot["manifest-list"])):
            uri = row["manifest_path"]
            own = known.get(uri)
            found[uri] = list(self._live(row, read(uri))) if own is None else own
        return found

    def constants(self, file: IcebergFile) -> dict[str, pa.Scalar]:
        """Return the values of columns that the file itself may lack."""
        by_id = {field.field_id: field for field in self.fields}
        found = {
            field.name: pa.scalar(field.default, field.kind)
            for field in self.fields
            if field.default is not None
        }
        specification = self._specs[file.partition[0]]
        for part, value in zip(specification, file.partition_values, strict=True):
            field = by_id.get(part.get("source-id"))
            if field is not None and part["transform"] == "identity":
                found[field.name] = pa.scalar(value, field.kind)
        return found

    def _live(self, row: Mapping[str, Any], content: bytes) -> Iterator[IcebergFile]:
        specification = row.get("partition_spec_id") or 0
        for entry in read_records(content):
            if entry["status"] == _DELETED:
                continue
            file = entry["data_file"]
            sequence = entry.get("sequence_number")
            file_format = file["file_format"].upper()
            if file_format not in ("PARQUET", "PUFFIN"):
                self._refuse(f"files of {file_format}")
            yield IcebergFile(
                file["file_path"],
                file.get("content") or DATA,
                file_format,
                (specification, *file["partition"].values()),
                file["record_count"],
                # An added file has the number of its manifest; the first format has none.
                (row.get("sequence_number") or 0) if sequence is None else sequence,
                tuple(file.get("equality_ids") or ()),
                file.get("referenced_data_file"),
                file.get("content_offset") or 0,
                file.get("content_size_in_bytes") or 0,
            )

    def _field(self, field: Mapping[str, Any]) -> Field:
        kind = self._kind(field["name"], field["type"])
        default = field.get("initial-default")
        if default is not None:
            default = self._default(field["name"], default, kind)
        return Field(field["id"], field["name"], kind, default)

    def _kind(self, name: str, kind: Any) -> pa.DataType:
        if isinstance(kind, str):
            if match := _DECIMAL.fullmatch(kind):
                return pa.decimal128(int(match[1]), int(match[2]))
            if match := _FIXED.fullmatch(kind):
                return pa.binary(int(match[1]))
            if kind in _TYPES:
                return _TYPES[kind]
            self._refuse(f"{name}: {kind}")
        if kind["type"] == "struct":
            return pa.struct([(f["name"], self._kind(name, f["type"])) for f in kind["fields"]])
        if kind["type"] == "list":
            return pa.list_(self._kind(name, kind["element"]))
        return pa.map_(self._kind(name, kind["key"]), self._kind(name, kind["value"]))

    def _default(self, name: str, value: Any, kind: pa.DataType) -> object:
        """Return the value that JSON has for a default."""
        if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return bytes.fromhex(value.replace("-", ""))
        if pa.types.is_nested(kind):
            self._refuse(f"{name}: defaults of {kind}")
        own = value.removesuffix("+00:00") if pa.types.is_timestamp(kind) else value
        is_text = isinstance(own, str) and not pa.types.is_string(kind)
        if not is_text:
            return pa.scalar(own, kind).as_py()
        if pa.types.is_timestamp(kind):
            naive = pa.scalar(own).cast(pa.timestamp(kind.unit))
            return naive.cast(pa.int64()).cast(kind).as_py()
        return pa.scalar(own).cast(kind).as_py()

    def _refuse(self, what: str) -> NoReturn:
        raise MirrorError(foreign_errors.FEATURES, target=self._target, features=[what])


def _aliases(metadata: Mapping[str, Any]) -> dict[int, list[str]]:
    """Return the names of columns in files without ids, by their ids."""
    text = (metadata.get("properties") or {}).get("schema.name-mapping.default")
    mapping = orjson.loads(text) if text else []
    return {each["field-id"]: each["names"] for each in mapping if "field-id" in each}
