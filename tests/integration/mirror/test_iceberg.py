"""Mirrors are Iceberg tables, too: in each mode, after each change, and at one moment by tags."""

from __future__ import annotations

import io
import json
import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.cuts import read_cuts
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta.housekeeping import CHECKPOINT_INTERVAL, clean_up, vacuum
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import MirrorError
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.commands import show_cuts
from stream_jobs.run.iceberg_publication import IcebergPublication
from stream_jobs.run.metrics_server import PREFIX, MetricsCollector
from stream_jobs.run.publication_thread import publishing
from stream_jobs.run.status import show_status
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.maintenance import ChangedTable
from stream_jobs.tables.mirror_table import MirrorTable
from tests.integration.harness import wait_until
from tests.integration.mirror.conftest import run_in_process
from tests.length import full_only
from tests.stream.metrics.served import served_figures
from tests.stream_jobs.iceberg.readers import (
    DuckDB,
    delta_rs_rows,
    opened,
    pyiceberg_rows,
)
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from stream_jobs.run.batch import BatchApplier
    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

BOTH = {"mirror": {"formats": ["delta", "iceberg"]}}
ID, AMOUNT = column("id", "int", key=1), column("amount", "int")
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


def folder(job: Job, table: str) -> Path:
    return job.folder / "mirror" / "_iceberg" / "shop" / table


def agree(job: Job, table: str, duckdb: DuckDB) -> list[tuple[Any, ...]]:
    rows = delta_rs_rows(job.folder / "mirror" / "shop" / table)
    assert pyiceberg_rows(folder(job, table)) == rows
    assert duckdb.rows(folder(job, table)) == rows
    return rows


def transfer(kafka: Kafka, tables: list[SourceTable], amount: int) -> None:
    """Move money in one transaction: both tables together have 100."""
    savings, wallet = tables
    with kafka.transaction():
        savings.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": 100 - amount})
        wallet.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": amount})
        kafka.progress()


@pytest.fixture
def tables(kafka: Kafka) -> list[SourceTable]:
    return [SourceTable(kafka, name, (ID, AMOUNT)).create() for name in ("savings", "wallet")]


@pytest.mark.parametrize(
    "mode",
    [
        "current",
        "history",
        *(pytest.param(mode, marks=full_only) for mode in ("soft_delete", "journal", "rows")),
    ],
)
def test_each_mode_and_each_change_of_columns_is_read_as_delta_rs_reads_it(
    kafka: Kafka, job: Job, duckdb: DuckDB, mode: str
) -> None:
    key = None if mode == "rows" else 1
    first = column("id", "int") if key is None else ID
    table = SourceTable(
        kafka, "t", (first, column("price", "decimal", precision=8, scale=2))
    ).create()
    settings: dict[str, Any] = BOTH | {"tables": [{"match": ["shop.t"], "mode": mode}]}
    rows = [{"id": number, "price": f"{number}.50"} for number in range(8)]
    table.insert(*rows)
    job.apply(**settings)
    table.update(rows[1], {"id": 1, "price": "7.00"})
    table.delete(rows[2])
    job.apply(**settings)
    before = agree(job, "t", duckdb)
    assert len(before) >= 7
    wide = column("price", "decimal", precision=12, scale=4)
    vector = column("vector", "vector", nullable=True)
    wider = table.alter(first, vector, wide)
    wider.insert({"id": 9, "vector": [1.0, -2.5], "price": "3.0000"})
    job.apply(**settings)
    assert len(agree(job, "t", duckdb)) == len(before) + 1
    wider.alter(first, wide).insert({"id": 10, "price": "3.0000"})
    job.apply(**settings)
    assert len(agree(job, "t", duckdb)) == len(before) + 2
    wider.truncate()
    job.apply(**settings)
    agree(job, "t", duckdb)


def test_values_of_partitions_stay_in_their_columns(kafka: Kafka, job: Job, duckdb: DuckDB) -> None:
    country, city = (column(name, "varchar", length=8) for name in ("country", "city"))
    table = SourceTable(kafka, "t", (ID, country, city)).create()
    parts = {"match": ["shop.t"], "partition_by": ["country", "city"]}
    settings: dict[str, Any] = BOTH | {"tables": [parts]}
    table.insert({"id": 1, "country": "de", "city": "Ulm"})
    job.apply(**settings)
    table.alter(ID, city, country).insert({"id": 2, "city": "Lyon", "country": "fr"})
    job.apply(**settings)
    expected = [(1, "Ulm", "de"), (2, "Lyon", "fr")]
    assert [row[:3] for row in agree(job, "t", duckdb)] == expected
    # A job that starts looks at them, also if no row has changed.
    path = max(folder(job, "t").glob("metadata/v*.metadata.json"))
    document = json.loads(path.read_text())
    one, other = document["partition-specs"][0]["fields"]
    one["field-id"], other["field-id"] = other["field-id"], one["field-id"]
    path.write_text(json.dumps(document))
    job.apply(**settings)
    assert [row[:3] for row in agree(job, "t", duckdb)] == expected


