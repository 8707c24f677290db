"""A job keeps a REST catalog equal to its mirrors: also after outages, and in face of strangers."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.metrics_server import PREFIX, MetricsCollector
from stream_jobs.run.status import show_status
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.maintenance import ChangedTable
from stream_jobs.tables.mirror_table import MirrorTable
from tests.integration.mirror.conftest import run_in_process
from tests.stream.metrics.served import served_figures
from tests.stream_jobs.catalog_server import KEY, SECRET, WAREHOUSE, Proxy, serve_catalog
from tests.stream_jobs.iceberg.readers import delta_rs_rows, opened, sorted_rows
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table

    from tests.integration.mirror.conftest import Job, SparkJob
    from tests.stream_jobs.catalog_server import CatalogServer
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID, AMOUNT = column("id", "int", key=1), column("amount", "int")
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogServer]:
    yield from serve_catalog(tmp_path_factory.mktemp("catalog"))


@pytest.fixture
def proxy(server: CatalogServer) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def tables(kafka: Kafka) -> list[SourceTable]:
    return [SourceTable(kafka, name, (ID, AMOUNT)).create() for name in ("savings", "wallet")]


@pytest.fixture
def sections(kafka: Kafka, proxy: Proxy) -> dict[str, Any]:
    """The settings of a job whose tables have a namespace of this test's own."""
    catalog = {
        "catalog": proxy.url,
        "warehouse": WAREHOUSE,
        "namespace": f"{kafka.prefix}.{{database}}",
        "client_id": KEY,
        "client_secret": SECRET,
    }
    return {"mirror": {"formats": ["delta", "iceberg"]}, "iceberg": catalog}


def transfer(kafka: Kafka, tables: list[SourceTable], amount: int) -> None:
    """Move money in one transaction: both tables together have 100."""
    savings, wallet = tables
    with kafka.transaction():
        savings.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": 100 - amount})
        wallet.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": amount})
        kafka.progress()


def listed(server: CatalogServer, kafka: Kafka, name: str) -> Table:
    catalog = RestCatalog("test", uri=server.url, warehouse=WAREHOUSE, token=server.token())
    for key, value in (("endpoint", server.s3), ("access-key-id", KEY), ("region", "us-east-1")):
        catalog.properties[f"s3.{key}"] = value
    catalog.properties["s3.secret-access-key"] = SECRET
    found: Table = catalog.load_table((kafka.prefix, "shop", name))
    return found


def amounts(server: CatalogServer, kafka: Kafka, tag: str = "") -> list[int]:
    """What readers of the catalog see in both tables, now or at a cut."""
    found = []
    for name in ("savings", "wallet"):
        table = listed(server, kafka, name)
        snapshot = table.refs()[tag].snapshot_id if tag else None
        found += table.scan(snapshot_id=snapshot).to_arrow()["amount"].to_pylist()
    return found


def shown(job: Job, sections: dict[str, Any]) -> str:
    out = io.StringIO()
    show_status(job.settings(**sections), job.folder / "job.toml", out, as_json=False)
    return out.getvalue()


def figure(job: Job, name: str, table: str) -> float:
    figures = served_figures(MetricsCollector(job.figures), PREFIX)
    return float(figures[f'{name}{{database="shop",pipeline="test",table="{table}"}}'])


def test_readers_of_the_catalog_see_each_cut_at_one_moment(
    kafka: Kafka,
    job: Job,
    tables: list[SourceTable],
    server: CatalogServer,
    proxy: Proxy,
    sections: dict[str, Any],
) -> None:
    for amount in (10, 20, 30):
        transfer(kafka, tables, amount)
        job.apply(**sections)
    assert amounts(server, kafka) == [70, 30]
    assert [amounts(server, kafka, f"cut_{cut}") for cut in (1, 2, 3)] == [
        [90, 10],
        [80, 20],
        [70, 30],
    ]
    rows = sorted_rows(listed(server, kafka, "savings").scan().to_arrow())
    assert rows == delta_rs_rows(job.folder / "mirror" / "shop" / "savings")
    summary = listed(server, kafka, "savings").metadata.snapshots[-1].summary
    assert summary is not None
    assert (summary["cdc.cut"], summary["delta-version"]) == ("3", "3")
    # The second and the third cut were one request each.
    assert [asked for asked in proxy.commits() if "transactions" in asked] == [
        "POST /v1/warehouse/transactions/commit"
    ] * 2


