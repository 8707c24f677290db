from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from connector.errors import CommitConflict
from stream_jobs.delta.compaction import Limits
from stream_jobs.delta.local_storage import LocalStorage
from stream_jobs.delta.retention import Retention
from stream_jobs.delta.table import Change, DeltaTable
from stream_jobs.delta.upkeep import PROPERTIES, Cleaned, Compacted, clean_up, compact
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits(1 << 20, 1 << 20)
HOUR = 3_600_000


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    properties = {"delta.checkpointInterval": "5"}
    return Sample(LocalStorage(str(tmp_path)), "t", PROPERTIES | properties)


def make_old(tmp_path: Path) -> None:
    """Let every file be older than each retention."""
    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))


def test_a_mirror_keeps_six_hours() -> None:
    assert Retention.of("t", PROPERTIES) == (6 * HOUR, 6 * HOUR, 100)


def test_a_table_is_cleaned_up_after_ten_checkpoints(sample: Sample, tmp_path: Path) -> None:
    sample.append(range(100))
    sample.storage.write("t/left-by-a-crash", b"123")
    cleaned = []
    for number in range(60):
        make_old(tmp_path)
        sample.append([number])
        cleaned.append(clean_up(sample.table))
    assert [place for place, found in enumerate(cleaned) if any(found)] == [48]
    # The last checkpoint is new: the one before it is the oldest that has to stay.
    assert cleaned[48] == Cleaned(45 + 8, 1, 3)
    assert len(list(tmp_path.glob("t/_delta_log/*.checkpoint.parquet"))) == 4
    assert len(sample.live()) == 160


def test_small_files_become_one_and_a_busy_table_is_left_alone(sample: Sample) -> None:
    for number in range(7):
        sample.append([number])
    assert compact(sample.table, ["id"], LIMITS) == Compacted(0, 0, 0)
    sample.append([7])
    other = DeltaTable.open(sample.storage, sample.path)
    assert other is not None
    other.commit(Change(domains={"a": "b"}), "WRITE")
    assert compact(sample.table, ["id"], LIMITS) == Compacted(0, 0, 0)
    with pytest.raises(CommitConflict):
        sample.append([8])
    assert sample.table.refresh() == other.snapshot
    size = sum(file.size for file in sample.table.snapshot.files.values())
    found = compact(sample.table, ["id"], LIMITS)
    (file,) = sample.table.snapshot.files.values()
    assert found == Compacted(8, 1, size + file.size)
    assert sample.ids() == list(range(8))


def test_a_file_whose_rows_are_all_dead_becomes_nothing(sample: Sample) -> None:
    for _ in range(8):
        sample.append([])
    assert compact(sample.table, ["id"], LIMITS).new_files == 0
    assert sample.table.snapshot.files == {}
    assert sample.ids() == []
