"""The rows of a large data file are written again part by part."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from stream_jobs.apply.modes.current import DELETED
from stream_jobs.apply.task import rewrite_file
from stream_jobs.apply.task_messages import RewrittenFile
from stream_jobs.delta import compaction, parquet_file
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import live_rows, write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.apply.task_messages import Task

ROWS = 1000
COLUMNS = new_columns(
    [("id", pa.int64(), {}), (HI, pa.int64(), {}), (LO, pa.int64(), {}), (DELETED, pa.bool_(), {})]
)


class LargeFile:
    """A file of four row groups, each of which is a part."""

    def __init__(self, storage: LocalStorage, seqs: list[int]) -> None:
        self.storage = storage
        data = pa.table(
            {
                "id": range(ROWS),
                HI: [seqs[number * len(seqs) // ROWS] for number in range(ROWS)],
                LO: [0] * ROWS,
                DELETED: [False] * ROWS,
            },
            pa.schema([(own.name, own.type) for own in COLUMNS]),
        )
        self.file = write_file(storage, "t", COLUMNS, data, key=["id"])

    def rewritten(self, *truncates: Truncate, **facts: Any) -> list[pa.Table]:
        """The rows of each new file."""
        rewrite = replace(
            RewrittenFile("topic", "t", COLUMNS, {}, ("id",), "soft_delete", truncates, self.file),
            **facts,
        )
        task = cast("Task", SimpleNamespace(storage=self.storage))
        result = rewrite_file(task, rewrite)
        assert result.error is None
        assert result.replaced == ((self.file,) if truncates and result.files else ())
        return [live_rows(self.storage, "t", own, rewrite.columns) for own in result.files]


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LargeFile:
    monkeypatch.setattr(parquet_file, "_ROW_GROUP_ROWS", ROWS // 4)
    found = LargeFile(LocalStorage(str(tmp_path)), [9, 9, 3, 9])
    monkeypatch.setattr(compaction, "PART_BYTES", found.file.size // 4 + 1)
    return found


def test_a_new_column_comes_in_parts(large: LargeFile) -> None:
    columns = new_columns([*((own.name, own.type, {}) for own in COLUMNS), ("n", pa.int32(), {})])
    added = {"n": column("n", "int", added_default=5)}
    parts = large.rewritten(columns=columns, added=added)
    assert [part.num_rows for part in parts] == [250] * 4
    assert [number for part in parts for number in part["id"].to_pylist()] == list(range(ROWS))
    assert {number for part in parts for number in part["n"].to_pylist()} == {5}


def test_a_truncate_changes_the_rows_of_one_part_and_no_row_is_lost(large: LargeFile) -> None:
    parts = large.rewritten(Truncate(PackedSequence(5, 0), 1))
    assert [number for part in parts for number in part["id"].to_pylist()] == list(range(ROWS))
    assert [sum(part[DELETED].to_pylist()) for part in parts] == [0, 0, 250, 0]


def test_a_truncate_below_all_rows_leaves_the_file(large: LargeFile) -> None:
    assert large.rewritten(Truncate(PackedSequence(2, 0), 1)) == []
