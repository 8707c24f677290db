"""A mirror whose tasks run here, without Kafka, Spark and a driver."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from connector.foundation.record_batch import HEADER_BYTES
from connector.foundation.record_reader import RecordColumns, read_records
from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.task import apply_part, compact_files, rewrite_file
from stream_jobs.apply.task_messages import (
    CompactedFiles,
    MirrorDescription,
    PartResult,
    RecordMapping,
    RewrittenFile,
    TablePart,
    Task,
)
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.source.sequence import PackedSequence, Truncate
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.column_changes import all_columns, retained_columns
from tests.foundation.test_record_batch import Sample
from tests.foundation.test_record_reader import batch_of
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from collections.abc import Sequence as Many
    from pathlib import Path

    from connector.foundation.contract import SchemaColumn
    from stream_jobs.delta.columns import Column
    from tests.stream_jobs.mode_models import Change, Row


class ModeTable:
    """The mirror of a table with the columns `id`, which may be its key, and `note`, at first."""

    def __init__(self, folder: Path, mode: str, *, has_key: bool = True) -> None:
        """Make an empty mirror in `folder`."""
        columns = (column("id", "int", key=int(has_key)), column("note", "varchar", length=9))
        schema = TableSchema("shop", "items", "s", PackedSequence(0, 0), columns)
        storage = LocalStorage(str(folder / "mirror"))
        (folder / "mirror").mkdir()
        own = all_columns(schema, 0, MODES[mode].columns)
        self.delta = DeltaTable.create(storage, "items", Metadata(own))
        self._mode = mode
        self._marks: dict[int, PackedSequence] = {}
        self._task = Task(
            cast("Any", None), storage, IndexFolder(str(folder / "index"), 1 << 30), "null", 1 << 20
        )
        self._mirror = _mirror(schema, own)

    def alter(self, *columns: SchemaColumn) -> None:
        """Give the table other columns, of which those of its key come first.

        The mirror keeps columns.
        """
        before = self._mirror.schema
        schema = replace(before, schema_id=f"{before.schema_id}s", columns=columns)
        metadata = self.delta.snapshot.metadata
        change = retained_columns(metadata.columns, [before, schema], (), metadata.last_id)
        self._mirror = _mirror(schema, change.columns)
        self.delta.commit(TableCommit(metadata=replace(metadata, columns=change.columns)), "ALTER")

    def truncate(self, change: Change) -> None:
        """Do what the driver does in a mode in which a truncate changes rows."""
        truncates = (Truncate(PackedSequence.pack(change.seq), change.ts_ms * 1000),)
        mirror = self._mirror
        for file in self.delta.snapshot.files.values():
            rewrite = RewrittenFile(
                "topic",
                "items",
                mirror.columns,
                {},
                mirror.schema.key,
                self._mode,
                truncates,
                file,
            )
            result = rewrite_file(self._task, rewrite)
            assert result.error is None
            self.delta.commit(TableCommit(new=result.files, removed=result.replaced), "TRUNCATE")

    def apply(self, changes: Many[Change], floor: PackedSequence | None = None) -> PartResult:
        """Apply changes as one task does, and commit what it returns; `floor` as in `TablePart`."""
        records = [self._record(change) for change in changes]
        columns = RecordColumns()
        read_records(batch_of(records), HEADER_BYTES, len(records), 0, 0, len(records), columns)
        span = OffsetRange("topic", 0, 0, len(records))
        part = TablePart(
            "topic",
            (span,),
            self._marks,
            floor,
            None,
            self._mirror,
            tuple(self.delta.snapshot.files.values()),
            mode=self._mode,
        )
        result = apply_part(self._task, part, [(span, columns)])
        assert result.error is None
        assert result.is_applied
        self._marks |= result.highest
        self.delta.commit(TableCommit(new=result.files, dead=result.dead), "MERGE")
        return result

    def rows(self) -> list[dict[str, Any]]:
        """The rows that are not dead."""
        storage, snapshot = self._task.storage, self.delta.snapshot
        return [
            row
            for file in snapshot.files.values()
            for row in live_rows(storage, "items", file, snapshot.columns).to_pylist()
        ]

    def compact(self) -> None:
        """Write all rows into one file."""
        mirror, files = self._mirror, tuple(self.delta.snapshot.files.values())
        compaction = CompactedFiles(
            "topic", "items", files, mirror.columns, mirror.schema.key, clustering=()
        )
        result = compact_files(self._task, compaction)
        assert result.error is None
        self.delta.commit(TableCommit(new=result.files, removed=result.replaced), "OPTIMIZE")

    def _record(self, change: Change) -> Sample:
        row = change.after or change.before
        assert row is not None
        schema = self._mirror.schema
        document = {
            "before": self._values(change.before),
            "after": self._values(change.after),
            "source": {"ts_ms": change.ts_ms},
        }
        headers = {
            "cdc.seq": str(change.seq),
            "cdc.op": change.op,
            "cdc.schema": schema.schema_id,
        }
        return Sample(
            _json(dict(zip(schema.key, row, strict=False))) if schema.key else None,
            _json(document),
            [(name, text.encode()) for name, text in headers.items()],
            0,
        )

    def _values(self, row: Row | None) -> dict[str, Any] | None:
        # The row of a copy that is gone has the key alone.
        names = self._mirror.schema.by_name
        return None if row is None else dict(zip(names, row, strict=False))


def _mirror(schema: TableSchema, columns: tuple[Column, ...]) -> MirrorDescription:
    return MirrorDescription(
        "items", schema, columns, {schema.schema_id: RecordMapping(schema, {})}
    )


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
