"""Iceberg tables that PyIceberg writes, and deletes of each kind, which it does not write."""

from __future__ import annotations

import copy
import io
import itertools
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.iceberg.puffin import Vector, puffin_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FIELD_ID = "PARQUET:field_id"
_PATH_ID, _POSITION_ID = 2147483546, 2147483545


class _FolderCatalog(NoopCatalog):
    """Numbers the metadata of one table, as catalogs do."""

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        del requirements
        number = next(self.numbers)
        metadata = update_table_metadata(table.metadata, updates)
        location = f"{table.location()}/metadata/{number:05}-{uuid.uuid4()}.metadata.json"
        MetastoreCatalog._write_metadata(metadata, table.io, location)
        facts: dict[str, Any] = {"metadata": metadata, "metadata-location": location}
        return CommitTableResponse(**facts)

    def load_table(self, identifier: Any) -> Table:
        del identifier
        newest = max((self.folder / "metadata").glob("*.metadata.json"))
        return opened(self.folder, f"file://{newest}")

    numbers = itertools.count(1)
    folder: Path


def made(
    folder: Path, schema: Schema, spec: Any = UNPARTITIONED_PARTITION_SPEC, version: int = 2
) -> Table:
    """Return a new table in a folder."""
    metadata = new_table_metadata(
        schema, spec, UNSORTED_SORT_ORDER, f"file://{folder}", {"format-version": str(version)}
    )
    location = f"file://{folder}/metadata/00000-{uuid.uuid4()}.metadata.json"
    (folder / "metadata").mkdir(parents=True, exist_ok=True)
    MetastoreCatalog._write_metadata(metadata, PyArrowFileIO(), location)
    return opened(folder, location)


def opened(folder: Path, location: str) -> Table:
    """Return the table of a file of metadata."""
    files, catalog = PyArrowFileIO(), _FolderCatalog("folder")
    catalog.folder = folder
    metadata = FromInputFile.table_metadata(files.new_input(location))
    return Table(("shop", folder.name), metadata, location, files, catalog)