def test_a_catalog_that_is_away_holds_up_nothing_and_is_caught_up(
    kafka: Kafka,
    job: Job,
    tables: list[SourceTable],
    server: CatalogServer,
    proxy: Proxy,
    sections: dict[str, Any],
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**sections)
    folder = job.folder / "mirror" / "_iceberg" / "shop" / "savings"
    seen = opened(folder).metadata.last_updated_ms
    # In the middle, and at each start.
    proxy.reaches = lambda _: False
    for amount in (20, 30):
        transfer(kafka, tables, amount)
        assert job.apply(**sections)["cut"] is not None
    assert job.rows("savings", "amount") == [(70,)]
    assert amounts(server, kafka) == [90, 10]
    assert figure(job, "iceberg_lag_seconds", "savings") > 0
    assert figure(job, "iceberg_failures_total", "savings") >= 1
    text = shown(job, sections)
    assert f"[M815] the Iceberg catalog {proxy.url} does not answer " in text
    # What readers of the catalog see is kept, long after Delta's retention.
    settings = job.settings(**sections)
    client = KafkaClient(settings.kafka.facts())
    try:
        applier = batch_applier(settings, client, run_in_process, lambda: 2)
    finally:
        client.close()
    mirror = MirrorTable.open(
        LocalStorage(str(job.folder / "mirror")), "shop/savings", "shop.savings", "mirror"
    )
    assert mirror is not None
    assert applier.iceberg is not None
    applier.services.registry.refresh()
    later = int(time.time() * 1000) + 30 * DAY_MS
    kept = applier.iceberg.kept_since(ChangedTable(tables[0].topic, mirror, ("id",)), later)
    assert kept == seen < opened(folder).metadata.last_updated_ms
    assert vacuum(mirror.delta, 10, kept).files == 0
    assert amounts(server, kafka) == [90, 10]
    proxy.reaches = lambda _: True
    job.run(**sections)
    assert amounts(server, kafka) == [70, 30]
    assert amounts(server, kafka, "cut_2") == [80, 20]
    assert figure(job, "iceberg_lag_seconds", "savings") == 0
    assert "M815" not in shown(job, sections)
    # Without the catalog, the files would have gone.
    assert vacuum(mirror.delta, 10, later).files > 0


def test_a_table_that_the_catalog_refuses_does_not_hold_up_the_other(
    kafka: Kafka,
    job: Job,
    tables: list[SourceTable],
    server: CatalogServer,
    proxy: Proxy,
    sections: dict[str, Any],
) -> None:
    transfer(kafka, tables, 10)
    job.apply(**sections)
    denied = {"error": {"message": "no right", "type": "ForbiddenException"}}
    proxy.own = lambda asked: (403, denied) if asked.endswith("tables/savings") else None
    transfer(kafka, tables, 20)
    job.apply(**sections)
    assert amounts(server, kafka) == [90, 20]
    assert figure(job, "iceberg_lag_seconds", "savings") > 0
    assert figure(job, "iceberg_lag_seconds", "wallet") == 0
    assert "[M817]" in shown(job, sections)
    # By path, both have the cut.
    proxy.own = lambda _: None
    job.run(**sections)
    assert amounts(server, kafka, "cut_2") == [80, 20]


def test_a_catalog_that_refuses_the_login_ends_the_start(
    kafka: Kafka, job: Job, tables: list[SourceTable], sections: dict[str, Any]
) -> None:
    transfer(kafka, tables, 10)
    wrong = sections | {"iceberg": sections["iceberg"] | {"client_secret": "wrong"}}
    error = job.error(**wrong)
    assert "the job cannot use its Iceberg catalog: [M816] the Iceberg catalog" in error
    assert "Invalid client credentials" in error
    assert job.apply(**sections)["tables"]["shop.savings"]["version"] == 1


@pytest.mark.spark
def test_the_job_tells_when_the_catalog_is_away_and_goes_on(
    kafka: Kafka,
    spark_job: SparkJob,
    tables: list[SourceTable],
    server: CatalogServer,
    proxy: Proxy,
    sections: dict[str, Any],
) -> None:
    transfer(kafka, tables, 10)
    proxy.reaches = lambda _: False
    lines = spark_job.run(**sections)
    assert spark_job.exit_code == 0
    told = [(line["table"], line["code"]) for line in lines if line["event"] == "not_published"]
    assert told == [("shop.savings", "M815"), ("shop.wallet", "M815")]
    proxy.reaches = lambda _: True
    spark_job.run(**sections)
    assert amounts(server, kafka) == [90, 10]
    # All tables are there, so the account needs not create any.
    denied = {"error": {"message": "no right", "type": "ForbiddenException"}}
    proxy.own = lambda asked: (403, denied) if asked.endswith("/tables") else None
    transfer(kafka, tables, 20)
    lines = spark_job.run(**sections)
    assert spark_job.exit_code == 0
    assert [line["code"] for line in lines if line["event"] == "no_new_tables"] == ["M832"]
    assert amounts(server, kafka) == [80, 20]
