"""Readers of Iceberg see the rows of the Delta table, whatever has happened to it."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import Column, new_columns
from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.manifests import DataFileEntry, Manifest, ManifestRow
from tests.length import length
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.partitioned import Partitioned
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    delta_rs_rows,
    opened,
    polars_rows,
    pyiceberg_rows,
)
from tests.stream_jobs.iceberg.table_story import Published


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.fixture
def sample(storage: LocalStorage) -> Sample:
    return Sample(storage, "shop/t")


@pytest.fixture
def published(storage: LocalStorage, sample: Sample) -> Published:
    return Published(storage, sample.path)


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


def compact(sample: Sample) -> None:
    """Make one file of all."""
    snapshot = sample.table.snapshot
    old = list(snapshot.files.values())
    columns = snapshot.metadata.file_columns
    new = rewrite(sample.storage, sample.path, columns, old, ["id"])
    sample.table.commit(TableCommit(new=new, removed=old, data_change=False), "OPTIMIZE")


def with_columns(sample: Sample, columns: list[Column]) -> None:
    metadata = sample.table.snapshot.metadata.with_columns(columns)
    sample.table.commit(TableCommit(metadata=metadata), "CHANGE COLUMNS")


def test_readers_agree_after_every_kind_of_commit(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    published.publish(sample.table)
    assert published.agree(duckdb) == 0
    file = sample.append(range(10))
    sample.append(range(10, 1510))
    published.publish(sample.table)
    assert published.agree(duckdb) == 1510
    sample.kill(**{file.path: [0, 3]})
    published.publish(sample.table)
    published.restart()
    sample.kill(**{file.path: [4]})
    published.publish(sample.table)
    assert published.agree(duckdb) == 1507
    compact(sample)
    published.publish(sample.table, is_rewrite=True)
    assert published.agree(duckdb) == 1507
    first, *others = sample.table.snapshot.columns
    (added,) = new_columns([("big", pa.int64(), {})], sample.table.snapshot.metadata.last_id)
    kept = [c._replace(name="renamed") if c.name == "int" else c for c in others]
    with_columns(sample, [first, added, *(c for c in kept if c.name != "big")])
    sample.append([2000])
    published.publish(sample.table)
    assert published.agree(duckdb) == 1508
    every = list(sample.table.snapshot.files.values())
    sample.table.commit(TableCommit(removed=every), "TRUNCATE")
    published.publish(sample.table)
    assert published.agree(duckdb) == 0
    sample.append([7])
    published.publish(sample.table)
    assert published.agree(duckdb) == 1
    operations = [
        snapshot.summary.operation.value
        for snapshot in opened(published.folder).metadata.snapshots
        if snapshot.summary is not None
    ]
    assert operations == [
        "append",
        "append",
        "delete",
        "delete",
        "replace",
        "append",
        "delete",
        "append",
    ]


def test_the_id_of_a_snapshot_is_the_version_and_old_versions_can_be_read(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    file = sample.append(range(10))
    published.publish(sample.table)
    sample.kill(**{file.path: [2]})
    compact(sample)
    published.publish(sample.table, facts={"cdc.gtid": "0-1-42"})
    table = opened(published.folder)
    assert [snapshot.snapshot_id for snapshot in table.metadata.snapshots] == [1, 3]
    summary = published.snapshot().summary
    assert summary is not None
    assert (summary["delta-version"], summary["cdc.gtid"]) == ("3", "0-1-42")
    assert table.metadata.properties["gc.enabled"] == "false"
    assert str(table.metadata.table_uuid) == sample.table.snapshot.metadata.table_id
    for version in (1, 3):
        rows = delta_rs_rows(published.delta, version)
        assert pyiceberg_rows(published.folder, version) == rows
        assert duckdb.rows(published.folder, version) == rows


def test_totals_are_those_of_the_files(sample: Sample, published: Published) -> None:
    for number in range(20):
        file = sample.append(range(number * 10, number * 10 + 7))
        sample.kill(**{file.path: [0, number % 5 + 1]})
        if number % 7 == 5:
            compact(sample)
        if number % 6 == 4:
            published.restart()
        published.publish(sample.table)
        files = sample.table.snapshot.files.values()
        summary = published.snapshot().summary
        assert summary is not None
        dead = [file.deleted for file in files if file.deleted]
        assert {n: int(summary[n] or 0) for n in TOTALS} == dict(
            zip(
                TOTALS,
                (
                    len(files),
                    sum(file.rows for file in files),
                    sum(file.size for file in files),
                    len(dead),
                    sum(dead),
                ),
                strict=True,
            )
        )


TOTALS = (
    "total-data-files",
    "total-records",
    "total-files-size",
    "total-delete-files",
    "total-position-deletes",
)


def test_a_publish_writes_little_beside_a_megabyte_of_rows(storage: LocalStorage) -> None:
    kinds = {f"column_{number}": pa.int64() for number in range(8)}
    columns = new_columns([(name, kind, {}) for name, kind in kinds.items()])
    table = DeltaTable.create(storage, "shop/t", Metadata(columns))
    published = Published(storage, "shop/t")
    rows = pa.table({name: pa.array(range(5), kind) for name, kind in kinds.items()})
    cuts: dict[int, int] = {}
    for number in range(1000, 1070):
        file = write_file(storage, "shop/t", columns, rows)
        table.commit(TableCommit(new=[file]), "WRITE")
        table.commit(TableCommit(dead={file.path: BitMap([1]).serialize()}), "DELETE")
        cuts = dict([*cuts.items(), (number, published.at)][-60:])
        facts = {"cdc.cut": str(number), "cdc.seq": "1" * 38, "cdc.gtid": "0-1-42,1-1-43"}
        published.publish(table, facts=facts, cut=number, cuts=cuts)
    version = published.snapshot().snapshot_id
    written = {
        file.name: file.stat().st_size
        for file in published.folder.rglob("*")
        if file.name.removeprefix("snap-").startswith(f"{version}-")
        or file.name == "v70.metadata.json"
    }
    assert len(written) == 5
    metadata = opened(published.folder).metadata
    assert (len(metadata.snapshots), len(metadata.refs)) == (60, 62)
    location = published.files.location("shop/t")
    # As if it were in "s3://bucket/mirror".
    written["v70.metadata.json"] -= 60 * (len(location) - len("s3://bucket/mirror/_iceberg/shop/t"))
    assert sum(written.values()) <= 0.03 * 2**20, written


def test_duckdb_reads_an_older_snapshot_after_a_newer_one_without_its_cache(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    one, two, three = (sample.append(range(40 * n, 40 * n + 40)) for n in range(3))
    published.publish(sample.table)
    sample.kill(**{one.path: [1, 2, 3], two.path: [5], three.path: [7]})
    published.publish(sample.table)
    older = sample.table.snapshot.version
    sample.kill(**{one.path: [6], two.path: [8]})
    published.publish(sample.table)
    for version in (sample.table.snapshot.version, older):
        rows = delta_rs_rows(published.delta, version)
        assert duckdb.rows(published.folder, version) == rows


def test_row_ids_do_not_overlap(sample: Sample, published: Published) -> None:
    for number in range(20):
        file = sample.append(range(number * 10, number * 10 + number + 1))
        if number % 7 == 3:
            sample.kill(**{file.path: [0]})
        if number % 7 == 5:
            compact(sample)
        if number % 5 == 4:
            published.restart()
        published.publish(sample.table)
    head = json.loads(max(published.folder.glob("metadata/v2?.metadata.json")).read_text())
    spans = [(s["first-row-id"], s["added-rows"]) for s in head["snapshots"]]
    assert all(first + rows == following for (first, rows), (following, _) in pairwise(spans))
    state = published.publisher._state
    assert state is not None
    live = [file for _, files in described(state.manifests.data) for file in files.values()]
    published.restart()
    again = published.publisher._begun(sample.table.snapshot)
    for own, known in zip(again.manifests, state.manifests, strict=True):
        assert described(own) == described(known)
    ranges = sorted((file.first_row_id or 0, file.rows) for file in live)
    assert all(first + rows <= following for (first, rows), (following, _) in pairwise(ranges))
    assert head["next-row-id"] == sum(rows for _, rows in spans)


def described(manifests: Sequence[Manifest]) -> list[tuple[ManifestRow, dict[str, DataFileEntry]]]:
    """What manifests say, without what they keep to say it again."""
    return [(m.row, {name: entry.file for name, entry in m.live.items()}) for m in manifests]


PARTITIONS: tuple[tuple[str, pa.DataType, list[Any]], ...] = (
    ("country", pa.string(), ["de", "a/b %=", None]),
    ("day", pa.date32(), [dt.date(2024, 1, 5), dt.date(1, 1, 1), None]),
    ("amount", pa.decimal128(30, 2), ["-1.50", "9999999999999999999999999999.99", None]),
    ("price", pa.decimal128(30, 2), ["0.00", "1.00", None]),
    ("number", pa.int16(), [-7, 300, None]),
    ("flag", pa.bool_(), [True, False, None]),
)


def test_readers_agree_on_partitions(storage: LocalStorage, duckdb: DuckDB) -> None:
    kinds = {"id": pa.int64()} | {name: kind for name, kind, _ in PARTITIONS}
    columns = new_columns([(name, kind, {}) for name, kind in kinds.items()])
    names = tuple(name for name, _, _ in PARTITIONS)
    table = DeltaTable.create(storage, "shop/t", Metadata(columns, partition_columns=names))
    published = Published(storage, "shop/t")
    own, path = table.snapshot.metadata.file_columns, ""
    for number in range(3):
        values = {
            column.physical_name: None if one is None else _text(one)
            for column, (_, _, several) in zip(columns[1:], PARTITIONS, strict=True)
            for one in [several[number]]
        }
        data = pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())})
        file = write_file(storage, "shop/t", own, data, partition_values=values)
        table.commit(TableCommit(new=[file]), "WRITE")
        published.publish(table)
        path = file.path
    table.commit(TableCommit(dead={path: BitMap([1]).serialize()}), "DELETE")
    published.restart()
    published.publish(table)
    assert published.agree(duckdb) == 29
    kept = opened(published.folder).scan(row_filter="number = 300").plan_files()
    assert len(list(kept)) == 1


def test_columns_of_partitions_may_change_their_places(
    storage: LocalStorage, duckdb: DuckDB
) -> None:
    sample, published = Partitioned(storage, "shop/t", "a", "b"), Published(storage, "shop/t")
    first = sample.add(0)
    sample.add(1)
    published.publish(sample.table)
    sample.arrange("id", "b", "a")
    published.publish(sample.table)
    assert published.agree(duckdb) == 6
    sample.add(2)
    sample.table.commit(TableCommit(dead={first.path: BitMap([1]).serialize()}), "DELETE")
    published.restart()
    published.publish(sample.table)
    assert published.agree(duckdb) == 8
    # The other file of its manifest moves to a new one.
    gone = sample.table.snapshot.files[first.path]
    sample.table.commit(TableCommit(removed=[gone]), "DELETE")
    published.publish(sample.table)
    assert published.agree(duckdb) == 6
    for version in (2, 3, 5, 6):
        rows = delta_rs_rows(published.delta, version)
        assert pyiceberg_rows(published.folder, version) == rows


@pytest.mark.parametrize("what", ["spec", "manifests"])
def test_partitions_that_are_not_as_published_are_published_again(
    storage: LocalStorage, duckdb: DuckDB, what: str
) -> None:
    by = ("a", "b") if what == "spec" else ("b", "a")
    sample, published = Partitioned(storage, "shop/t", *by), Published(storage, "shop/t")
    sample.add(0)
    sample.arrange("b", "id", "a")
    published.publish(sample.table)
    if what == "manifests":
        metadata = replace(sample.table.snapshot.metadata, partition_columns=("a", "b"))
        sample.table.commit(TableCommit(metadata=metadata), "CHANGE PARTITIONS")
    exchange_partitions(published.folder / "metadata" / "v1.metadata.json")
    assert pyiceberg_rows(published.folder) == [("a0", number, "b0") for number in range(3)]
    published.restart()
    published.publish(sample.table)
    assert published.agree(duckdb) == 3
    version = sample.table.snapshot.version
    assert [entry.snapshot_id for entry in opened(published.folder).metadata.snapshots] == [version]
    state = published.publish(sample.table)
    published.restart()
    assert published.publish(sample.table) == state


def exchange_partitions(path: Path) -> None:
    """Give the partitions of a table each other's ids."""
    document = json.loads(path.read_text())
    one, other = document["partition-specs"][0]["fields"]
    ids = {"field-id": one["field-id"]}, {"field-id": other["field-id"]}
    document["partition-specs"][0]["fields"] = [other | ids[0], one | ids[1]]
    path.write_text(json.dumps(document))


