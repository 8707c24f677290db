from __future__ import annotations

import json
import random
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.housekeeping import write_checkpoint
from stream_jobs.delta.parquet_file import live_rows, write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, MirrorError
from tests.stream_jobs.delta.sample import HOSTILE, Sample, live, rows

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

WRITERS, COMMITS = 4, 8


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.fixture
def vectors_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the smallest vector is within the log."""
    monkeypatch.setattr(deletion_vectors, "WITHIN_MAX", 0)


@pytest.fixture
def sample(storage: LocalStorage) -> Sample:
    return Sample(storage, "shop/t")


def test_a_new_table_is_empty_and_can_be_opened(sample: Sample) -> None:
    assert sample.table.snapshot.version == 0
    assert sample.live() == []
    with pytest.raises(CommitConflict):
        DeltaTable.create(sample.storage, sample.path, sample.table.snapshot.metadata)


def test_rows_of_every_type_are_read_as_they_were_written(sample: Sample) -> None:
    sample.append(range(7))
    assert sample.live() == rows(range(7)).to_pylist()
    sample.append([])
    assert sample.ids() == list(range(7))


def test_dead_rows_are_united_with_those_that_are_dead(sample: Sample) -> None:
    file = sample.append(range(10))
    sample.kill(**{file.path: [1, 2]})
    sample.kill(**{file.path: [2, 3, 9]})
    assert sample.ids() == [0, 4, 5, 6, 7, 8]
    found = sample.table.snapshot.files[file.path]
    assert (found.rows, found.deleted, found.live) == (10, 4, 6)
    assert found.bounds("c1") == (0, 9)
    assert json.loads(found.statistics)["tightBounds"] is False


@pytest.mark.parametrize(
    ("kind", "least", "greatest"),
    [
        (pa.decimal128(36, 18), "1.234567890123456789", "2.234567890123456789"),
        (pa.decimal128(38, 0), "36893488147419103233", "73786976294838206463"),
    ],
)
def test_dead_rows_do_not_round_the_bounds_of_decimals(
    storage: LocalStorage, tmp_path: Path, kind: pa.DataType, least: str, greatest: str
) -> None:
    metadata = Metadata(new_columns([("amount", kind, {}), ("rate", pa.float64(), {})]))
    table = DeltaTable.create(storage, "t", metadata)
    amounts = pa.array(map(Decimal, [least, least, greatest, greatest]), kind)
    data = pa.table({"amount": amounts, "rate": [0.1, 1e300, 5e-324, -0.0]})
    file = write_file(storage, "t", table.snapshot.columns, data, key=["amount", "rate"])
    table.commit(TableCommit(new=[file]), "WRITE")
    table.commit(TableCommit(dead={file.path: BitMap([1, 2]).serialize()}), "DELETE")
    found = table.snapshot.files[file.path].statistics
    assert found == file.statistics.replace('"tightBounds":true', '"tightBounds":false')
    reader = QueryBuilder().register("t", deltalake.DeltaTable(tmp_path / "t"))
    for amount in (least, greatest):
        wanted = f"cast('{amount}' as decimal({kind.precision}, {kind.scale}))"
        own = pa.table(reader.execute(f"select amount from t where amount = {wanted}"))
        assert own["amount"].to_pylist() == [Decimal(amount)]


@pytest.mark.usefixtures("vectors_in_files")
def test_rows_that_are_dead_already_need_no_new_vector(sample: Sample, tmp_path: Path) -> None:
    file = sample.append(range(3))
    sample.kill(**{file.path: [1]})
    before = sample.table.snapshot
    sample.kill(**{file.path: [1]})
    assert sample.table.snapshot.files == before.files
    assert len(list(tmp_path.glob("shop/t/*.bin"))) == 1


def test_a_file_without_live_rows_is_removed(sample: Sample, tmp_path: Path) -> None:
    file = sample.append(range(3))
    sample.kill(**{file.path: [0, 1, 2]})
    assert sample.table.snapshot.files == {}
    assert list(tmp_path.glob("shop/t/*.bin")) == []


@pytest.mark.usefixtures("vectors_in_files")
def test_a_commit_has_one_file_of_vectors(sample: Sample, tmp_path: Path) -> None:
    first, second = sample.append(range(3)), sample.append(range(3, 6))
    sample.kill(**{first.path: [0], second.path: [1]})
    assert sample.ids() == [1, 2, 3, 5]
    assert len(list(tmp_path.glob("shop/t/*.bin"))) == 1


def test_a_snapshot_does_not_change_when_the_table_does(sample: Sample) -> None:
    file = sample.append(range(3))
    snapshot = sample.table.snapshot
    sample.kill(**{file.path: [0]})
    sample.append([7])
    assert snapshot.files == {file.path: file}
    assert not sample.table.snapshot.same_rows(snapshot)
    assert not sample.table.snapshot.has([file])
    assert sample.table.refresh() is sample.table.snapshot


def test_the_second_writer_of_a_version_is_told(sample: Sample) -> None:
    other = DeltaTable.open(sample.storage, sample.path)
    assert other is not None
    other.commit(TableCommit(domains={"a": "b"}), "WRITE")
    before = sample.table.snapshot
    with pytest.raises(CommitConflict) as error:
        sample.append([1])
    assert error.value.version == 1
    assert str(error.value) == (
        "[M503] shop/t: another writer has committed version 1; the job reads the table again and "
        "repeats its changes; if this goes on, two jobs write to it, or, in a shared mirror, "
        "others commit during a long rewrite: stop their jobs meanwhile"
    )
    assert sample.table.refresh().same_rows(before)
    sample.append([2])
    assert sample.ids() == [2]


def test_files_that_the_version_does_not_have_are_refused(sample: Sample, tmp_path: Path) -> None:
    file = sample.append(range(3))
    sample.kill(**{file.path: [0]})
    for change in (
        TableCommit(removed=[file]),  # without its dead row
        TableCommit(dead={file.path + "x": BitMap([1]).serialize()}),
    ):
        path = [*change.dead, *(f.path for f in change.removed)][0]
        with pytest.raises(MirrorError) as error:
            sample.table.commit(change, "MERGE")
        assert str(error.value) == (
            "[M519] shop/t: the commit names files that are not in the current version: "
            f"{path}; this is an error of the job: please report it"
        )
    assert len(list(tmp_path.glob("shop/t/_delta_log/*.json"))) == 3


@pytest.mark.usefixtures("vectors_in_files")
def test_a_crash_before_the_commit_changes_nothing(sample: Sample, tmp_path: Path) -> None:
    file = sample.append(range(3))
    before = sample.live()
    table = DeltaTable.open(LostPut(str(tmp_path)), sample.path)
    assert table is not None
    with pytest.raises(ConnectionError):
        table.commit(
            TableCommit(new=[sample.write([9])], dead={file.path: BitMap([0]).serialize()}), ""
        )
    assert len(list(tmp_path.glob("shop/t/*.bin"))) == 1
    assert sample.live() == before
    sample.kill(**{file.path: [1]})
    assert sample.ids() == [0, 2]


def test_a_commit_whose_answer_was_lost_is_not_a_conflict(sample: Sample, tmp_path: Path) -> None:
    table = DeltaTable.open(RepeatedPut(str(tmp_path)), sample.path)
    assert table is not None
    table.commit(TableCommit(new=[sample.write([1])]), "WRITE")
    assert sample.ids() == [1]
    sample.table.refresh()
    sample.append([2])
    with pytest.raises(CommitConflict):
        table.commit(TableCommit(new=[sample.write([3])]), "WRITE")


def test_a_commit_that_another_writer_has_overwritten_is_repeated(
    sample: Sample, tmp_path: Path
) -> None:
    sample.append([0], domains={"last": "0"})
    other = DeltaTable.open(sample.storage, sample.path)
    assert other is not None
    sample.append([1], domains={"last": "1"})
    ours = tmp_path / "shop/t/_delta_log/00000000000000000002.json"
    ours.unlink()
    other.commit(TableCommit(domains={"theirs": "x"}), "OPTIMIZE")
    with pytest.raises(CommitConflict) as error:
        sample.append([2], domains={"last": "2"})
    assert error.value.version == 2
    assert sample.table.refresh() == other.snapshot
    # The progress is that of the rows: what was lost is applied again.
    assert sample.table.snapshot.domains == {"last": "0", "theirs": "x"}
    sample.append([1, 2], domains={"last": "2"})
    assert sample.ids() == [0, 1, 2]


class LostPut(LocalStorage):
    """A process that ends before its commit."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        raise ConnectionError(path, len(content))


