"""The job over a mirror in a bucket: tasks write the objects, the driver commits with conditions.

moto, a server that speaks S3, is the oracle, and delta-rs reads.
"""

from __future__ import annotations

import json
import re
import uuid
from io import StringIO
from typing import TYPE_CHECKING, Any

import boto3
import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyarrow.parquet import ParquetFile

from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta import compaction, object_clients
from stream_jobs.delta.object_storage import ObjectStorage
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError
from stream_jobs.run.commands import show_cuts
from tests.integration.mirror.conftest import Job, SparkJob
from tests.integration.mirror.test_cuts import settle
from tests.length import FULL
from tests.stream_jobs.bucket_server import Gate, reader_options, serve, variables
from tests.stream_jobs.delta.table_life import ADVICE
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    yield from serve()


@pytest.fixture
def gate(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """The way to the server; it is what the job uses."""
    with Gate(endpoint) as gate:
        for name, value in variables(gate.url).items():
            monkeypatch.setenv(name, value)
        object_clients.client.cache_clear()
        yield gate
        object_clients.client.cache_clear()


class Lake:
    """A bucket with the mirror `s3://<bucket>/lake`, read by an implementation of its own."""

    def __init__(self, endpoint: str) -> None:
        self.bucket = f"b{uuid.uuid4().hex}"
        self.path = f"s3://{self.bucket}/lake"
        self._options = reader_options(endpoint)
        client: Any = boto3.client("s3")
        client.create_bucket(Bucket=self.bucket)
        client.close()

    def rows(self, table: str) -> list[tuple[int, str]]:
        opened = deltalake.DeltaTable(f"{self.path}/shop/{table}", storage_options=self._options)
        found = QueryBuilder().register("t", opened).execute("select id, name from t order by id")
        return [(row["id"], row["name"]) for row in pa.table(found).to_pylist()]

    def delta(self, table: str) -> DeltaTable:
        found = DeltaTable.open(ObjectStorage("s3", self.bucket, "lake"), f"shop/{table}")
        assert found is not None
        return found

    def operations(self, table: str) -> list[str]:
        """What each version of the table did."""
        storage = ObjectStorage("s3", self.bucket, "lake")
        log = f"shop/{table}/_delta_log"
        commits = [storage.read(f"{log}/{file.name}") or b"" for file in storage.list(log)]
        return [json.loads(each.splitlines()[0])["commitInfo"]["operation"] for each in commits]

    def names(self, table: str) -> set[str]:
        """The data files that are there."""
        listed = ObjectStorage("s3", self.bucket, "lake").list(f"shop/{table}")
        return {file.name for file in listed if file.name.endswith(".parquet")}


@pytest.fixture
def lake(gate: Gate, endpoint: str) -> Lake:
    assert gate.writes_left
    return Lake(endpoint)


def item(number: int, name: str = "first") -> dict[str, Any]:
    return {"id": number, "name": name}


@pytest.mark.spark
@pytest.mark.skipif(not FULL, reason="ten seconds of CPU; `make test-all` runs it")
def test_the_job_keeps_a_mirror_in_a_bucket(
    spark: SparkSession,
    kafka: Kafka,
    tmp_path: Path,
    lake: Lake,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Workers are started with what the driver's environment says.
    for name, value in variables(gate.url).items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(*(item(number) for number in range(6)))
    table.update(item(3), item(3, "second"))
    table.delete(item(4))
    job = SparkJob(spark, kafka, tmp_path)
    lines = job.run(mirror={"path": lake.path}, kafka={"max_offsets_per_trigger": 7})
    assert job.exit_code == 0, lines
    assert [line["event"] for line in lines].count("batch_applied") > 1
    names = dict.fromkeys(range(6), "first") | {3: "second"}
    del names[4]
    assert lake.rows("items") == sorted(names.items())
    assert not (tmp_path / "mirror").exists()


def test_the_cuts_of_a_mirror_in_a_bucket_are_listed_and_read(
    kafka: Kafka, job: Job, lake: Lake, endpoint: str
) -> None:
    mirror = {"path": lake.path}
    table = SourceTable(kafka, "items", COLUMNS).create()
    for number in range(2):
        with kafka.transaction():
            table.send("c", None, item(number))
            kafka.progress()
        settle(kafka)
        job.apply(mirror=mirror)
    listed = StringIO()

    show_cuts(job.settings(mirror=mirror), listed, as_json=True)

    first, second = json.loads(listed.getvalue())["cuts"]
    for cut, rows in ((first, [0]), (second, [0, 1])):
        found = mirror_at(lake.path, gtid=cut["gtid"])
        assert found.cut.number == cut["number"]
        assert found.tables["shop.items"].path == f"{lake.path}/shop/items"
        opened = found.delta_tables(reader_options(endpoint))["shop.items"]
        read = QueryBuilder().register("t", opened).execute("select id from t order by id")
        assert pa.table(read).column("id").to_pylist() == rows
    assert mirror_at(f"s3a://{lake.bucket}/lake").cut.number == second["number"]


def test_upkeep_and_changes_of_columns_work_in_a_bucket(
    kafka: Kafka, job: Job, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = {"path": lake.path, "index_folder": str(job.folder / "indexes")}
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(*(item(number) for number in range(10)))
    job.apply(mirror=mirror)
    for number in range(0, 10, 2):
        table.update(item(number), item(number, "second"))
    monkeypatch.setattr(compaction, "_SMALLEST", 1)
    job.apply(mirror=mirror)
    assert lake.rows("items") == [(n, "first" if n % 2 else "second") for n in range(10)]
    # A file with many dead rows was written again, and its index kept on the local disk.
    assert "OPTIMIZE" in lake.operations("items")
    assert any((job.folder / "indexes").rglob("*/*"))

    wider = table.alter(column("id", "bigint", key=1), COLUMNS[1])
    wider.insert(item(2**40))
    job.apply(mirror=mirror)
    table.truncate()
    monkeypatch.setattr("stream_jobs.tables.maintenance.is_checkpoint_due", lambda _: True)
    monkeypatch.setattr("stream_jobs.delta.housekeeping.is_checkpoint_due", lambda _: True)
    monkeypatch.setattr("stream_jobs.delta.housekeeping._CHECKPOINTS", 0.01)
    monkeypatch.setattr("stream_jobs.run.batch.now", lambda: 2**53)
    before = lake.names("items")
    wider.insert(item(7), item(8))
    job.apply(mirror=mirror)
    assert lake.rows("items") == [(7, "first"), (8, "first")]
    left = lake.names("items")
    assert left & before == set()
    opened = lake.delta("items").snapshot
    assert set(opened.files) == {name for name in left if not name.startswith("_delta_log/")}


def test_a_bucket_that_goes_away_at_any_write_loses_nothing(
    kafka: Kafka, job: Job, lake: Lake, gate: Gate
) -> None:
    mirror = {"path": lake.path}
    said = re.compile(
        rf"s3://{lake.bucket}/lake/\S+: Generic S3 error: (?:Error performing list request: )?"
        rf"Error performing \S+ \S+ in \S+ - HTTP error: error sending request{re.escape(ADVICE)}"
    )
    table = SourceTable(kafka, "items", COLUMNS).create()
    row = {}
    for turn in range(12):
        row[turn] = item(turn)
        table.insert(row[turn])
        if turn > 1:
            changed = item(turn - 1, f"changed {turn}")
            table.update(row[turn - 1], changed)
            row[turn - 1] = changed
            table.delete(row.pop(turn - 2))
        gate.writes_left = turn * 2
        lines = job.run(mirror=mirror)
        gate.open()
        if job.exit_code == 0:
            break
        failed = lines[-1]
        assert failed["code"] == "M502"
        assert said.fullmatch(failed["error"]), failed["error"]
        if turn % 2:
            job.delete_checkpoint()
        job.apply(mirror=mirror)
        assert lake.rows("items") == [(each["id"], each["name"]) for each in row.values()]
    assert 2 < turn < 11


def test_a_bucket_that_goes_away_while_a_file_is_read_is_named(
    kafka: Kafka, job: Job, lake: Lake, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_jobs.delta.storage.ObjectFile.END_BYTES", 100)
    mirror = {"path": lake.path, "index_folder": str(job.folder / "indexes")}
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(item(1), item(2))
    job.apply(mirror=mirror)
    (name,) = lake.delta("items").snapshot.files
    storage = ObjectStorage("s3", lake.bucket, "lake")
    source = storage.open(f"shop/items/{name}")
    assert source is not None
    gate.close()
    with pytest.raises(
        MirrorError, match=f"M502.*{name}: Generic S3 error: .*error sending request"
    ):
        ParquetFile(source)
    gate.open()
    assert ParquetFile(source).metadata.num_rows == 2


@pytest.mark.usefixtures("lake")
def test_a_bucket_that_does_not_exist_is_named(job: Job) -> None:
    failed = job.run(mirror={"path": "s3://no-such-bucket-here/lake"})[-1]
    assert failed["code"] == "M502"
    assert re.fullmatch(
        r"s3://no-such-bucket-here/lake/_binlog-connector-[0-9a-f]{32}: NoSuchBucket: The "
        rf"specified bucket does not exist{re.escape(ADVICE)}",
        failed["error"],
    )


def test_a_bucket_without_rights_is_named(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    # The server asks for rights after it has made the bucket.
    server = serve(INITIAL_NO_AUTH_ACTION_COUNT="1")
    for name, value in variables(next(server)).items():
        monkeypatch.setenv(name, value)
    object_clients.client.cache_clear()
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket="guarded")
    client.close()
    failed = job.run(mirror={"path": "s3://guarded/lake"})[-1]
    object_clients.client.cache_clear()
    assert failed["code"] == "M524"
    assert re.fullmatch(
        r"s3://guarded/lake/_binlog-connector-[0-9a-f]{32}: the storage does not accept the "
        "credentials: InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our "
        r"records\.; correct or renew AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
        "in the environment of the driver and of each worker",
        failed["error"],
    )
    next(server, None)
