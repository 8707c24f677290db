"""An index that is lost or damaged is made again; a folder that others write to is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.apply import key_index
from stream_jobs.apply.key_index import IndexColumns, IndexFolder
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, job_errors
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from stream_jobs.apply.key_index import KeyIndex

# A small index is read, a large one is mapped into memory.
FEW = [5, -3, 2**62, 7]
MANY = [*FEW, *range(100, 2_000)]


@pytest.fixture
def ids() -> list[int]:
    return FEW


@pytest.fixture
def sample(tmp_path: Path, ids: list[int]) -> Sample:
    sample = Sample(LocalStorage(str(tmp_path / "tables")), "t", {})
    sample.append(ids)
    return sample


def index_of(sample: Sample, folder: Path, *, may_lack_key: bool = False) -> KeyIndex:
    """Look the only file of a table up, in a process that has just begun."""
    key_index._map.cache_clear()
    key_index._read_small.cache_clear()
    key_index._read_tiny.cache_clear()
    (file,) = sample.table.snapshot.files.values()
    named = {column.name: column for column in sample.table.snapshot.columns}
    # The table has no sequence: the key stands for it.
    columns = [named["id"]._replace(name=name) for name in ("id", "_cdc_hi", "_cdc_lo")]
    return IndexFolder(str(folder), 1 << 20).of_file(
        sample.storage,
        "t",
        file,
        IndexColumns(tuple(columns[:1]), tuple(columns[1:]), may_lack_key=may_lack_key),
    )


@pytest.mark.parametrize("ids", [FEW, MANY], ids=["few rows", "many rows"])
@pytest.mark.parametrize("damage", ["a bit", "zeros", "shorter", "empty"])
def test_a_damaged_index_is_made_again(
    sample: Sample, tmp_path: Path, ids: list[int], damage: str
) -> None:
    folder = tmp_path / "indexes"
    assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    whole = path.read_bytes()
    path.write_bytes(
        {
            "a bit": whole[:-1] + bytes([whole[-1] ^ 1]),
            "zeros": whole[:40] + bytes(len(whole) - 40),
            "shorter": whole[:-8],
            "empty": b"",
        }[damage]
    )
    assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    assert path.read_bytes() == whole


def test_an_index_of_all_rows_is_not_taken_for_one_of_rows_with_a_key(
    sample: Sample, tmp_path: Path
) -> None:
    folder = tmp_path / "indexes"
    for may_lack_key in (False, True):
        index_of(sample, folder, may_lack_key=may_lack_key)
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 2


@pytest.mark.parametrize("ids", [FEW, MANY], ids=["few rows", "many rows"])
def test_an_index_that_is_removed_while_it_is_opened_is_made_again(
    sample: Sample, tmp_path: Path, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "indexes"
    index_of(sample, folder)
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    stat = os.stat

    def stat_before_another_removes_it(name: Any, *args: Any, **facts: Any) -> os.stat_result:
        found = stat(name, *args, **facts)
        if name == str(path):
            path.unlink()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", stat_before_another_removes_it)
        assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    assert path.exists()


def test_a_full_disk_costs_no_table(
    sample: Sample, tmp_path: Path, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def created_on_a_full_disk(path: str) -> int:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
        return os.open("/dev/full", os.O_WRONLY)

    folder = tmp_path / "indexes"
    with monkeypatch.context() as patched:
        patched.setattr(key_index, "_created", created_on_a_full_disk)
        assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    # There is room again.
    assert index_of(sample, folder).keys.first.tolist() == sorted(ids)
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 1


def test_on_a_full_disk_the_oldest_indexes_make_room(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "indexes"
    index_of(sample, folder)
    (newest,) = (path for path in folder.rglob("*") if path.is_file())
    older = [folder / "00" / f"{number}" for number in range(9)]
    older[0].parent.mkdir(exist_ok=True)
    for number, path in enumerate(older):
        path.write_bytes(b"old")
        os.utime(path, (number, number))
    created = key_index._created

    def created_on_a_disk_for_ten_files(path: str) -> int:
        if len([path for path in folder.rglob("*") if path.is_file()]) < 10:
            return created(path)
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(key_index, "_created", created_on_a_disk_for_ten_files)
    sample.kill(**dict.fromkeys(sample.table.snapshot.files, range(len(FEW))))
    sample.append(FEW)
    index_of(sample, folder)
    assert [path for path in older if path.exists()] == older[5:]
    assert newest.exists()
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 6


def test_a_folder_that_others_write_to_is_refused(sample: Sample, tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(MirrorError) as caught:
        index_of(sample, folder)
    assert caught.value.text == text_of(job_errors.INDEX_FOLDER, path=str(folder))
    folder.chmod(0o700)
    assert len(index_of(sample, folder).positions) == len(FEW)
