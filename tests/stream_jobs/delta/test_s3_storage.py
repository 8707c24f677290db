"""Tables in a bucket: moto, a server that speaks S3, is the oracle."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any

import boto3
import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyiceberg.table import StaticTable

from stream_jobs.delta import s3_storage
from stream_jobs.delta.log import now
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.s3_storage import S3Storage
from stream_jobs.delta.storage import ObjectFile
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.iceberg.publisher import Occasion, TablePublisher
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.run.job_state import Owner, Ownership
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles, ResumeRequest
from tests.stream_jobs.bucket_server import (
    KEY,
    REGION,
    SECRET,
    reader_options,
    serve,
    variables,
)
from tests.stream_jobs.delta.sample import Sample, rows
from tests.stream_jobs.delta.table_life import ADVICE, live_through

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    yield from serve()


@pytest.fixture
def storage(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Storage]:
    for name, value in variables(endpoint).items():
        monkeypatch.setenv(name, value)
    s3_storage._client.cache_clear()
    bucket = f"b{time.monotonic_ns()}"
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket=bucket)
    client.close()
    yield S3Storage(bucket, "lake/é x")
    s3_storage._client().close()
    s3_storage._client.cache_clear()


def test_objects_are_written_read_and_deleted(storage: S3Storage) -> None:
    storage.write("a/b", b"0123456789")
    assert storage.read("a/b") == b"0123456789"
    assert storage.read_part("a/b", 3, 4) == b"3456"
    assert storage.read_part("a/b", 20, 4) == b""
    storage.write("a/b", memoryview(b"new"))
    assert pickle.loads(pickle.dumps(storage)).read("a/b") == b"new"
    storage.delete("a/b")
    storage.delete("a/b")
    assert storage.read("a/b") is None
    assert storage.open("a/b") is None
    assert storage.read_part("a/b", 0, 1) is None


def test_an_object_is_put_only_if_it_is_absent(storage: S3Storage) -> None:
    assert storage.put_if_absent("a/0.json", b"first")
    assert not storage.put_if_absent("a/0.json", b"second")
    assert storage.read("a/0.json") == b"first"
    storage.verify()
    assert list(S3Storage(storage.bucket, "").list("lake")) != []
    assert [file.name for file in storage.list("a")] == ["0.json"]


def test_objects_are_listed_by_name_from_a_name_on(storage: S3Storage) -> None:
    for name in ("t/b", "t/a/x", "t/c", "t/a/y", "tt/no"):
        storage.write(name, name.encode())
    found = [(file.name, file.size) for file in storage.list("t")]
    assert found == [("a/x", 5), ("a/y", 5), ("b", 3), ("c", 3)]
    assert [file.name for file in storage.list("t", "a/x")] == ["a/y", "b", "c"]
    assert list(storage.list("none")) == []


def test_a_large_object_is_read_in_parts(storage: S3Storage) -> None:
    content = bytes(range(256)) * 2048
    storage.write("large", content)
    file = storage.open("large")
    assert file is not None
    assert file.size() == len(content)
    for start, size in ((0, 10), (len(content) - 10, 99), (100_000, 300_000), (5, 0)):
        file.seek(start)
        assert file.read(size) == content[start : start + size]
    file.seek(0)
    assert file.read() == content
    storage.write("empty", b"")
    empty = storage.open("empty")
    assert empty is not None
    assert empty.read() == b""
    file.seek(0)
    storage.delete("large")
    with pytest.raises(FileNotFoundError):
        file.read(10)


@pytest.mark.parametrize("path", ["../x", "a/../b", "/a", ""])
def test_no_key_leaves_the_prefix(path: str) -> None:
    with pytest.raises(MirrorError, match="M519"):
        S3Storage("bucket", "lake").read(path)


def test_what_the_server_says_is_shown(storage: S3Storage) -> None:
    gone = S3Storage("no-such-bucket-here", "lake")
    calls: list[Any] = [
        gone.read,
        gone.delete,
        lambda path: gone.write(path, b""),
        lambda path: gone.put_if_absent(path, b""),
        lambda path: list(gone.list(path)),
    ]
    for call in calls:
        with pytest.raises(MirrorError) as error:
            call("t")
        assert str(error.value) == (
            "[M502] s3://no-such-bucket-here/lake/t: NoSuchBucket: The specified bucket does not "
            f"exist{ADVICE}"
        )
    with pytest.raises(MirrorError) as error:
        S3Storage("bad bucket", "lake").read("t")
    assert str(error.value).startswith("[M502] s3://bad bucket/lake/t: ")
    assert storage.read("t") is None


def test_a_server_that_overwrites_commits_is_refused(storage: S3Storage) -> None:
    with pytest.raises(MirrorError) as error:
        Overwriting(storage.bucket, "lake").verify()
    assert str(error.value) == (
        f"[M515] the bucket {storage.bucket} overwrites objects that a put with If-None-Match must "
        "not replace; use a server that knows conditional writes, such as S3"
    )


class Overwriting(S3Storage):
    """A server that does not know If-None-Match."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.write(path, content)
        return True


def test_a_table_lives_in_a_bucket(storage: S3Storage) -> None:
    live_through(storage)


def test_delta_rs_reads_a_table_in_a_bucket(storage: S3Storage, endpoint: str) -> None:
    sample = Sample(S3Storage(storage.bucket, "lake"), "shop/t")
    file = sample.append(range(10))
    sample.kill(**{file.path: [3]})
    options = reader_options(endpoint)
    path = f"s3://{storage.bucket}/lake/shop/t"
    found = QueryBuilder().register("t", deltalake.DeltaTable(path, storage_options=options))
    ids = pa.table(found.execute("select id from t order by id"))["id"].to_pylist()
    assert ids == sample.ids()


def test_columns_of_a_large_file_are_read_from_a_bucket(
    storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ObjectFile, "END_BYTES", 100)
    sample = Sample(storage, "t")
    file = sample.append(range(60_000))
    found = live_rows(storage, "t", file, sample.table.snapshot.columns[:3])
    assert found.equals(rows(range(60_000)).select(range(3)))
    assert found.schema.types == [pa.int64(), pa.int8(), pa.int16()]


def test_the_owner_and_the_tables_set_aside_are_kept_in_a_bucket(storage: S3Storage) -> None:
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
    storage: S3Storage, endpoint: str
) -> None:
    sample = Sample(storage, "shop/t")
    file = sample.append(range(10))
    sample.kill(**{file.path: [3]})
    files = TableFiles(storage, reader_uri(f"s3://{storage.bucket}/{storage.prefix}/"))
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