def test_a_partition_that_was_dropped_and_added_is_another_one(
    storage: LocalStorage, duckdb: DuckDB
) -> None:
    sample, published = Partitioned(storage, "shop/t", "a", "b"), Published(storage, "shop/t")
    sample.add(0)
    published.publish(sample.table)
    (again,) = new_columns([("a", pa.string(), {})], sample.table.snapshot.metadata.last_id)
    sample.change((sample.columns() | {"a": again}).values())
    sample.add(1)
    published.publish(sample.table)
    # delta-rs does not read a table some of whose files are without a value of a partition.
    expected = [(number, "a1" if number >= 3 else None, f"b{number // 3}") for number in range(6)]
    for read in (pyiceberg_rows, polars_rows, duckdb.rows):
        assert read(published.folder) == expected


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_random_histories_are_read_as_delta_rs_reads_them(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    seed = int(os.environ.get("SEED", "7"))
    chance = random.Random(seed)
    last = 0
    for step in range(length(short=12, full=400)):
        files = [file for file in sample.table.snapshot.files.values() if file.live]
        kind = chance.choice(["append", "append", "kill", "kill", "compact", "columns"])
        if kind == "kill" and files:
            dead = {
                file.path: chance.sample(range(file.rows), chance.randint(1, file.rows))
                for file in chance.sample(files, min(3, len(files)))
            }
            sample.kill(**dead)
        elif kind == "compact" and files:
            compact(sample)
        elif kind == "columns":
            _change_columns(sample, chance)
        else:
            count = chance.choice([1, 5, 40])
            sample.append(range(last, last + count))
            last += count
        if chance.random() < 0.6:
            published.publish(sample.table)
        if chance.random() < 0.1:
            published.restart()
        if step % 12 == 11:
            published.publish(sample.table)
            rows = delta_rs_rows(published.delta)
            assert pyiceberg_rows(published.folder) == rows, seed
            assert duckdb.rows(published.folder) == rows, seed
    assert polars_rows(published.folder) == delta_rs_rows(published.delta)


def _change_columns(sample: Sample, chance: random.Random) -> None:
    """Drop a column, or add one with a name that was used before."""
    columns = list(sample.table.snapshot.columns)
    metadata = sample.table.snapshot.metadata
    names = {column.name for column in columns}
    missing = [name for name in ("tiny", "money", "vector", "shape") if name not in names]
    if missing and chance.random() < 0.6:
        kinds = {"tiny": pa.int8(), "money": pa.decimal128(10, 2), "vector": _LIST, "shape": _SHAPE}
        name = chance.choice(missing)
        columns += new_columns([(name, kinds[name], {})], metadata.last_id)
    else:
        own = chance.choice(["tiny", "money", "vector", "shape"])
        columns = [column for column in columns if column.name != own]
    with_columns(sample, columns)


_LIST = pa.list_(pa.float32())
_SHAPE = pa.struct([("wkb", pa.binary()), ("srid", pa.int64())])


class Death(BaseException):
    """The process ends here."""


@dataclass(frozen=True)
class MortalStorage(LocalStorage):
    """A storage whose process dies before one of its changes."""

    left: list[int] = field(default_factory=list)

    def _count(self) -> None:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise Death

    def write(self, path: str, content: bytes | memoryview) -> None:
        self._count()
        super().write(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._count()
        return super().put_if_absent(path, content)

    def delete(self, path: str) -> None:
        self._count()
        super().delete(path)


def test_a_publisher_that_dies_between_two_files_leaves_a_table_that_can_be_read(
    sample: Sample, published: Published
) -> None:
    file = sample.append(range(100))
    published.publish(sample.table)
    deaths = 0
    for number in range(100):
        sample.kill(**{file.path: [number]})
        sample.append([number + 100])
        version = sample.table.snapshot.version
        mortal = MortalStorage(str(published.root), [deaths])
        published.restart(mortal)
        try:
            published.publish(sample.table)
        except Death:
            deaths += 1
        else:
            break
        left = published.snapshot().snapshot_id
        assert pyiceberg_rows(published.folder) == delta_rs_rows(published.delta, left)
        # The next process publishes the same snapshot.
        published.restart(LocalStorage(str(published.root)))
        published.publish(sample.table)
        assert published.snapshot().snapshot_id == version
        assert pyiceberg_rows(published.folder) == delta_rs_rows(published.delta)
    # Vectors, two manifests, the list of manifests, metadata, the hint, and old metadata.
    assert deaths == 7


def test_a_published_version_is_not_published_again(sample: Sample, published: Published) -> None:
    sample.append([1])
    first = published.publish(sample.table)
    files = sorted(published.folder.rglob("*"))
    assert published.publish(sample.table) == first
    published.restart()
    assert published.publish(sample.table) == first
    assert sorted(published.folder.rglob("*")) == files


def test_a_mirror_that_was_made_again_is_another_table(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    sample.append(range(20))
    sample.append(range(20))
    published.publish(sample.table)
    for file in list(sample.storage.list(sample.path)):
        sample.storage.delete(f"{sample.path}/{file.name}")
    again = Sample(sample.storage, sample.path)
    again.append([1, 2])
    published.publish(again.table)
    assert published.agree(duckdb) == 2
    table = opened(published.folder).metadata
    assert str(table.table_uuid) == again.table.snapshot.metadata.table_id
    assert [snapshot.snapshot_id for snapshot in table.snapshots] == [1]


def test_a_mirror_that_was_moved_is_published_again(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    file = sample.append(range(20))
    sample.kill(**{file.path: [1]})
    published.publish(sample.table)
    root = published.root.rename(published.root.with_name(f"{published.root.name}-moved"))
    table = DeltaTable.open(LocalStorage(str(root)), sample.path)
    assert table is not None
    moved = Published(LocalStorage(str(root)), sample.path)
    moved.publish(table)
    assert moved.agree(duckdb) == 19


def test_snapshots_files_and_tags_go_when_they_are_old(
    storage: LocalStorage, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = Published(storage, sample.path, snapshots=3)
    cuts: dict[int, int] = {}
    for number in range(1, 9):
        sample.append([number])
        if number in (2, 7):
            cuts[number] = published.at + 10_000
        published.publish(sample.table, cut=number if number in cuts else None, cuts=dict(cuts))
    refs = opened(published.folder).metadata.refs
    assert {name: ref.snapshot_id for name, ref in refs.items()} == {
        "main": 8,
        "cut_2": 2,
        "cut_7": 7,
        "latest_cut": 7,
    }
    ids = [snapshot.snapshot_id for snapshot in opened(published.folder).metadata.snapshots]
    assert ids == [2, 6, 7, 8]
    assert pyiceberg_rows(published.folder, 2) == delta_rs_rows(published.delta, 2)
    # A day later, Delta has deleted what was replaced.
    published.at += 30 * 86_400_000
    sample.append([9])
    published.publish(sample.table, cuts=cuts)
    ids = [snapshot.snapshot_id for snapshot in opened(published.folder).metadata.snapshots]
    assert ids == [8, 9]
    # What nothing names goes now and then, ten minutes after it was written.
    for file in published.folder.rglob("*.avro"):
        os.utime(file, (1, 1))
    monkeypatch.setattr("stream_jobs.iceberg.publisher._SWEEP_EVERY", 10)
    sample.append([10])
    published.publish(sample.table)
    named = {
        entry.name
        for entry in published.folder.glob("metadata/*.avro")
        if entry.stat().st_mtime < 2
    }
    assert pyiceberg_rows(published.folder) == delta_rs_rows(published.delta)
    assert pyiceberg_rows(published.folder, 8) == delta_rs_rows(published.delta, 8)
    assert len(named) <= 12


def refused(call: Any) -> str:
    with pytest.raises(MirrorError) as caught:
        call()
    return str(caught.value)


def test_a_table_that_iceberg_cannot_have_is_refused(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    sample.append([1])
    published.publish(sample.table)
    metadata = sample.table.snapshot.metadata
    columns = list(metadata.columns)
    (own,) = new_columns([("_pos", pa.int64(), {})], metadata.last_id)
    with_columns(sample, [*columns, own])
    assert refused(lambda: published.publish(sample.table)) == (
        "[M811] shop/t: Iceberg cannot have this table: its readers have columns of their own that "
        "are called _pos; rename the column at the source, or leave it out (exclude_columns), and "
        "make the mirror again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; or set "
        'formats = ["delta"] for the table'
    )
    assert published.snapshot().snapshot_id == 1
    (pairs,) = new_columns([("m", pa.map_(pa.string(), pa.int64()), {})], metadata.last_id)
    with_columns(sample, [*columns, pairs])
    assert refused(lambda: published.publish(sample.table)).startswith(
        "[M811] shop/t: Iceberg cannot have this table: column m has the type map, which another "
        "program added; "
    )
    older = Column("v", pa.list_(pa.float32()), metadata.last_id + 9, "c99")
    with_columns(sample, [*columns, older])
    assert refused(lambda: published.publish(sample.table)).startswith(
        "[M812] shop/t: the elements of column v have no ids in the files of this mirror; "
    )
    with_columns(sample, columns)
    published.publish(sample.table)
    assert published.agree(duckdb) == 1


def test_what_another_program_has_written_is_not_continued(
    sample: Sample, published: Published
) -> None:
    sample.append([1])
    published.publish(sample.table)
    path = published.folder / "metadata" / "v1.metadata.json"
    document = json.loads(path.read_text())
    document["snapshots"][0]["summary"]["delta-version"] = "x"
    path.write_text(json.dumps(document))
    published.restart()
    sample.append([2])
    assert refused(lambda: published.publish(sample.table)) == (
        "[M813] _iceberg/shop/t/metadata holds an Iceberg table that this job cannot continue: "
        "v1.metadata.json has a snapshot of another program; delete this folder: the job then "
        "publishes the table again, as it is now"
    )
    path.write_bytes(b"{")
    assert "cannot continue: v1.metadata.json: " in refused(lambda: published.publish(sample.table))
    published.files.delete(sample.path)
    published.publish(sample.table)
    assert published.snapshot().snapshot_id == 2
    for file in published.folder.glob("metadata/snap-*.avro"):
        file.unlink()
    published.restart()
    sample.append([3])
    assert "avro is missing" in refused(lambda: published.publish(sample.table))


def test_of_two_processes_one_is_told(sample: Sample, published: Published) -> None:
    sample.append([1])
    published.publish(sample.table)
    other = Published(LocalStorage(str(published.root)), sample.path)
    sample.append([2])
    other.publish(sample.table)
    sample.append([3])
    assert refused(lambda: published.publish(sample.table)) == (
        "[M814] _iceberg/shop/t/metadata: another process has written version 2 of the Iceberg "
        "table; the job reads it, and tries again; if this goes on, two jobs write there"
    )
    published.publish(sample.table)
    assert pyiceberg_rows(published.folder) == delta_rs_rows(published.delta)


def test_rows_that_another_writer_has_not_counted_are_counted(
    sample: Sample, published: Published, duckdb: DuckDB
) -> None:
    file = replace(sample.write(range(10)), statistics="", rows=-1)
    sample.table.commit(TableCommit(new=[file]), "WRITE")
    published.publish(sample.table)
    assert published.agree(duckdb) == 10
    summary = published.snapshot().summary
    assert summary is not None
    assert summary["total-records"] == "10"
