from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.delta import compaction, parquet_file
from stream_jobs.delta.actions import DataFile, Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.compaction import CompactionLimits, plan, rewrite
from stream_jobs.delta.deletion_vectors import DeletionVector
from stream_jobs.delta.housekeeping import clean_log, is_checkpoint_due, vacuum, write_checkpoint
from stream_jobs.delta.log import now
from stream_jobs.delta.parquet_file import live_rows, write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from tests.stream_jobs.delta.other_writer import compact
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KB, MB = 1024, 1024 * 1024
LIMITS = CompactionLimits(64 * MB, 256 * MB)
WEEK = 7 * 86_400_000


def file(name: str, size: int, dead: float = 0.0, **tags: str) -> DataFile:
    vector = DeletionVector("u", name, 1, 8, int(1000 * dead)) if dead else None
    return DataFile(name, size, 1000, len(name), vector, tags=tags)


def names(groups: Sequence[Sequence[DataFile]]) -> list[list[str]]:
    return [[file.path for file in group] for group in groups]


def test_eight_files_of_one_size_become_one() -> None:
    small = [file(f"s{n}", 10 * KB) for n in range(7)]
    assert plan(small, LIMITS) == []
    larger = [file(f"l{n}", MB) for n in range(8)]
    assert names(plan([*small, *larger], LIMITS)) == [[f.path for f in larger]]
    small.append(file("s7", 30 * KB))
    # The group that saves most for its bytes is first.
    assert names(plan([*larger, *small], LIMITS)) == [
        [f.path for f in small],
        [f.path for f in larger],
    ]


def test_a_file_with_many_dead_rows_is_rewritten() -> None:
    files = [file("a", 60 * MB, 0.29), file("b", 60 * MB, 0.3), file("c", MB, 0.5), file("d", MB)]
    assert names(plan(files, LIMITS)) == [["c"], ["b"]]


def test_a_small_file_with_dead_rows_waits_for_seven_others() -> None:
    worn = [file(f"w{n}", 32 * KB, 0.9) for n in range(7)]
    assert plan(worn, LIMITS) == []
    assert names(plan([*worn, file("new", KB)], LIMITS)) == [[*(w.path for w in worn), "new"]]
    assert names(plan([file("larger", 33 * KB, 0.3)], LIMITS)) == [["larger"]]


def test_a_file_without_a_count_of_rows_is_small_or_left_alone() -> None:
    unknown = [DataFile(f"u{n}", KB, -1, 0) for n in range(8)]
    assert names(plan(unknown, LIMITS)) == [[f.path for f in unknown]]
    assert plan([DataFile("u", 99 * MB, -1, 0)], LIMITS) == []


def test_no_group_is_larger_than_the_target() -> None:
    files = [file(f"f{n:02}", 20 * MB) for n in range(10)]
    assert [len(group) for group in plan(files, LIMITS)] == [3, 3, 3]


def test_tasks_share_a_large_group_which_waits_for_the_files_of_two_of_them() -> None:
    shared = LIMITS._replace(tasks=2)
    large = [file(f"l{n:02}", MB) for n in range(16)]
    assert plan(large[:15], shared) == []
    first, second = names(plan(large, shared))
    assert {*first, *second} == {f.path for f in large}
    assert len(first) == len(second) == 8
    small = [file(f"s{n}", 10 * KB) for n in range(8)]
    assert names(plan(small, shared)) == [[f.path for f in small]]
    # A table with one new file in a batch does not wait for all cores.
    assert list(map(len, plan(large, LIMITS._replace(tasks=64)))) == [8, 8]


def test_the_parts_of_a_group_have_about_the_same_size() -> None:
    dice = random.Random(7)
    for _ in range(100):
        # As different as files of one size can be.
        files = [file(f"f{n:02}", dice.randrange(300 * KB, 2 * MB)) for n in range(32)]
        tasks = dice.choice([2, 3, 4])
        found = plan(files, LIMITS._replace(tasks=tasks))
        assert sorted(f.path for group in found for f in group) == [f.path for f in files]
        assert len(found) == tasks
        share = sum(f.size for f in files) / tasks
        assert all(abs(sum(f.size for f in group) - share) <= 2 * MB for group in found)


def test_the_budget_holds_unless_one_group_is_larger() -> None:
    files = [file(f"a{n}", 2 * MB) for n in range(8)] + [file(f"b{n}", 30 * KB) for n in range(8)]
    assert names(plan(files, CompactionLimits(64 * MB, MB))) == [[f"b{n}" for n in range(8)]]
    assert names(plan(files[:8], CompactionLimits(64 * MB, MB))) == [[f"a{n}" for n in range(8)]]


def test_files_of_different_partitions_or_tags_are_not_mixed() -> None:
    files = [file(f"f{n}", KB, shard=str(n % 2)) for n in range(14)]
    assert plan(files, LIMITS) == []
    files += [file("f14", KB, shard="0")]
    assert names(plan(files, LIMITS)) == [[f"f{n}" for n in range(0, 15, 2)]]


def test_rows_are_kept_and_sorted_and_dead_ones_go_away(tmp_path: Path) -> None:
    sample = Sample(LocalStorage(str(tmp_path)), "t")
    first, second = sample.append([5, 3, 1]), sample.append([4, 2, 0])
    sample.kill(**{first.path: [1], second.path: [0]})
    before = sample.live()
    old = list(sample.table.snapshot.files.values())
    (new,) = rewrite(sample.storage, "t", sample.table.snapshot.columns, old, ["id"])
    assert (new.rows, new.bounds("c1")) == (4, (0, 5))
    sample.table.commit(TableCommit(new=[new], removed=old, data_change=False), "OPTIMIZE")
    assert sample.live() == before
    data = live_rows(sample.storage, "t", new, sample.table.snapshot.columns[:1])
    assert data["id"].to_pylist() == [0, 1, 2, 5]
    sample.kill(**{new.path: range(4)})
    assert sample.ids() == []


