from __future__ import annotations

import os
import pickle
import random
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, delta_errors
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def put(root: str, writer: int) -> bool:
    return LocalStorage(root).put_if_absent("t/_delta_log/0.json", str(writer).encode() * 10_000)


@pytest.mark.parametrize(
    "pool",
    [
        lambda: ThreadPoolExecutor(8),
        lambda: ProcessPoolExecutor(4, get_context("spawn")),
    ],
    ids=["threads", "processes"],
)
def test_one_of_many_writers_of_a_file_wins(storage: LocalStorage, pool: type[Executor]) -> None:
    with pool() as executor:
        won = list(executor.map(put, [storage.root] * 16, range(16)))
    assert won.count(True) == 1
    assert storage.read("t/_delta_log/0.json") == str(won.index(True)).encode() * 10_000
    assert [file.name for file in storage.list("t")] == ["_delta_log/0.json"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", ".", "", "a/", "a\0b"])
def test_no_path_leaves_the_root(storage: LocalStorage, path: str) -> None:
    for call in (storage.read, storage.open, storage.delete, lambda p: list(storage.list(p))):
        with pytest.raises(MirrorError) as error:
            call(path)
        assert str(error.value) == (
            f"[M519] the path {path!r} is not below the mirror's folder; "
            "this is an error of the job: please report it"
        )
    with pytest.raises(MirrorError, match="M519"):
        storage.write(path, b"")
    with pytest.raises(MirrorError, match="M519"):
        storage.put_if_absent(path, b"")
    with pytest.raises(MirrorError, match="M519"):
        storage.read_part(path, 0, 1)


def test_a_file_that_is_absent_is_no_error(storage: LocalStorage) -> None:
    assert storage.read("a/b") is None
    assert storage.open("a/b") is None
    assert storage.read_part("a/b", 0, 1) is None
    assert list(storage.list("a")) == []
    storage.delete("a/b")
    storage.write("a", b"")
    assert storage.read("a/b") is None  # below a file
    assert list(storage.list("a/b")) == []


def test_a_written_file_is_read_and_replaced(storage: LocalStorage, tmp_path: Path) -> None:
    storage.write("a/b/c", b"0123456789")
    assert storage.read("a/b/c") == b"0123456789"
    assert storage.read_part("a/b/c", 3, 4) == b"3456"
    file = storage.open("a/b/c")
    assert file is not None
    storage.write("a/b/c", memoryview(b"new"))
    assert file.read() == b"0123456789"
    assert pickle.loads(pickle.dumps(storage)).read("a/b/c") == b"new"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c"]
    storage.delete("a/b/c")
    assert storage.read("a/b/c") is None


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 1_000_000])
def test_a_file_of_any_size_is_read_as_a_whole_and_in_parts(
    storage: LocalStorage, size: int
) -> None:
    content = random.Random(size).randbytes(size)
    storage.write("a", content)
    assert storage.read("a") == content
    for start, length in ((0, size), (0, size + 9), (size // 3, size // 2), (size, 9), (3, 0)):
        assert storage.read_part("a", start, length) == content[start : start + length]


def test_a_folder_is_listed_by_name_from_a_name_on(storage: LocalStorage, tmp_path: Path) -> None:
    for name in ("t/b", "t/a/x", "t/c", "t/a/y"):
        storage.write(name, name.encode())
    (tmp_path / "t/link").symlink_to("/etc")
    assert [(file.name, file.size) for file in storage.list("t")] == [
        ("a/x", 5),
        ("a/y", 5),
        ("b", 3),
        ("c", 3),
    ]
    assert [file.name for file in storage.list("t", "a/x")] == ["a/y", "b", "c"]


def test_the_folders_of_a_folder_are_listed_by_name(storage: LocalStorage, tmp_path: Path) -> None:
    assert storage.folders() == []
    for name in ("t/b/x", "t/a/x/y", "t/c", "s/z"):
        storage.write(name, b"1")
    # A database may be elsewhere, behind a link.
    (tmp_path / "t/e").symlink_to(tmp_path / "s")
    (tmp_path / "t/f").symlink_to(tmp_path / "s/z")
    (tmp_path / "t/g").symlink_to("nowhere")
    assert storage.folders() == ["s", "t"]
    assert storage.folders("t") == ["a", "b", "e"]
    assert storage.folders("t/c") == storage.folders("none") == []


def test_what_the_system_says_is_shown(storage: LocalStorage, tmp_path: Path) -> None:
    storage.write("file", b"")
    (tmp_path / "folder/x").mkdir(parents=True)
    advice = (
        "; check that the folder of the mirror exists, that the job may write there, and its free "
        "space"
    )
    with pytest.raises(MirrorError) as error:
        storage.write("file/x", b"")
    assert str(error.value) == f"[M502] {tmp_path}/file/x: Not a directory{advice}"
    with pytest.raises(MirrorError) as error:
        storage.delete("folder/x")
    assert str(error.value) == f"[M502] {tmp_path}/folder/x: Is a directory{advice}"
    for call in (storage.read, lambda p: storage.read_part(p, 0, 1)):
        with pytest.raises(MirrorError) as error:
            call("folder/x")
        file = f"{tmp_path}/folder/x"
        assert error.value.text == text_of(
            delta_errors.FILE_UNREADABLE, file=file, said="Is a directory"
        )
    with pytest.raises(MirrorError, match="M502"):
        storage.put_if_absent("file/x", b"")


def test_the_names_of_a_folder_are_synced_or_the_system_says_why_not(
    storage: LocalStorage,
) -> None:
    storage.write("table/file", b"1")
    storage.sync("table")
    with pytest.raises(MirrorError) as caught:
        storage.sync("other")
    assert caught.value.message.facts == {
        "path": f"{storage.root}/other",
        "said": "No such file or directory",
    }


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(MirrorError, match="M502"):
        LocalStorage(str(tmp_path)).write("taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_folder_that_cannot_be_written_to_is_told_at_once(
    storage: LocalStorage, tmp_path: Path
) -> None:
    storage.verify()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(MirrorError, match=r"M502.*/file/_binlog-connector-\w+: Not a directory"):
        LocalStorage(str(tmp_path / "file")).verify()


@pytest.mark.parametrize("taken", ["", "shop", "shop/t", "shop/t/_delta_log"])
def test_a_folder_that_was_taken_away_is_not_made_again(tmp_path: Path, taken: str) -> None:
    root = tmp_path / "mirror"
    storage = LocalStorage(str(root))
    # At the start of a job, and what it has found there.
    storage.verify()
    storage.put_if_absent("shop/t/_delta_log/0.json", b"0")
    (root / taken).rename(tmp_path / "away")
    for write in (storage.write, storage.put_if_absent):
        with pytest.raises(MirrorError) as caught:
            write("shop/t/_delta_log/1.json", b"1")
        if taken:
            text = text_of(delta_errors.FOLDER_GONE, folder=root / taken)
        else:
            path = f"{root}/shop/t/_delta_log/1.json"
            facts = {"path": path, "said": "No such file or directory"}
            text = text_of(delta_errors.STORAGE_FAILED, **facts)
        assert caught.value.text == text
    assert not (root / taken).exists()
    (tmp_path / "away").rename(root / taken)
    storage.put_if_absent("shop/t/_delta_log/1.json", b"1")
    assert [each.name for each in storage.list("shop/t/_delta_log")] == ["0.json", "1.json"]


def test_a_table_that_was_read_and_taken_away_is_not_made_again(tmp_path: Path) -> None:
    LocalStorage(str(tmp_path)).write("t/_delta_log/0.json", b"0")
    storage = LocalStorage(str(tmp_path))
    assert [each.name for each in storage.list("t/_delta_log")] == ["0.json"]
    (tmp_path / "t").rename(tmp_path / "away")
    assert list(storage.list("t/_delta_log")) == []
    with pytest.raises(MirrorError, match="M527"):
        storage.put_if_absent("t/_delta_log/1.json", b"1")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_worker_without_its_mount_makes_nothing_there(
    tmp_path: Path, left: str, exists: bool
) -> None:
    root = tmp_path / "mirror"
    storage = LocalStorage(str(root))
    storage.put_if_absent("_cdc/owner/1.json", b"1")
    if exists:
        storage.write("shop/t/_delta_log/0.json", b"0")
    worker = pickle.loads(pickle.dumps(storage))
    worker.note_table("shop/t", exists=exists)
    root.rename(tmp_path / "away")
    if left == "an empty folder":
        root.mkdir()
    with pytest.raises(MirrorError) as caught:
        worker.write("shop/t/part-1.parquet", b"1")
    facts = {"path": f"{root}/shop/t/part-1.parquet", "said": "No such file or directory"}
    assert caught.value.text == text_of(delta_errors.STORAGE_FAILED, **facts)
    assert not root.exists() or not list(root.iterdir())


def test_a_worker_makes_the_folder_of_a_new_table_alone(tmp_path: Path) -> None:
    LocalStorage(str(tmp_path)).write("_cdc/owner/1.json", b"1")
    LocalStorage(str(tmp_path)).write("shop/t/_delta_log/0.json", b"0")
    worker = pickle.loads(pickle.dumps(LocalStorage(str(tmp_path))))
    worker.note_table("shop/t", exists=True)
    (tmp_path / "shop" / "t").rename(tmp_path / "away")
    with pytest.raises(MirrorError) as caught:
        worker.write("shop/t/part-1.parquet", b"1")
    gone = text_of(delta_errors.FOLDER_GONE, folder=tmp_path / "shop" / "t")
    assert caught.value.text == gone
    assert list((tmp_path / "shop").iterdir()) == []
    # The same process, when the table is to be made again.
    worker.note_table("shop/t", exists=False)
    worker.write("shop/t/part-2.parquet", b"2")
    assert worker.put_if_absent(f"shop/t/_delta_log/{0:020}.json", b"0")


@pytest.mark.parametrize("step", ["replace", "link"])
def test_a_folder_that_is_taken_away_while_a_file_is_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    storage, folder = LocalStorage(str(tmp_path)), tmp_path / "shop" / "t"
    storage.write("shop/t/0", b"0")
    named = getattr(os, step)

    def taken(temporary: str, path: str) -> None:
        folder.rename(tmp_path / "away")
        named(temporary, path)

    monkeypatch.setattr(os, step, taken)
    with pytest.raises(MirrorError) as caught:
        (storage.write if step == "replace" else storage.put_if_absent)("shop/t/1", b"1")
    assert caught.value.text == text_of(delta_errors.FOLDER_GONE, folder=folder)


def test_a_table_that_somebody_has_deleted_begins_again(tmp_path: Path) -> None:
    root = tmp_path / "mirror"
    storage = LocalStorage(str(root))
    storage.verify()
    first, second = (f"shop/t/_delta_log/{version:020}.json" for version in (0, 1))
    storage.put_if_absent(first, b"0")
    shutil.rmtree(root / "shop")
    with pytest.raises(MirrorError, match="M527"):
        storage.put_if_absent(second, b"1")
    assert storage.put_if_absent(first, b"0")
    assert storage.put_if_absent(second, b"1")
    root.rename(tmp_path / "away")
    with pytest.raises(MirrorError, match="No such file"):
        storage.put_if_absent(first.replace("shop", "crm"), b"0")
    assert not root.exists()


def test_a_folder_of_the_jobs_files_that_somebody_has_deleted_is_made_again(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    storage.put_if_absent("_cdc/owner/1.json", b"1")
    shutil.rmtree(tmp_path / "_cdc" / "owner")
    assert storage.put_if_absent("_cdc/owner/1.json", b"1")
    (tmp_path / "_cdc").rename(tmp_path / "away")
    with pytest.raises(MirrorError, match="No such file"):
        storage.put_if_absent("_cdc/owner/2.json", b"2")
