"""A mirror whose tasks run here, without Kafka, Spark and a driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from connector.foundation.record_batch import HEADER_BYTES
from connector.foundation.record_reader import RecordColumns, read_records
from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.task import apply_part
from stream_jobs.apply.task_messages import (
    MirrorDescription,
    PartResult,
    RecordMapping,
    TablePart,
    Task,
)
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.column_changes import all_columns
from tests.foundation.test_record_batch import Sample
from tests.foundation.test_record_reader import batch_of
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from collections.abc import Sequence as Many
    from pathlib import Path

    from tests.stream_jobs.mode_models import Change, Row

_SCHEMA_ID = "s"
_NAMES = ("id", "note")


class ModeTable:
    """The mirror of a table with the columns `id`, which may be its key, and `note`."""

    def __init__(self, folder: Path, mode: str, *, has_key: bool = True) -> None:
        """Make an empty mirror in `folder`."""
        columns = (column("id", "int", key=int(has_key)), column("note", "varchar", length=9))
        schema = TableSchema("shop", "items", _SCHEMA_ID, PackedSequence(0, 0), columns)
        storage = LocalStorage(str(folder / "mirror"))
        (folder / "mirror").mkdir()
        own = all_columns(schema, 0, MODES[mode].columns)
        self.delta = DeltaTable.create(storage, "items", Metadata(own))
        self._mode = mode
        self._has_key = has_key
        self._marks: dict[int, PackedSequence] = {}
        self._task = Task(
            cast("Any", None), storage, IndexFolder(str(folder / "index"), 1 << 30), "null", 1 << 20
        )
        mapping = {_SCHEMA_ID: RecordMapping(schema, {})}
        self._mirror = MirrorDescription("items", schema, own, mapping)

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

    def _record(self, change: Change) -> Sample:
        row = change.after or change.before
        assert row is not None
        document = {
            "before": _values(change.before),
            "after": _values(change.after),
            "source": {"ts_ms": change.ts_ms},
        }
        headers = {"cdc.seq": str(change.seq), "cdc.op": change.op, "cdc.schema": _SCHEMA_ID}
        return Sample(
            _json({"id": row[0]}) if self._has_key else None,
            _json(document),
            [(name, text.encode()) for name, text in headers.items()],
            0,
        )


def _values(row: Row | None) -> dict[str, Any] | None:
    # The row of a copy that is gone has the key alone.
    return None if row is None else dict(zip(_NAMES, row, strict=False))


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
