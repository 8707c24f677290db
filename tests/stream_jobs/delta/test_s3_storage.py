"""Tables in a bucket: moto, a server that speaks S3, is the oracle."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import boto3
import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyiceberg.table import StaticTable

from stream_jobs.delta import object_clients
from stream_jobs.delta.log import now
from stream_jobs.delta.object_storage import ObjectStorage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.pipeline_folder import Owner
from stream_jobs.run.job_state import Ownership
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles, ResumeRequest
from tests.stream_jobs.bucket_server import (
    KEY,
    REGION,
    SECRET,
    reader_options,
    serve,
    variables,
)
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    yield from serve()


@pytest.fixture
def storage(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in variables(endpoint).items():
        monkeypatch.setenv(name, value)
    object_clients.client.cache_clear()
    bucket = f"b{time.monotonic_ns()}"
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket=bucket)
    client.close()
    yield ObjectStorage("s3", bucket, "lake/é x")
    object_clients.client.cache_clear()


def test_a_profile_of_aws_gives_endpoint_and_credentials(
    storage: ObjectStorage, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    answer = {"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    lines = ["[profile lake]", f"endpoint_url = {endpoint}", "region = us-east-1"]
    lines.append(f"credential_process = cat {tmp_path / 'answer.json'}")
    (tmp_path / "config").write_text("\n".join(lines))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "lake")
    object_clients.client.cache_clear()
    storage.verify()
    monkeypatch.setenv("AWS_PROFILE", "sea")
    object_clients.client.cache_clear()
    with pytest.raises(MirrorError) as error:
        storage.read("t")
    assert "[M524]" in str(error.value)
    assert "The config profile (sea) could not be found" in str(error.value)


def test_a_right_that_an_account_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # The server asks for rights after the bucket, the account, its policy and its key.
    server = serve(INITIAL_NO_AUTH_ACTION_COUNT="4")
    for name, value in variables(next(server)).items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="guarded")
    accounts: Any = boto3.client("iam")
    accounts.create_user(UserName="job")
    allowed = [{"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject"], "Resource": "*"}]
    policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
    accounts.put_user_policy(UserName="job", PolicyName="job", PolicyDocument=policy)
    key = accounts.create_access_key(UserName="job")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    object_clients.client.cache_clear()
    with pytest.raises(MirrorError) as error:
        ObjectStorage("s3", "guarded", "lake").verify()
    object_clients.client.cache_clear()
    next(server, None)
    assert str(error.value).startswith("[M523] s3://guarded/lake/")
    assert str(error.value).endswith("; give the account of the job s3:ListBucket of the bucket")


def test_a_server_that_overwrites_commits_is_refused(storage: ObjectStorage) -> None:
    with pytest.raises(MirrorError) as error:
        Overwriting("s3", storage.host, "lake").verify()
    assert str(error.value) == (
        f"[M515] the bucket {storage.host} overwrites objects that a put with If-None-Match must "
        "not replace; use a server that knows conditional writes, such as S3"
    )


class Overwriting(ObjectStorage):
    """A server that does not know If-None-Match."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.write(path, content)
        return True


def test_delta_rs_reads_a_table_in_a_bucket(storage: ObjectStorage, endpoint: str) -> None:
    sample = Sample(ObjectStorage("s3", storage.host, "lake"), "shop/t")
    file = sample.append(range(10))
    sample.kill(**{file.path: [3]})
    options = reader_options(endpoint)
    path = f"s3://{storage.host}/lake/shop/t"
    found = QueryBuilder().register("t", deltalake.DeltaTable(path, storage_options=options))
    ids = pa.table(found.execute("select id from t order by id"))["id"].to_pylist()
    assert ids == sample.ids()


def test_the_owner_and_the_tables_set_aside_are_kept_in_a_bucket(storage: ObjectStorage) -> None:
    first, second = (
        Ownership(storage, "s3://b", Owner("shop", "shop", "host", pid, "2026", f"{pid}"))
        for pid in (1, 2)
    )
    first.claim()
    second.claim()
    second.check()
    with pytest.raises(MirrorError) as caught:
        first.check()
    assert caught.value.code == job_errors.TAKEN_OVER
    aside = QuarantineFiles(storage, "s3://b")
    record = QuarantinedTable(
        "shop.a.b", "a.b", "1", "2026", "M225", "why", 1, 7, {0: 3}, frozenset({(1, 7)})
    )
    request = ResumeRequest("shop.a.b", "1", frozenset({(1, 7)}), rebuild=True)
    aside.put(record)
    aside.ask(request)
    assert (aside.records(), aside.requests()) == ({"shop.a.b": record}, {"shop.a.b": request})
    aside.remove("shop.a.b")
    assert (aside.records(), aside.requests()) == ({}, {})


def test_readers_of_iceberg_find_a_table_by_its_place_in_the_bucket(
    storage: ObjectStorage, endpoint: str
) -> None:
    sample = Sample(storage, "shop/t")
    file = sample.append(range(10))
    sample.kill(**{file.path: [3]})
    files = TableFiles(storage, reader_uri(f"s3://{storage.host}/{storage.prefix}/"))
    TablePublisher(files, sample.path, 60).publish(sample.table.snapshot, Occasion(now()))
    options = {
        "s3.endpoint": endpoint,
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": REGION,
    }
    table = StaticTable.from_metadata(files.location(sample.path), options)
    found = table.scan(selected_fields=("id",)).to_arrow()
    assert sorted(found["id"].to_pylist()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