def test_all_tables_have_the_tag_of_a_cut_and_are_of_one_moment(
    kafka: Kafka, job: Job, tables: list[SourceTable], duckdb: DuckDB
) -> None:
    other = SourceTable(kafka, "other", (ID, AMOUNT)).create()
    other.insert({"id": 1, "amount": 5})
    for amount in (10, 20, 30):
        transfer(kafka, tables, amount)
        job.apply(**BOTH)
    path = str(job.folder / "mirror")
    newest = mirror_at(path, format="iceberg")
    assert newest.tag == "cut_3"
    assert newest.cut == read_cuts(LocalStorage(path))[-1]
    for number, amount in ((1, 10), (2, 20), (3, 30)):
        gtid = read_cuts(LocalStorage(path))[number - 1].gtid
        found = mirror_at(path, gtid=gtid, format="iceberg")
        assert found.cut.number == number
        names = ("shop.savings", "shop.wallet", "shop.other")
        assert found.tables.keys() == set(names)
        for name, expected in zip(names, (100 - amount, amount, 5), strict=True):
            uri, snapshot = found.tables[name]
            own = opened(job.folder / uri.removeprefix(f"file://{job.folder}/"))
            refs = own.metadata.refs
            # The version of the Delta table, by its number and by its tag.
            assert snapshot == found.cut.tables[name].version
            assert refs[f"cut_{number}"].snapshot_id == snapshot
            rows = pyiceberg_rows(folder(job, name.removeprefix("shop.")), snapshot)
            assert [row[:2] for row in rows] == [(1, expected)]
    savings = opened(folder(job, "savings")).metadata
    assert savings.refs["latest_cut"].snapshot_id == savings.current_snapshot_id
    summary = savings.snapshots[-1].summary
    assert summary is not None
    assert {name: summary[name] for name in ("cdc.cut", "cdc.gtid", "cdc.seq")} == {
        "cdc.cut": "3",
        "cdc.gtid": newest.cut.gtid,
        "cdc.seq": newest.cut.seq,
    }
    assert summary["cdc.source-time-ms"] == str(newest.cut.source_time_ms)
    shown, as_json = io.StringIO(), io.StringIO()
    show_cuts(job.settings(**BOTH), shown, as_json=False)
    show_cuts(job.settings(**BOTH), as_json, as_json=True)
    assert [line.split()[-1] for line in shown.getvalue().splitlines()[1:]] == [
        "cut_1",
        "cut_2",
        "cut_3",
    ]
    listed = json.loads(as_json.getvalue())["cuts"]
    assert [cut["iceberg_tag"] for cut in listed] == ["cut_1", "cut_2", "cut_3"]
    # A cut without a change of a table is a tag more.
    kafka.next_sequence()
    with kafka.transaction():
        kafka.progress()
    job.run(**BOTH)
    assert mirror_at(path, format="iceberg").tag == "cut_4"
    agree(job, "other", duckdb)


