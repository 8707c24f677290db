from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.housekeeping import (
    Retention,
    VacuumResult,
    clean_log,
    is_checkpoint_due,
    vacuum,
    write_checkpoint,
)
from stream_jobs.delta.log import now
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, MirrorError
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.fixture(autouse=True)
def vectors_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the smallest vector is within the log."""
    monkeypatch.setattr(deletion_vectors, "WITHIN_MAX", 0)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    properties = {
        "delta.deletedFileRetentionDuration": "interval 2 days",
        "delta.logRetentionDuration": "interval 3 days",
        "delta.checkpointInterval": "4",
    }
    return Sample(LocalStorage(str(tmp_path)), "t", properties)


def files(tmp_path: Path) -> int:
    return len([path for path in tmp_path.glob("t/*") if path.is_file()])


def tombstones(tmp_path: Path, version: int) -> list[str]:
    path = tmp_path / f"t/_delta_log/{version:020d}.checkpoint.parquet"
    rows = pq.read_table(path)["remove"].drop_null().to_pylist()
    return [row["path"] for row in rows]


def test_a_checkpoint_is_due_after_the_interval(sample: Sample) -> None:
    due = []
    for number in range(9):
        sample.append([number])
        due.append(is_checkpoint_due(sample.table))
        if due[-1]:
            write_checkpoint(sample.table)
    assert due == [False, False, False, True, False, False, False, True, False]


def test_a_checkpoint_that_another_writer_has_written_is_kept(
    sample: Sample, tmp_path: Path
) -> None:
    other = DeltaTable.open(sample.storage, sample.path)
    assert other is not None
    sample.append([1])
    sample.append([2])
    write_checkpoint(sample.table)
    other._log.refresh(other.snapshot)
    write_checkpoint(other)
    names = [path.name for path in tmp_path.glob("t/_delta_log/*.parquet")]
    assert names == ["00000000000000000002.checkpoint.parquet"]
    assert json.loads((tmp_path / "t/_delta_log/_last_checkpoint").read_text())["version"] == 2


def test_a_checkpoint_has_the_removed_files_of_the_retention(
    sample: Sample, tmp_path: Path
) -> None:
    first, second = sample.append(range(3)), sample.append(range(3, 6))
    sample.kill(**{first.path: [0, 1, 2]})
    write_checkpoint(sample.table)
    assert tombstones(tmp_path, 3) == [first.path]
    sample.kill(**{second.path: [0, 1, 2]})
    write_checkpoint(sample.table)
    assert tombstones(tmp_path, 4) == [first.path, second.path]
    sample.append([9])
    write_checkpoint(sample.table, now() + 3 * DAY)
    assert tombstones(tmp_path, 5) == []


def test_a_checkpoint_has_one_removed_file_for_each_file_that_vacuum_finds(
    sample: Sample, tmp_path: Path
) -> None:
    first, second = sample.append(range(9)), sample.append(range(9))
    for position in range(8):
        sample.kill(**{first.path: [position], second.path: [position]})
    # Each commit has removed both files; seven `.bin` files of theirs are not used any more.
    write_checkpoint(sample.table)
    assert len(tombstones(tmp_path, 10)) == 7
    sample.kill(**{first.path: [8]})
    write_checkpoint(sample.table)
    assert sorted(tombstones(tmp_path, 11)).count(first.path) == 1
    assert vacuum(sample.table, 99, now() + DAY) == VacuumResult(0, 0)
    assert vacuum(sample.table, 99, now() + 3 * DAY).files == 8
    assert sample.ids() == [8]


def test_a_file_that_is_restored_is_not_removed_in_the_checkpoint(
    sample: Sample, tmp_path: Path
) -> None:
    file = sample.append(range(3))
    sample.kill(**{file.path: [0]})
    dead = sample.table.snapshot.files[file.path]
    sample.table.commit(TableCommit(removed=[dead]), "DELETE")
    sample.table.commit(TableCommit(new=[dead]), "RESTORE")
    write_checkpoint(sample.table)
    assert tombstones(tmp_path, 4) == []
    assert sample.ids() == [1, 2]
    assert vacuum(sample.table, 9, now() + 9 * DAY) == VacuumResult(0, 0)


def test_the_log_is_cleaned_up_to_an_old_checkpoint(sample: Sample, tmp_path: Path) -> None:
    for number in range(10):
        sample.append([number])
        if number in {3, 7}:
            write_checkpoint(sample.table)
    log = tmp_path / "t/_delta_log"
    assert clean_log(sample.table) == 0
    assert clean_log(sample.table, now() + 2 * DAY) == 0
    # Version 8 is the newest that can be read from a checkpoint.
    assert clean_log(sample.table, now() + 4 * DAY) == 9
    assert sorted(path.name[:20].lstrip("0") for path in log.glob("0*")) == ["10", "8", "8", "9"]
    assert sample.ids() == list(range(10))
    sample.append([10])
    assert sample.ids() == list(range(11))
    assert clean_log(sample.table, now() + 4 * DAY) == 0


def test_vacuum_deletes_what_no_version_in_the_retention_has(
    sample: Sample, tmp_path: Path
) -> None:
    first, second = sample.append(range(3)), sample.append(range(3, 6))
    sample.kill(**{first.path: [0], second.path: [0]})
    old = sample.table.snapshot
    sample.kill(**{first.path: [1, 2]})
    sample.kill(**{second.path: [1]})
    assert files(tmp_path) == 4
    for checkpoint in (False, True):
        if checkpoint:
            write_checkpoint(sample.table)
        assert vacuum(sample.table, 99, now() + DAY) == VacuumResult(0, 0)
        for file in old.files.values():  # the version before can be read
            assert live_rows(sample.storage, "t", file, old.columns).num_rows == 2
    later = now() + 2 * DAY + 1
    assert vacuum(sample.table, 1, later).files == 1
    assert vacuum(sample.table, 99, later).files == 1  # the first vectors
    assert files(tmp_path) == 2
    assert sample.ids() == [5]


def test_vacuum_deletes_what_a_crash_has_left_and_nothing_that_is_young(
    sample: Sample,
) -> None:
    sample.append([1])
    for name in ("part-left.parquet", "_x/part", ".part.parquet.crc", f".p.{'0' * 32}.tmp"):
        sample.storage.write(f"t/{name}", b"12")
    sample.storage.write(f"t/_delta_log/.0.json.{'f' * 32}.tmp", b"12")
    sample.storage.write("t/a=b/_c=d/part", b"12")
    assert vacuum(sample.table, 99) == VacuumResult(0, 0)
    assert vacuum(sample.table, 99, now() + 3 * DAY) == VacuumResult(4, 8)
    assert sample.storage.read("t/_x/part") == b"12"
    assert sample.storage.read("t/.part.parquet.crc") == b"12"
    assert sample.ids() == [1]


def test_a_short_retention_does_not_delete_files_of_a_running_batch(sample: Sample) -> None:
    properties = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
    metadata = sample.table.snapshot.metadata.with_properties(properties)
    sample.table.commit(TableCommit(metadata=metadata), "SET TBLPROPERTIES")
    file = sample.write([1])
    assert vacuum(sample.table, 99, now() + HOUR // 2) == VacuumResult(0, 0)
    sample.table.commit(TableCommit(new=[file]), "WRITE")
    assert sample.ids() == [1]


def test_a_writer_that_slept_while_the_log_was_cleaned_is_told(sample: Sample) -> None:
    sleeper = DeltaTable.open(sample.storage, sample.path)
    assert sleeper is not None
    for number in range(6):
        sample.append([number])
    write_checkpoint(sample.table)
    assert clean_log(sample.table, now() + 4 * DAY) == 6
    # Version 1 is free again, but it is not the next one.
    assert sample.storage.read("t/_delta_log/00000000000000000001.json") is None
    with pytest.raises(CommitConflict):
        sleeper.commit(TableCommit(new=[sample.write([9])]), "WRITE")
    assert sleeper.refresh() == sample.table.snapshot
    sleeper.commit(TableCommit(new=[sample.write([6])]), "WRITE")
    assert sample.ids() == list(range(7))


def test_an_interrupted_clean_up_is_repeated(sample: Sample, tmp_path: Path) -> None:
    for number in range(4):
        sample.append([number])
    write_checkpoint(sample.table)
    (tmp_path / "t/_delta_log/00000000000000000000.json").unlink()
    (tmp_path / "t/_delta_log/00000000000000000001.json").unlink()
    assert sample.ids() == [0, 1, 2, 3]
    assert clean_log(sample.table, now() + 4 * DAY) == 2
    assert sample.ids() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("interval 1 week", 7 * DAY),
        ("interval 7 days", 7 * DAY),
        ("INTERVAL 1 DAY 2 HOURS", DAY + 2 * HOUR),
        ("36 hours", 36 * HOUR),
        ("interval 100 minutes 1 second 1 millisecond", 6_001_001),
        ("interval 5 minutes", HOUR),
    ],
)
def test_a_retention_is_read_like_delta_reads_it(text: str, milliseconds: int) -> None:
    found = Retention.of("t", {"delta.logRetentionDuration": text})
    assert found == (milliseconds, 7 * DAY, 10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.logRetentionDuration", "interval 1 month"),
        ("delta.deletedFileRetentionDuration", "a week"),
        ("delta.logRetentionDuration", "interval 1"),
        ("delta.checkpointInterval", "0"),
        ("delta.checkpointInterval", "ten"),
    ],
)
def test_a_property_that_is_not_understood_is_named(name: str, value: str) -> None:
    with pytest.raises(MirrorError) as error:
        Retention.of("shop/t", {name: value})
    assert str(error.value) == (
        f"[M514] shop/t: the property {name} is {value!r}, which is not understood; "
        "write it like Delta: 'interval 7 days', or a number"
    )
