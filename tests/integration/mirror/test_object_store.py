"""The job over a mirror in Google Cloud Storage and in Azure: tasks write, the driver commits.

Servers of others are the oracle, and delta-rs reads what is in Azure.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder

from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta import object_clients
from stream_jobs.delta.object_storage import ObjectStorage
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.table import DeltaTable
from tests.integration.mirror.conftest import Job, SparkJob
from tests.integration.mirror.test_cuts import settle
from tests.length import FULL, full_only
from tests.stream_jobs import object_servers
from tests.stream_jobs.bucket_server import Gate
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
Rows = list[tuple[int, str]]


class Lake(NamedTuple):
    """A bucket or container, and the way to its server, which can be closed."""

    path: str
    storage: ObjectStorage
    gate: Gate
    variables: dict[str, str]

    def rows(self, table: str) -> Rows:
        """What the newest version has."""
        found = DeltaTable.open(self.storage, f"shop/{table}")
        assert found is not None
        columns = [each for each in found.snapshot.columns if each.name in ("id", "name")]
        read = [
            live_rows(self.storage, found.path, file, columns)
            for file in found.snapshot.files.values()
        ]
        return sorted(
            (row["id"], row["name"])
            for each in read
            for row in each.rename_columns(["id", "name"]).to_pylist()
        )


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    for server in object_servers.google():
        name = f"b{time.monotonic_ns()}"
        server.create_bucket(name)
        with Gate(server.url) as gate:
            variables = object_servers.google_variables(gate.url)
            yield from lake("gs", name, gate, variables, monkeypatch)


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    for url in object_servers.azurite(tmp_path / "azurite"):
        name = f"c{time.monotonic_ns()}"
        object_servers.create_container(url, name)
        with Gate(url) as gate:
            variables = object_servers.azure_variables(f"{gate.url}/{object_servers.ACCOUNT}")
            yield from lake("az", name, gate, variables, monkeypatch)


def lake(
    scheme: str,
    name: str,
    gate: Gate,
    variables: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Lake]:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    yield Lake(f"{scheme}://{name}/lake", ObjectStorage(scheme, name, "lake"), gate, variables)
    object_clients.client.cache_clear()


@pytest.fixture(params=["google", pytest.param("azure", marks=full_only)])
def either_lake(request: pytest.FixtureRequest) -> Lake:
    found: Lake = request.getfixturevalue(request.param)
    return found


def item(number: int, name: str = "first") -> dict[str, object]:
    return {"id": number, "name": name}


def test_a_store_that_goes_away_at_any_write_loses_nothing(
    kafka: Kafka, job: Job, either_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Requests that fail are not repeated, so each write can be the last one.
    monkeypatch.setattr(object_clients, "ATTEMPTS", 1)
    mirror = {"path": either_lake.path}
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
        either_lake.gate.writes_left = turn * 2
        lines = job.run(mirror=mirror)
        either_lake.gate.open()
        if job.exit_code == 0:
            break
        failed = lines[-1]
        assert failed["code"] == "M502"
        assert re.match(rf"{either_lake.path}/\S+: Generic ", failed["error"]), failed["error"]
        if turn % 2:
            job.delete_checkpoint()
        job.apply(mirror=mirror)
        assert either_lake.rows("items") == [(each["id"], each["name"]) for each in row.values()]
    assert 2 < turn < 11


@pytest.mark.usefixtures("google")
def test_a_bucket_that_does_not_exist_is_named(job: Job) -> None:
    failed = job.run(mirror={"path": "gs://no-such-bucket-here/lake"})[-1]
    assert failed["code"] == "M502"
    assert "NoSuchBucket: The specified bucket does not exist." in failed["error"]


@pytest.mark.spark
@pytest.mark.skipif(not FULL, reason="ten seconds of CPU; `make test-all` runs it")
def test_the_job_keeps_a_mirror_there_and_its_cuts_are_read(
    spark: SparkSession,
    kafka: Kafka,
    tmp_path: Path,
    either_lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Workers are started with what the driver's environment says.
    for name, value in either_lake.variables.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(*(item(number) for number in range(6)))
    table.update(item(3), item(3, "second"))
    table.delete(item(4))
    with kafka.transaction():
        kafka.progress()
    settle(kafka)
    job = SparkJob(spark, kafka, tmp_path)
    lines = job.run(mirror={"path": either_lake.path}, kafka={"max_offsets_per_trigger": 7})
    assert job.exit_code == 0, lines
    names = dict.fromkeys(range(6), "first") | {3: "second"}
    del names[4]
    assert either_lake.rows("items") == sorted(names.items())
    assert mirror_at(either_lake.path).tables["shop.items"].path == f"{either_lake.path}/shop/items"
    assert not (tmp_path / "mirror").exists()
    if either_lake.storage.scheme == "az":
        options = either_lake.variables | {"allow_http": "true"}
        opened = deltalake.DeltaTable(f"{either_lake.path}/shop/items", storage_options=options)
        found = QueryBuilder().register("t", opened).execute("select id, name from t order by id")
        assert [tuple(row.values()) for row in pa.table(found).to_pylist()] == sorted(names.items())