class RepeatedPut(LocalStorage):
    """A storage whose client repeats a put that was done already."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        super().put_if_absent(path, content)
        return super().put_if_absent(path, content)


def append_all(storage: LocalStorage, writer: int) -> int:
    """Commit a file for each number, and repeat what others were faster with."""
    table = DeltaTable.open(storage, "shop/t")
    assert table is not None
    conflicts = 0
    for number in range(COMMITS):
        name = table.snapshot.metadata.file_columns
        file = write_file(storage, table.path, name, rows([writer * COMMITS + number]))
        while True:
            # A row of the first file dies in each commit, so commits meet in one vector.
            (first, *_) = sorted(table.snapshot.files.values(), key=lambda file: -file.rows)
            dead = {first.path: BitMap([writer * COMMITS + number]).serialize()}
            try:
                table.commit(TableCommit(new=[file], dead=dead), "WRITE")
                break
            except CommitConflict:
                conflicts += 1
                table.refresh()
    return conflicts


@pytest.mark.parametrize(
    "pool",
    [
        lambda: ThreadPoolExecutor(WRITERS),
        lambda: ProcessPoolExecutor(WRITERS, get_context("spawn")),
    ],
    ids=["threads", "processes"],
)
def test_no_commit_of_several_writers_is_lost(sample: Sample, pool: type[Executor]) -> None:
    sample.append(range(1000, 1100))
    with pool() as executor:
        list(executor.map(append_all, [sample.storage] * WRITERS, range(WRITERS)))
    total = WRITERS * COMMITS
    assert sample.ids() == [*range(total), *range(1000 + total, 1100)]
    assert sample.table.refresh().version == 1 + total


def commit_until_killed(storage: LocalStorage, started: Any) -> None:
    """Append row n and let row n - 1 die, again and again; a checkpoint every third time."""
    table = DeltaTable.open(storage, "shop/t")
    assert table is not None
    started.set()
    while True:
        number = int(table.snapshot.domains["last"]) + 1
        columns = table.snapshot.metadata.file_columns
        file = write_file(storage, table.path, columns, rows([number]))
        dead = {path: BitMap([0]).serialize() for path in table.snapshot.files}
        table.commit(TableCommit(new=[file], dead=dead, domains={"last": str(number)}), "WRITE")
        if number % 3 == 0:
            write_checkpoint(table)


def test_a_writer_that_is_killed_leaves_a_whole_version(sample: Sample) -> None:
    sample.append([0], domains={"last": "0"})
    context = get_context("spawn")
    dice = random.Random(1)
    for _ in range(4):
        started = context.Event()
        writer = context.Process(target=commit_until_killed, args=(sample.storage, started))
        writer.start()
        assert started.wait(60)
        before = int(sample.table.refresh().domains["last"])
        while int(sample.table.refresh().domains["last"]) < before + 5:
            time.sleep(dice.random() / 50)
        writer.kill()
        writer.join()
        last = int(sample.table.refresh().domains["last"])
        assert sample.ids() == [last]
        assert sample.table.snapshot.version == last + 1


@pytest.mark.parametrize(
    "path", ["a%2Fb/c", "é😀", "a b'\"\\", "-x/--y", "%2E%2E/x", "C:\\x", "a" * 200, "_delta_log"]
)
def test_a_table_has_any_path(storage: LocalStorage, path: str) -> None:
    sample = Sample(storage, path)
    file = sample.append(range(3))
    sample.kill(**{file.path: [1]})
    assert sample.ids() == [0, 2]


@pytest.mark.parametrize("name", [HOSTILE, "", " ", ".", "A", "\0", "a" * 5000, "col-1", "c1", "é"])
def test_a_column_has_any_name(storage: LocalStorage, name: str) -> None:
    columns = new_columns([(name, pa.string(), {"comment": name}), ("a", pa.string(), {})])
    table = DeltaTable.create(storage, "t", Metadata(columns, {name: name}, description=name))
    data = pa.table({name: ["x", None], "a": ["y", name]})
    file = write_file(storage, "t", columns, data, key=[name], tags={name: name})
    table.commit(TableCommit(new=[file], domains={name: name}, transactions={name: 1}), name)
    anew = DeltaTable.open(storage, "t")
    assert anew is not None
    assert anew.snapshot == table.snapshot
    assert anew.snapshot.columns[0].metadata == {"comment": name}
    assert live_rows(storage, "t", anew.snapshot.files[file.path], columns).equals(data)


def test_columns_change_without_a_change_of_files(sample: Sample) -> None:
    sample.append(range(2))
    metadata = sample.table.snapshot.metadata
    first, second, *_ = metadata.columns
    added = new_columns([("int", pa.int32(), {})], metadata.last_id)
    columns = [*added, second._replace(name="id"), first._replace(name="tiny")]
    change = TableCommit(metadata=metadata.with_columns(columns).with_properties({"a": "b"}))
    sample.table.commit(change, "ALTER TABLE")
    assert sample.table.snapshot.configuration["a"] == "b"
    expected: list[dict[str, Any]] = [
        {"int": None, "id": -128, "tiny": 0},
        {"int": None, "id": 127, "tiny": 1},
    ]
    assert live(sample.table) == expected
    assert sample.live() == expected