@dataclass
class DeleteWriter:
    """Commits deletes, as Flink, Spark and Trino do."""

    folder: Path

    def data_files(self) -> list[str]:
        """The data files of the current snapshot, in the order of their names."""
        document = self._document()
        _, manifests = self._read(self._snapshot(document)["manifest-list"])
        files = []
        for manifest in manifests:
            _, entries = self._read(manifest["manifest_path"])
            files += [entry["data_file"]["file_path"] for entry in entries]
        return sorted(files)

    def positions(self, uri: str, places: Sequence[int]) -> None:
        """Delete rows of a data file by a file of their places."""
        fields = [
            pa.field("file_path", pa.string(), metadata={_FIELD_ID: str(_PATH_ID)}),
            pa.field("pos", pa.int64(), metadata={_FIELD_ID: str(_POSITION_ID)}),
        ]
        data = pa.table([[uri] * len(places), list(places)], schema=pa.schema(fields))
        self._commit(self._parquet(data), {"content": 1, "record_count": len(places)})

    def vector(self, uri: str, places: Sequence[int]) -> None:
        """Delete rows of a data file by a deletion vector."""
        content = deletion_vectors.encode(BitMap(places))
        written, (place,) = puffin_file([Vector(uri, content, len(places))])
        path = self.folder / "data" / f"{uuid.uuid4()}.puffin"
        path.write_bytes(written)
        facts = {
            "content": 1,
            "record_count": len(places),
            "file_format": "PUFFIN",
            "referenced_data_file": uri,
            "content_offset": place.offset,
            "content_size_in_bytes": place.length,
        }
        self._commit(path, facts, vector_fields=True)

    def values(self, data: pa.Table, ids: Sequence[int]) -> None:
        """Delete the rows of older files that have these values in columns with these ids."""
        fields = [
            field.with_metadata({_FIELD_ID: str(own)})
            for field, own in zip(data.schema, ids, strict=True)
        ]
        facts = {"content": 2, "record_count": data.num_rows, "equality_ids": list(ids)}
        self._commit(self._parquet(data.cast(pa.schema(fields))), facts)

    def _parquet(self, data: pa.Table) -> Path:
        path = self.folder / "data" / f"{uuid.uuid4()}.parquet"
        pq.write_table(data, path)
        return path

    def _document(self) -> dict[str, Any]:
        newest = max((self.folder / "metadata").glob("*.metadata.json"))
        document: dict[str, Any] = json.loads(newest.read_text())
        return document

    @staticmethod
    def _snapshot(document: dict[str, Any]) -> dict[str, Any]:
        own = document["current-snapshot-id"]
        (snapshot,) = (each for each in document["snapshots"] if each["snapshot-id"] == own)
        known: dict[str, Any] = snapshot
        return known

    @staticmethod
    def _read(uri: str) -> tuple[Any, list[Any]]:
        with open(uri.removeprefix("file://"), "rb") as file:  # noqa: PTH123
            reader = fastavro.reader(file)
            return reader, list(reader)

    def _write(self, head: dict[str, str], schema: Any, records: list[Any], name: str) -> str:
        out = io.BytesIO()
        metadata = {key: text for key, text in head.items() if "avro." not in key}
        fastavro.writer(out, schema, records, codec="deflate", metadata=metadata)
        (self.folder / "metadata" / name).write_bytes(out.getvalue())
        return f"file://{self.folder}/metadata/{name}"

    def _commit(self, path: Path, facts: dict[str, Any], *, vector_fields: bool = False) -> None:
        """Add a file of deletes, by a snapshot of its own."""
        document = self._document()
        snapshot = self._snapshot(document)
        head, manifests = self._read(snapshot["manifest-list"])
        template = next(each for each in manifests if each["content"] == 0)
        own_head, entries = self._read(template["manifest_path"])
        schema = copy.deepcopy(own_head.writer_schema)
        if vector_fields:
            _add_vector_fields(schema)
        file = {
            name: None if isinstance(value, list | dict) and name != "partition" else value
            for name, value in entries[0]["data_file"].items()
        }
        file |= {"file_path": f"file://{path}", "file_size_in_bytes": path.stat().st_size, **facts}
        number, own = document["last-sequence-number"] + 1, snapshot["snapshot-id"] + 1
        entry = {**entries[0], "status": 1, "snapshot_id": own, "data_file": file}
        entry |= {"sequence_number": None, "file_sequence_number": None}
        token = uuid.uuid4()
        uri = self._write(
            {**own_head.metadata, "content": "deletes"}, schema, [entry], f"{token}.avro"
        )
        row = {**template, "manifest_path": uri, "content": 1, "added_snapshot_id": own}
        row |= {"sequence_number": number, "min_sequence_number": number}
        row |= {"manifest_length": (self.folder / "metadata" / f"{token}.avro").stat().st_size}
        row |= {"added_files_count": 1, "existing_files_count": 0, "deleted_files_count": 0}
        row |= {"added_rows_count": facts["record_count"], "existing_rows_count": 0}
        listed = self._write(
            head.metadata, head.writer_schema, [*manifests, row], f"snap-{token}.avro"
        )
        new = {**snapshot, "snapshot-id": own, "sequence-number": number, "manifest-list": listed}
        document["snapshots"].append(new)
        document |= {"current-snapshot-id": own, "last-sequence-number": number}
        document["refs"]["main"]["snapshot-id"] = own
        name = f"{next(_FolderCatalog.numbers):05}-{token}.metadata.json"
        (self.folder / "metadata" / name).write_text(json.dumps(document))


def _add_vector_fields(schema: Any) -> None:
    """Add the fields that the third format has for deletion vectors."""
    (data_file,) = (f for f in schema["fields"] if f["name"] == "data_file")
    known = {field["name"] for field in data_file["type"]["fields"]}
    for name, kind, own in (
        ("referenced_data_file", "string", 143),
        ("content_offset", "long", 144),
        ("content_size_in_bytes", "long", 145),
    ):
        if name not in known:
            field = {"name": name, "type": ["null", kind], "default": None, "field-id": own}
            data_file["type"]["fields"].append(field)
