"""After every kind of commit three readers see the same rows, and other writers are understood."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.delta import deletion_vectors
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.housekeeping import clean_log, vacuum, write_checkpoint
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict
from stream_jobs.paths import table_path
from tests.integration.mirror.readers import delta_rs_rows, kernel_rows, spark_rows
from tests.length import full_only, length
from tests.stream_jobs.delta.sample import HOSTILE, Sample, live
from tests.stream_jobs.iceberg.independent_readers import spark_readers
from tests.stream_jobs.iceberg.reader_table import line, made, require

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    # Compares the readers, and returns the ids of the rows.
    Agree = Callable[[DeltaTable], list[int]]

pytestmark = pytest.mark.spark

DAY = 86_400_000
NOW = 4_000_000_000_000  # milliseconds since 1970: after all that the tests write


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


@pytest.fixture
def sample(storage: LocalStorage) -> Sample:
    return Sample(storage, "shop/orders", {"delta.checkpointInterval": "1000000"})


@pytest.fixture
def agree(spark: SparkSession, tmp_path: Path) -> Agree:
    """All readers see what we see, in the cached state and in the log; returns the ids."""

    def check(table: DeltaTable) -> list[int]:
        anew = DeltaTable.open(table.storage, table.path)
        assert anew is not None
        assert anew.snapshot == table.snapshot
        found = live(anew)
        ours = [tuple(map(_plain, row.values())) for row in found]
        path = f"{tmp_path}/{table.path}"
        assert spark_rows(spark, path) == ours
        assert delta_rs_rows(path) == ours
        assert kernel_rows(spark, path) == ours
        return [row["id"] for row in found]

    return check


def _plain(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def test_the_page_says_what_spark_and_kernel_read(spark: SparkSession, tmp_path: Path) -> None:
    cases = made(tmp_path)
    require(*(line(reader, cases) for reader in spark_readers(spark)))


@full_only
def test_readers_agree_after_every_commit_of_rows(
    sample: Sample, agree: Agree, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sample.table
    monkeypatch.setattr(deletion_vectors, "WITHIN_MAX", 0)
    assert agree(table) == []
    first = sample.append(range(10))
    second = sample.append([])
    third = sample.write(range(3, 6))
    dead = {first.path: BitMap([3, 4, 5]).serialize()}
    table.commit(TableCommit(new=[third], dead=dead, domains={"own": "{}"}), "MERGE")
    assert agree(table) == list(range(10))
    sample.kill(**{first.path: [0, 9], third.path: [1]})
    write_checkpoint(table)
    assert agree(table) == [1, 2, 3, 5, 6, 7, 8]
    monkeypatch.undo()
    sample.kill(**{third.path: [0, 2], first.path: [1]})
    assert agree(table) == [2, 6, 7, 8]
    assert third.path not in table.snapshot.files
    files = list(table.snapshot.files.values())
    (new,) = rewrite(sample.storage, sample.path, table.snapshot.columns, files, ["id"])
    table.commit(TableCommit(new=[new], removed=files, data_change=False), "OPTIMIZE")
    assert agree(table) == [2, 6, 7, 8]
    assert second.path not in table.snapshot.files
    write_checkpoint(table, NOW)
    assert clean_log(table, NOW + 31 * DAY) > 0
    assert vacuum(table, 100, NOW + 8 * DAY).files == 5
    assert agree(table) == [2, 6, 7, 8]


@full_only
def test_readers_agree_after_every_change_of_columns(sample: Sample, agree: Agree) -> None:
    table = sample.table
    sample.append(range(4))
    expected = list(range(4))
    for change in (_added, _renamed, _dropped, _moved, _added_again):
        metadata = change(table.snapshot.metadata)
        table.commit(TableCommit(metadata=metadata), "ALTER TABLE")
        sample.append([len(expected)])
        expected.append(len(expected))
        assert agree(table) == expected


def _added(metadata: Metadata) -> Metadata:
    kind = pa.struct([("a", pa.int32())])
    column = new_columns([("new", kind, {"comment": "é`'"})], metadata.last_id)
    first, *others = metadata.columns
    return metadata.with_columns([first, *column, *others])


def _renamed(metadata: Metadata) -> Metadata:
    names = {"new": "tiny", "tiny": "new"}  # two columns that swap their names
    return metadata.with_columns(
        column._replace(name=names.get(column.name, column.name)) for column in metadata.columns
    )


def _dropped(metadata: Metadata) -> Metadata:
    return metadata.with_columns(c for c in metadata.columns if c.name not in {"new", "money"})


def _moved(metadata: Metadata) -> Metadata:
    first, *others = metadata.columns
    return metadata.with_columns([first, *reversed(others)])


def _added_again(metadata: Metadata) -> Metadata:
    """A column has the name of one that was dropped, and none of its values."""
    column = new_columns([("money", pa.decimal128(10, 2), {})], metadata.last_id)
    return metadata.with_columns([*metadata.columns, *column])


@full_only
def test_readers_agree_after_types_were_widened(sample: Sample, agree: Agree) -> None:
    table = sample.table
    first, second = sample.append(range(5)), sample.append(range(5, 9))
    sample.kill(**{first.path: [0]})
    wider = {
        "tiny": pa.int32(),
        "small": pa.int64(),
        "int": pa.decimal128(20, 0),
        "money": pa.decimal128(14, 4),
        "float": pa.float64(),
        "date": pa.timestamp("us"),
        "big": pa.string(),
    }
    columns = [c._replace(type=wider.get(c.name, c.type)) for c in table.snapshot.columns]
    old = list(table.snapshot.files.values())
    new = [f for file in old for f in rewrite(sample.storage, sample.path, columns, [file], ["id"])]
    metadata = table.snapshot.metadata.with_columns(columns)
    change = TableCommit(new=new, removed=old, metadata=metadata)
    table.commit(change, "CHANGE COLUMN")
    assert agree(table) == list(range(1, 9))
    assert second.path not in table.snapshot.files
    assert [row["big"] for row in live(table)][:3] == [str(2**63 - 1), None, str(-(2**63))]


@full_only
def test_readers_agree_on_a_table_with_partitions(storage: LocalStorage, agree: Agree) -> None:
    columns = new_columns(
        [("id", pa.int64(), {}), ("day", pa.date32(), {}), (HOSTILE, pa.string(), {})]
    )
    metadata = Metadata(columns, partition_columns=("day", HOSTILE))
    # Its folder has marks in the place of special characters.
    table = DeltaTable.create(storage, table_path("a b", "_t$1%é"), metadata)
    values = [("2020-01-01", "a/b %20="), ("0001-01-01", "é"), (None, None)]
    new = [
        write_file(
            storage,
            table.path,
            table.snapshot.metadata.file_columns,
            pa.table({"id": [place, place + 10]}),
            partition_values={columns[1].physical_name: day, columns[2].physical_name: text},
        )
        for place, (day, text) in enumerate(values)
    ]
    table.commit(TableCommit(new=new), "WRITE")
    assert agree(table) == [0, 1, 2, 10, 11, 12]
    sample_dead = {new[0].path: BitMap([0]).serialize()}
    table.commit(TableCommit(dead=sample_dead), "DELETE")
    write_checkpoint(table)
    assert agree(table) == [1, 2, 10, 11, 12]


@full_only
def test_spark_knows_the_clustering_columns(
    spark: SparkSession, storage: LocalStorage, tmp_path: Path, agree: Agree
) -> None:
    columns = new_columns([("id", pa.int64(), {}), (HOSTILE, pa.string(), {})])
    table = DeltaTable.create(storage, "t", Metadata(columns), clustering=[HOSTILE])
    for number in range(2):
        data = pa.table({"id": [number], HOSTILE: [str(number)]})
        new = write_file(storage, "t", columns, data, key=["id", HOSTILE])
        table.commit(TableCommit(new=[new]), "WRITE")
    (detail,) = spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/t`").collect()
    assert detail["clusteringColumns"] == [f"`{HOSTILE.replace('`', '``')}`"]
    spark.sql(f"OPTIMIZE delta.`{tmp_path}/t`")
    assert len(table.refresh().files) == 1
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/t` CLUSTER BY (id)")
    assert table.refresh().clustering == ("id",)
    assert agree(table) == [0, 1]


@full_only
def test_what_spark_commits_is_read_and_continued(
    spark: SparkSession, sample: Sample, agree: Agree, tmp_path: Path
) -> None:
    table, name = sample.table, f"delta.`{tmp_path}/{sample.path}`"
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    # One task to list the folder of a table, not ten thousand.
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
    for start in range(0, 40, 10):
        sample.append(range(start, start + 10), domains={"own": str(start)})
    statements = [
        f"UPDATE {name} SET `int` = 7, `timestamp` = '2020-01-01T00:00:00Z' WHERE id % 10 = 3",
        f"DELETE FROM {name} WHERE id IN (1, 11, 12)",
        f"OPTIMIZE {name}",
        f"ALTER TABLE {name} ADD COLUMNS (`by spark` STRUCT<x: INT, `y y`: STRING> AFTER id)",
        f"ALTER TABLE {name} RENAME COLUMN money TO cash",
        f"ALTER TABLE {name} DROP COLUMN wide",
        f"INSERT INTO {name} (id, tiny) VALUES (100, 1), (101, 2)",
        f"UPDATE {name} SET `by spark` = named_struct('x', 1, 'y y', 'z') WHERE id = 5",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = 'b', 'delta.checkpointInterval' = '1')",
        f"DELETE FROM {name} WHERE id = 0",  # with a checkpoint by Spark
        f"VACUUM {name} RETAIN 0 HOURS",
    ]
    expected = set(range(40))
    for statement in statements:
        before = table.snapshot
        spark.sql(statement)
        assert table.refresh().version > before.version
    expected = expected - {0, 1, 11, 12} | {100, 101}
    assert _latest(table)["by spark"] is None
    # Ours again, on top of files, vectors, columns and a checkpoint of Spark's.
    assert set(sample.ids()) == expected
    assert table.snapshot.domains == {"own": "30"}
    file = next(iter(table.snapshot.files.values()))
    sample.kill(**{file.path: [6]})
    sample.table = table
    assert len(agree(table)) == len(expected) - 1


def _latest(table: DeltaTable) -> dict[str, Any]:
    return live(table)[-1]


@full_only
def test_no_row_is_lost_while_spark_optimizes(
    spark: SparkSession, sample: Sample, agree: Agree, tmp_path: Path
) -> None:
    """Commits of both meet, and files become one while others are added."""
    # Enough files for an OPTIMIZE that is faster than our commits.
    for number in range(4):
        sample.append([number], domains={"last": str(number)})
    with ThreadPoolExecutor(1) as pool:
        optimizing = pool.submit(_optimize, spark, f"delta.`{tmp_path}/{sample.path}`")
        while not optimizing.done():
            # The progress is part of the commit, so a lost commit is applied again.
            number = int(sample.table.snapshot.domains["last"]) + 1
            change = TableCommit([sample.write([number])], domains={"last": str(number)})
            try:
                sample.table.commit(change, "WRITE")
            except CommitConflict:
                sample.table.refresh()
            # Spark looks at each commit that was faster: one that commits all the time starves it.
            time.sleep(0.5)
        optimizing.result()
    snapshot = sample.table.refresh()
    last = int(snapshot.domains["last"])
    assert len(snapshot.files) < last
    assert agree(sample.table) == list(range(last + 1))


def _optimize(spark: SparkSession, name: str) -> None:
    for _ in range(length(short=1, full=2)):
        spark.sql(f"OPTIMIZE {name}")