def test_the_last_cut_of_a_job_that_was_killed_gets_its_tag_from_the_next_one(
    kafka: Kafka, job: Job, tables: list[SourceTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer(kafka, tables, 10)
    with monkeypatch.context() as killed:
        killed.setattr(IcebergPublication, "finish", lambda _: None)
        job.apply(**BOTH)
    # The source rests, so there is no other cut.
    job.run(**BOTH)
    path = str(job.folder / "mirror")
    assert mirror_at(path, format="iceberg").tag == "cut_1"
    assert len(read_cuts(LocalStorage(path))) == 1


def test_a_mirror_without_iceberg_has_no_cut_there(
    kafka: Kafka, job: Job, tables: list[SourceTable]
) -> None:
    transfer(kafka, tables, 10)
    job.apply()
    path = str(job.folder / "mirror")
    with pytest.raises(MirrorError, match=r"\[M807\] the mirror at .* has no cut yet in Iceberg;"):
        mirror_at(path, format="iceberg")
    assert not (job.folder / "mirror" / "_iceberg").exists()
    out = io.StringIO()
    show_cuts(job.settings(), out, as_json=False)
    assert "Iceberg" not in out.getvalue()


def test_the_format_is_switched_on_and_off_for_mirrors_that_exist(
    kafka: Kafka, job: Job, tables: list[SourceTable], duckdb: DuckDB
) -> None:
    transfer(kafka, tables, 10)
    job.apply()
    choice = {"tables": [{"match": ["shop.wallet"], "formats": ["delta", "iceberg"]}]}
    # Nothing has changed since.
    job.run(**choice)
    assert not folder(job, "savings").exists()
    assert len(agree(job, "wallet", duckdb)) == 1
    job.run(**BOTH)
    assert len(agree(job, "savings", duckdb)) == 1
    before = pyiceberg_rows(folder(job, "wallet"))
    transfer(kafka, tables, 20)
    job.apply()
    at = opened(folder(job, "savings")).metadata.last_updated_ms
    for off in ({}, choice):
        own, text = shown(job, **off)
        # Three quarters of six hours.
        until = datetime.fromtimestamp(at / 1000 + 4.5 * 3600, UTC).isoformat(timespec="seconds")
        assert (own["iceberg_version"], own["iceberg_until"]) == (1, until)
        assert f"1, kept until {until}" in text
    # What Iceberg's record says does not matter without the format.
    record = job.folder / "mirror" / "_cdc" / "iceberg" / "newest.json"
    whole = record.read_bytes()
    record.write_bytes(b"{")
    assert shown(job)[0]["state"] == "current"
    show_cuts(job.settings(), io.StringIO(), as_json=False)
    record.write_bytes(whole)
    assert pyiceberg_rows(folder(job, "wallet")) == before
    job.run(**BOTH)
    assert [row[:2] for row in agree(job, "wallet", duckdb)] == [(1, 20)]


def shown(job: Job, **sections: Any) -> tuple[dict[str, Any], str]:
    """What `status` says of the table `savings`, and what people see."""
    out, text = io.StringIO(), io.StringIO()
    settings = job.settings(**sections)
    show_status(settings, job.folder / "job.toml", out, as_json=True)
    show_status(settings, job.folder / "job.toml", text, as_json=False)
    (own,) = [t for t in json.loads(out.getvalue())["tables"] if t["table"] == "shop.savings"]
    return own, text.getvalue()


def figure(job: Job, name: str, table: str) -> float:
    figures = served_figures(MetricsCollector(job.figures), PREFIX)
    return float(figures[f'{name}{{database="shop",pipeline="test",table="{table}"}}'])


def test_what_cannot_be_published_stops_nothing_and_is_tried_again(
    kafka: Kafka, job: Job, tables: list[SourceTable], duckdb: DuckDB
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**BOTH)
    own, text = shown(job, **BOTH)
    assert (own["iceberg_version"], own["iceberg_until"]) == (1, None)
    assert figure(job, "iceberg_lag_seconds", "savings") == 0
    metadata = folder(job, "savings") / "metadata"
    moved = metadata.rename(metadata.with_name("moved"))
    metadata.write_bytes(b"no folder")
    transfer(kafka, tables, 20)
    assert job.apply(**BOTH)["tables"]["shop.savings"]["version"] == 2
    assert figure(job, "iceberg_lag_seconds", "savings") > 0
    assert figure(job, "iceberg_failures_total", "savings") >= 1
    assert figure(job, "iceberg_lag_seconds", "wallet") == 0
    own, text = shown(job, **BOTH)
    assert own["iceberg_code"] == "M502"
    assert own["state"] == "current"
    assert f"shop.savings: not published to Iceberg since {own['iceberg_since']}, [M502] " in text
    metadata.unlink()
    moved.rename(metadata)
    job.run(**BOTH)
    assert [row[:2] for row in agree(job, "savings", duckdb)] == [(1, 80)]
    own, text = shown(job, **BOTH)
    assert (own["iceberg_version"], own["iceberg_code"]) == (2, None)


def test_a_column_that_iceberg_keeps_for_itself_stops_the_iceberg_table_alone(
    kafka: Kafka, job: Job, tables: list[SourceTable]
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**BOTH)
    savings = tables[0].alter(ID, AMOUNT, column("_pos", "int"))
    with kafka.transaction():
        savings.send("c", None, {"id": 2, "amount": 5, "_pos": 6})
        kafka.progress()
    job.apply(**BOTH)
    assert job.rows("savings", "id", "_pos") == [(1, None), (2, 6)]
    own, text = shown(job, **BOTH)
    assert (own["iceberg_version"], own["iceberg_code"]) == (1, "M811")
    assert "its readers have columns of their own that are called _pos" in text
    assert [row[:2] for row in pyiceberg_rows(folder(job, "savings"))] == [(1, 90)]


def test_a_mirror_that_is_made_again_is_published_again(
    kafka: Kafka, job: Job, tables: list[SourceTable], duckdb: DuckDB
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**BOTH)
    first = opened(folder(job, "savings")).metadata.table_uuid
    for file in job.folder.glob("mirror/shop/savings/_delta_log/*.json"):
        file.write_bytes(b"{")
    transfer(kafka, tables, 20)
    job.quarantined(**BOTH)
    job.resume("shop.savings", rebuild=True)
    job.run(**BOTH)
    assert opened(folder(job, "savings")).metadata.table_uuid != first
    assert [row[:2] for row in agree(job, "savings", duckdb)] == [(1, 80)]


@pytest.fixture
def applier(job: Job) -> Iterator[BatchApplier]:
    settings = job.settings(**BOTH)
    client = KafkaClient(settings.kafka.facts())
    yield batch_applier(settings, client, run_in_process, lambda: 2)
    client.close()


def apply(applier: BatchApplier, kafka: Kafka, tables: list[SourceTable]) -> None:
    """Apply everything that is in the topics."""
    kafka.settle()
    applier.apply(
        [
            OffsetRange(table.topic, int(number), 0, end)
            for table in tables
            for number, end in kafka.end_offsets(table.topic).items()
        ]
    )


def test_a_compaction_alone_replaces_files_and_no_rows(
    kafka: Kafka, job: Job, tables: list[SourceTable], applier: BatchApplier, duckdb: DuckDB
) -> None:
    assert applier.iceberg is not None
    for number in range(8):
        with kafka.transaction():
            tables[0].send("c", None, {"id": number, "amount": 1})
            kafka.progress()
        apply(applier, kafka, tables)
        applier.iceberg.publish()
    # The batch of the last cut has compacted the table after it.
    applier.iceberg.publish()
    snapshots = opened(folder(job, "savings")).metadata.snapshots
    operations = [s.summary.operation.value for s in snapshots if s.summary is not None]
    assert operations == ["append"] * 8 + ["replace"]
    assert len(agree(job, "savings", duckdb)) == 8


def test_delta_keeps_the_files_of_what_is_published(
    kafka: Kafka, job: Job, tables: list[SourceTable], applier: BatchApplier
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**BOTH)
    storage = LocalStorage(str(job.folder / "mirror"))
    mirror = MirrorTable.open(storage, "shop/savings", "shop.savings", "mirror")
    assert mirror is not None
    own = ChangedTable(tables[0].topic, mirror, ("id",))
    assert applier.iceberg is not None
    applier.services.registry.refresh()
    later = int(time.time() * 1000) + 30 * DAY_MS
    kept = applier.iceberg.kept_since(own, later)
    assert kept < later - 29 * DAY_MS
    assert applier.iceberg.kept_since(own, kept - 1) == kept - 1
    # So many versions that the next clean-up is due, and none is published.
    (old,) = mirror.delta.snapshot.files.values()
    often = mirror.delta.snapshot.metadata.with_properties({CHECKPOINT_INTERVAL: "1"})
    mirror.delta.commit(TableCommit(metadata=often, removed=[old]), "TRUNCATE")
    for _ in range(10):
        mirror.delta.commit(TableCommit(), "MERGE")
    clean_up(mirror.delta, applier.iceberg.kept_since(own, later))
    assert [row[:2] for row in pyiceberg_rows(folder(job, "savings"))] == [(1, 90)]
    # Without Iceberg, the file goes.
    assert vacuum(mirror.delta, 10, later).files == 1
    shutil.rmtree(folder(job, "savings"))
    assert applier.iceberg.kept_since(own, later) == later


def test_a_thread_publishes_while_batches_go_on(
    kafka: Kafka, job: Job, tables: list[SourceTable], applier: BatchApplier, duckdb: DuckDB
) -> None:
    transfer(kafka, tables, 10)
    told: list[int] = []
    errors: list[Exception] = []
    assert applier.iceberg is not None
    with publishing(applier.iceberg, 0.1, lambda: told.append(1), errors.append):
        apply(applier, kafka, tables)
        hint = folder(job, "wallet") / "metadata" / "version-hint.text"
        wait_until(hint.exists, lambda: "nothing was published")
    assert told
    assert not errors
    agree(job, "savings", duckdb)
    agree(job, "wallet", duckdb)


@pytest.mark.spark
def test_the_job_publishes_and_tells_what_it_cannot(
    kafka: Kafka, spark_job: SparkJob, tables: list[SourceTable], duckdb: DuckDB
) -> None:
    transfer(kafka, tables, 10)
    odd = SourceTable(kafka, "odd", (ID, column("_file", "int"))).create()
    with kafka.transaction():
        odd.send("c", None, {"id": 1, "_file": 2})
        kafka.progress()
    lines = spark_job.run(**BOTH)
    (line,) = [line for line in lines if line["event"] == "not_published"]
    assert (line["table"], line["code"]) == ("shop.odd", "M811")
    assert spark_job.exit_code == 0
    agree(spark_job, "savings", duckdb)
