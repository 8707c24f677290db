"""Spark follows a mirror by its change data feed, and has the same rows after each version."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap

from stream_jobs.apply.modes import MODES
from stream_jobs.delta.change_data import PROPERTY
from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.log import Log
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.readers import DuckDB, opened
from tests.stream_jobs.iceberg.table_story import Published
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.spark

COMING = "insert", "update_postimage"
GOING = "delete", "update_preimage"
ID, NAME = column("id", "int", key=1), column("name", "varchar", length=80)
# What readers add.
OWN = {"_change_type", "_commit_version", "_commit_timestamp"}


def feed(spark: SparkSession, path: str, start: int, end: int) -> list[dict[str, Any]]:
    """The rows of the feed, in the order of their versions."""
    options: dict[str, str | int] = {
        "readChangeFeed": "true",
        "startingVersion": start,
        "endingVersion": end,
    }
    data = spark.read.format("delta").options(**options).load(path).toArrow()
    return sorted(data.to_pylist(), key=lambda row: row["_commit_version"])


def values(row: dict[str, Any]) -> str:
    """What a row is, however many columns that are NULL the table has got since."""
    known = {name: str(value) for name, value in row.items() if value is not None}
    return repr({name: text for name, text in known.items() if name not in OWN})


def follow(state: Counter[str], changes: list[dict[str, Any]]) -> None:
    """Apply changes of one version: what goes must be there."""
    for row in changes:
        if row["_change_type"] in GOING:
            state[values(row)] -= 1
        else:
            assert row["_change_type"] in COMING
            state[values(row)] += 1
    assert min(state.values(), default=0) >= 0
    for gone in [row for row, count in state.items() if not count]:
        del state[gone]


def check(spark: SparkSession, table: DeltaTable, path: str) -> list[dict[str, Any]]:
    """Follow the feed through all versions, each of which must be there; return the feed."""
    last = table.snapshot.version
    changes = feed(spark, path, 0, last)
    log = Log(table.storage, table.path)
    state: Counter[str] = Counter()
    for version in range(last + 1):
        follow(state, [row for row in changes if row["_commit_version"] == version])
        snapshot = log.load_version(version)
        files = snapshot.files.values()
        rows = [live_rows(log.storage, log.path, file, snapshot.columns) for file in files]
        assert state == Counter(values(row) for data in rows for row in data.to_pylist()), version
    return changes


def net_changes(changes: list[dict[str, Any]]) -> Counter[str]:
    """What comes, less what goes, over all versions of a feed."""
    net: Counter[str] = Counter()
    for row in changes:
        net[values(row)] += 1 if row["_change_type"] in COMING else -1
    return Counter({row: count for row, count in net.items() if count})


def iceberg_changes(duckdb: DuckDB, folder: Path, start: int, end: int) -> Counter[str]:
    """What comes, less what goes, from a snapshot to a later one: as docs/tasks/iceberg.md says."""
    duckdb.query("SET enable_external_file_cache = false")
    before, after = (
        f"iceberg_scan('{folder}', snapshot_from_id => {number})" for number in (start, end)
    )
    ((since,),) = duckdb.query(
        f"SELECT sequence_number FROM iceberg_snapshots('{folder}') WHERE snapshot_id = {start}"
    )
    new = f"SELECT * FROM {after} WHERE _last_updated_sequence_number > {since}"
    come = duckdb.table(new).to_pylist()
    # Of these, some have only moved to another file.
    keys = ", ".join(str(row["id"]) for row in come) or "NULL"
    known = duckdb.table(f"SELECT * FROM {before} WHERE id IN ({keys})").to_pylist()
    gone = duckdb.table(f"SELECT b.* FROM {before} b ANTI JOIN {after} a USING (id)").to_pylist()
    net = Counter(map(values, come))
    net.subtract(map(values, known + gone))
    return Counter({row: count for row, count in net.items() if count})


@pytest.mark.parametrize("seed", [20, 21])
def test_random_commits(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    random = Random(seed)
    storage = LocalStorage(str(tmp_path))
    sample = Sample(storage, "shop/t", {PROPERTY: "true"})
    iceberg = Published(storage, "shop/t")
    path = str(tmp_path / "shop" / "t")
    place: dict[int, tuple[str, int]] = {}
    iceberg.publish(sample.table)
    for _ in range(12):
        step = random.choice(["merge", "merge", "merge", "delete", "compact", "truncate"])
        files = list(sample.table.snapshot.files.values())
        if step == "merge":
            ids = random.sample(range(30), random.randint(1, 8))
            dead: dict[str, list[int]] = {}
            gone = random.sample(sorted(place), min(len(place), random.randint(0, 2)))
            for number in {*ids, *gone} & place.keys():
                file, position = place.pop(number)
                dead.setdefault(file, []).append(position)
            new = sample.write(ids)
            place |= {number: (new.path, at) for at, number in enumerate(ids)}
            maps = {file: BitMap(found).serialize() for file, found in dead.items()}
            sample.table.commit(TableCommit(new=[new], dead=maps, key=["id"]), "MERGE")
        elif step == "delete" and place:
            number = random.choice(sorted(place))
            file, position = place.pop(number)
            sample.kill(**{file: [position]})
        elif step == "compact" and len(files) > 1:
            (one,) = rewrite(storage, "shop/t", sample.table.snapshot.columns, files, ["id"])
            assert one is not None
            change = TableCommit(new=[one], removed=files, data_change=False)
            sample.table.commit(change, "OPTIMIZE")
            place = {number: (one.path, at) for at, number in enumerate(sorted(place))}
        elif step == "truncate" and files:
            sample.kill(**{file.path: range(file.rows) for file in files})
            place.clear()
        # Not each version becomes a snapshot.
        if random.random() < 0.7:
            iceberg.publish(sample.table)
    numbers = [own.snapshot_id for own in opened(iceberg.folder).metadata.snapshots]
    duckdb = DuckDB()
    for start, end in combinations(numbers, 2):
        of_delta = net_changes(feed(spark, path, start + 1, end))
        assert iceberg_changes(duckdb, iceberg.folder, start, end) == of_delta, (start, end)
    changes = check(spark, sample.table, path)
    assert {row["_change_type"] for row in changes} == {*COMING, *GOING}
    by_key = [
        {(row["_commit_version"], row["id"]) for row in changes if row["_change_type"] == kind}
        for kind in ("update_preimage", "update_postimage", "insert", "delete")
    ]
    assert by_key[0] == by_key[1]
    # No key is inserted and deleted at once: that is an update.
    assert not by_key[2] & by_key[3]


@pytest.mark.kafka
@pytest.mark.parametrize("mode", [mode.name for mode in MODES.values() if not mode.refuses_key])
def test_a_reader_follows_a_mirror(mode: str, spark: SparkSession, kafka: Kafka, job: Job) -> None:
    partition_by = ["id"] if mode == "current" else []
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    sections: dict[str, Any] = {
        "mirror": {"change_data_feed": True},
        "tables": [{"match": ["shop.items"], "mode": mode, "partition_by": partition_by}],
    }
    one, two, three = ({"id": n, "name": f"item {n}"} for n in (1, 2, 3))
    table.insert(one, two, three)
    job.apply(**sections)
    table.update(one, {"id": 1, "name": "other"})
    table.update(two, {"id": 4, "name": "key"})
    table.delete(three)
    job.apply(**sections)
    table.truncate()
    table.insert(two)
    job.apply(**sections)
    wider = table.alter(ID, NAME, column("amount", "int"))
    wider.update(two | {"amount": None}, two | {"amount": 5})
    job.apply(**sections)
    path = str(job.folder / "mirror" / "shop" / "items")
    delta = DeltaTable.open(LocalStorage(str(job.folder)), "mirror/shop/items")
    assert delta is not None
    changes = check(spark, delta, path)
    assert {row["amount"] for row in changes if row["_change_type"] in COMING} == {None, 5}
    kinds = Counter(row["_change_type"] for row in changes if row["id"] == 1)
    assert kinds["update_preimage"] == kinds["update_postimage"]
    # A row of a journal never changes.
    assert bool(kinds["update_preimage"]) == (mode != "journal")


@pytest.mark.kafka
def test_spark_switches_the_feed_of_a_mirror_on(
    spark: SparkSession, kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    table.insert({"id": 1, "name": "one"}, {"id": 2, "name": "two"})
    job.apply()
    path = job.folder / "mirror" / "shop" / "items"
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{PROPERTY}' = 'true')")
    table.update({"id": 1, "name": "one"}, {"id": 1, "name": "other"})
    job.apply()
    delta = DeltaTable.open(LocalStorage(str(job.folder)), "mirror/shop/items")
    assert delta is not None
    # Version 2 is that of Spark; a compaction may have followed.
    known = feed(spark, str(path), 2, delta.snapshot.version)
    changes = [(row["_change_type"], row["name"]) for row in known]
    assert sorted(changes) == [("update_postimage", "other"), ("update_preimage", "one")]
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{PROPERTY}' = 'false')")
    files = len(list(path.glob("_change_data/*")))
    table.update({"id": 1, "name": "other"}, {"id": 1, "name": "last"})
    job.apply()
    assert len(list(path.glob("_change_data/*"))) == files
    assert job.rows("items") == [(1, "last"), (2, "two")]


@pytest.mark.kafka
def test_iceberg_gives_the_same_changes(spark: SparkSession, kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", (ID, NAME)).create()
    sections = {"mirror": {"change_data_feed": True, "formats": ["delta", "iceberg"]}}
    one, two, three = ({"id": n, "name": f"item {n}"} for n in (1, 2, 3))
    table.insert(one, two)
    job.apply(**sections)
    table.update(one, {"id": 1, "name": "passing"})
    table.insert(three)
    job.apply(**sections)
    table.update({"id": 1, "name": "passing"}, {"id": 1, "name": "last"})
    table.delete(three, two)
    job.apply(**sections)
    mirror = job.folder / "mirror"
    folder, duckdb = mirror / "_iceberg" / "shop" / "items", DuckDB()
    iceberg = opened(folder)
    numbers = sorted(snapshot.snapshot_id for snapshot in iceberg.metadata.snapshots)
    assert len(numbers) == 3
    for start, end in pairwise(numbers):
        changes = feed(spark, str(mirror / "shop" / "items"), start + 1, end)
        gone, come = (
            Counter(values(row) for row in changes if row["_change_type"] in kinds)
            for kinds in (GOING, COMING)
        )
        before, after = (
            Counter(map(values, iceberg.scan(snapshot_id=number).to_arrow().to_pylist()))
            for number in (start, end)
        )
        assert come
        assert (after - before, before - after) == (come - gone, gone - come)
        # Also by the rows that are new, without a look at the others.
        assert iceberg_changes(duckdb, folder, start, end) == net_changes(changes)