def test_rows_are_sorted_by_the_clustering_columns(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    columns = new_columns([("a", pa.int64(), {}), ("b", pa.string(), {}), ("c", pa.int8(), {})])
    table = DeltaTable.create(storage, "t", Metadata(columns), clustering=["b", "c"])
    assert list(table.snapshot.clustering) == ["b", "c"]
    data = pa.table({"a": range(4), "b": ["y", "x", "y", None], "c": [2, 0, 1, 0]})
    for start in range(8):
        part = data.slice(start // 2, 1) if start % 2 else data.slice(0, 0)
        new = write_file(storage, "t", columns, part, key=["a", *table.snapshot.clustering])
        table.commit(TableCommit(new=[new]), "WRITE")
    assert compact(table, ["a"], LIMITS) == 8
    (one,) = table.snapshot.files.values()
    assert live_rows(storage, "t", one, columns)["a"].to_pylist() == [1, 2, 0, 3]
    assert (one.bounds("c1"), one.bounds("c2"), one.bounds("c3")) == ((0, 3), ("x", "y"), (0, 2))
    renamed = [columns[0], columns[1]._replace(name="d")]
    metadata = table.snapshot.metadata.with_columns(renamed)
    table.commit(TableCommit(metadata=metadata), "ALTER TABLE")
    assert list(table.snapshot.clustering) == ["d"]


def test_a_large_file_is_read_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program made it: it has one row group for each 100 rows."""
    sample = Sample(LocalStorage(str(tmp_path)), "t")
    monkeypatch.setattr(parquet_file, "_ROW_GROUP_ROWS", 100)
    large = sample.append(range(1000))
    # No row of the second part is left, and few of the others.
    sample.kill(**{large.path: [n for n in range(1000) if 250 <= n < 500 or n % 10]})
    expected = sample.live()
    monkeypatch.setattr(compaction, "PART_BYTES", large.size // 4 + 1)
    read: list[int] = []
    rows_at = parquet_file.rows_at

    def counted(*args: Any) -> pa.Table:
        read.append(len(args[-1]))
        return rows_at(*args)

    monkeypatch.setattr(compaction, "rows_at", counted)
    monkeypatch.setattr(compaction, "live_rows", None)
    old = list(sample.table.snapshot.files.values())
    columns = sample.table.snapshot.columns
    new = rewrite(sample.storage, "t", columns, old, ["id"])
    assert (read, [file.rows for file in new]) == ([25, 0, 25, 25], [25, 25, 25])
    assert [file.bounds("c1") for file in new] == [(0, 240), (500, 740), (750, 990)]
    sample.table.commit(TableCommit(new=new, removed=old, data_change=False), "OPTIMIZE")
    assert sample.live() == expected


def test_files_without_live_rows_become_nothing(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    columns = new_columns([("a", pa.string(), {})])
    empty = write_file(storage, "t", columns, pa.table({"a": pa.array([], pa.string())}))
    assert rewrite(storage, "t", columns, [empty], ["a"]) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_table_equals_a_dictionary_through_everything(tmp_path: Path, seed: int) -> None:
    """Random batches, compaction, checkpoints and clean-up; small and old files are bounded."""
    dice = random.Random(seed)
    properties = {"delta.checkpointInterval": "7"}
    sample = Sample(LocalStorage(str(tmp_path)), "t", properties)
    place: dict[int, tuple[str, int]] = {}  # each id's file and position
    for step in range(40):
        changed = sorted(dice.sample(range(50), dice.randrange(1, 12)))
        kept = [number for number in changed if dice.random() < 0.8]
        dead: dict[str, BitMap] = {}
        for number in changed:
            if number in place:
                path, position = place.pop(number)
                dead.setdefault(path, BitMap()).add(position)
        new = sample.write(kept)
        bitmaps = {path: bitmap.serialize() for path, bitmap in dead.items()}
        sample.table.commit(TableCommit(new=[new] if kept else [], dead=bitmaps), "MERGE")
        place.update({number: (new.path, at) for at, number in enumerate(kept)})
        for group in plan(sample.table.snapshot.files.values(), LIMITS):
            columns = sample.table.snapshot.columns
            files = rewrite(sample.storage, "t", columns, group, ["id"])
            assert len(files) <= 1
            one = next(iter(files), None)
            change = TableCommit(new=files, removed=group, data_change=False)
            sample.table.commit(change, "OPTIMIZE")
            gone = {file.path for file in group}
            moved = sorted(number for number, (path, _) in place.items() if path in gone)
            assert (one.rows if one else 0) == len(moved)
            place.update({n: (one.path, at) for at, n in enumerate(moved) if one})
        if is_checkpoint_due(sample.table):
            write_checkpoint(sample.table)
        if step % 20 == 19:
            clean_log(sample.table, now() + 5 * WEEK)
            vacuum(sample.table, 1000, now() + 2 * WEEK)
        assert sample.ids() == sorted(place)
        assert len(sample.table.snapshot.files) <= 8
    left = [path for path in (tmp_path / "t").iterdir() if path.is_file()]
    assert len(left) <= 2 * len(sample.table.snapshot.files) + 1
