"""Tables in buckets and containers; servers of others are the oracle.

SeaweedFS, and Azurite from npm, are asked in `make test-all` alone.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from typing import TYPE_CHECKING, Any

import boto3
import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder

from connector.foundation.errors import ConfigError
from stream_jobs.delta import object_clients
from stream_jobs.delta.object_storage import ObjectStorage
from stream_jobs.delta.parquet_file import live_rows
from stream_jobs.delta.storage import ObjectFile
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, delta_errors
from tests.length import full_only
from tests.stream_jobs import bucket_server, object_servers
from tests.stream_jobs.catalog_server import serve_catalog
from tests.stream_jobs.delta.sample import Sample, rows
from tests.stream_jobs.delta.table_life import ADVICE, live_through

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stream_jobs.object_servers import XmlGate


@pytest.fixture(scope="module")
def google() -> Iterator[XmlGate]:
    yield from object_servers.google()


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from object_servers.azurite(tmp_path_factory.mktemp("azurite"))


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    yield from bucket_server.serve()


@pytest.fixture(scope="module")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    for server in serve_catalog(tmp_path_factory.mktemp("seaweed")):
        yield server.variables


@pytest.fixture
def bucket(google: XmlGate, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in object_servers.google_variables(google.url).items():
        monkeypatch.setenv(name, value)
    name = f"b{time.monotonic_ns()}"
    google.create_bucket(name)
    yield ObjectStorage("gs", name, "lake/é x")
    google.refused, google.is_known = frozenset(), True
    object_clients.client.cache_clear()


@pytest.fixture
def container(azure: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in object_servers.azure_variables(azure).items():
        monkeypatch.setenv(name, value)
    name = f"c{time.monotonic_ns()}"
    object_servers.create_container(azure, name)
    yield ObjectStorage("az", name, "lake/é x")
    object_clients.client.cache_clear()


@pytest.fixture
def amazon(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in bucket_server.variables(s3).items():
        monkeypatch.setenv(name, value)
    name = f"b{time.monotonic_ns()}"
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket=name)
    client.close()
    yield ObjectStorage("s3", name, "lake/é x")
    object_clients.client.cache_clear()


@pytest.fixture
def seaweed(seaweedfs: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    for name, value in seaweedfs.items():
        monkeypatch.setenv(name, value)
    yield ObjectStorage("s3", "plain", f"lake{time.monotonic_ns()}/é x")
    object_clients.client.cache_clear()


@pytest.fixture(
    params=[
        "amazon",
        "bucket",
        pytest.param("seaweed", marks=full_only),
        pytest.param("container", marks=full_only),
    ]
)
def storage(request: pytest.FixtureRequest) -> ObjectStorage:
    found: ObjectStorage = request.getfixturevalue(request.param)
    return found


def test_objects_are_written_read_and_deleted(storage: ObjectStorage) -> None:
    storage.write("a/b", b"0123456789")
    assert storage.read("a/b") == b"0123456789"
    assert storage.read_part("a/b", 3, 4) == b"3456"
    assert storage.read_part("a/b", 8, 4) == b"89"
    assert storage.read_part("a/b", 20, 4) == b""
    storage.write("a/b", memoryview(b"new"))
    assert pickle.loads(pickle.dumps(storage)).read("a/b") == b"new"
    storage.delete("a/b")
    storage.delete("a/b")
    assert storage.read("a/b") is None
    assert storage.open("a/b") is None
    assert storage.read_part("a/b", 0, 1) is None


def test_of_two_writers_of_an_object_one_wins(storage: ObjectStorage) -> None:
    assert storage.put_if_absent("a/0.json", b"first")
    assert not storage.put_if_absent("a/0.json", b"second")
    assert storage.read("a/0.json") == b"first"
    won: dict[int, list[int]] = {}
    start = threading.Barrier(2)

    def write(writer: int) -> None:
        for version in range(1, 30):
            start.wait(10)
            if storage.put_if_absent(f"a/{version}.json", str(writer).encode()):
                won.setdefault(version, []).append(writer)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(1, 30))
    for version, (writer,) in won.items():
        assert storage.read(f"a/{version}.json") == str(writer).encode()


def test_objects_are_listed_by_name_from_a_name_on(storage: ObjectStorage) -> None:
    for name in ("t/b", "t/a/x", "t/c", "t/a/y", "tt/no"):
        storage.write(name, name.encode())
    found = [(file.name, file.size) for file in storage.list("t")]
    assert found == [("a/x", 5), ("a/y", 5), ("b", 3), ("c", 3)]
    assert [file.name for file in storage.list("t", "a/x")] == ["a/y", "b", "c"]
    assert list(storage.list("none")) == []
    whole = ObjectStorage(storage.scheme, storage.host, "")
    top = storage.prefix.partition("/")[0]
    assert [file.name for file in whole.list(top)][-1] == "é x/tt/no"


def test_the_folders_of_a_folder_are_listed_by_name(storage: ObjectStorage) -> None:
    assert storage.folders() == []
    for name in ("t/b/x", "t/a !5F/x/y", "t/c", "s/z"):
        storage.write(name, b"1")
    assert storage.folders() == ["s", "t"]
    assert storage.folders("t") == ["a !5F", "b"]
    assert storage.folders("t/c") == storage.folders("none") == []
    whole = ObjectStorage(storage.scheme, storage.host, "")
    assert storage.prefix.partition("/")[0] in whole.folders()


@pytest.mark.parametrize("name", ["a b", "ö", "100%25", "p=1+1", "#1?x", "[~!5F]", "a&b"])
def test_names_of_objects_are_kept_as_they_are(storage: ObjectStorage, name: str) -> None:
    storage.write(f"t/{name}", b"1")
    assert storage.read(f"t/{name}") == b"1"
    assert [file.name for file in storage.list("t")] == [name]
    storage.delete(f"t/{name}")
    assert list(storage.list("t")) == []


def test_a_large_object_is_read_in_parts(storage: ObjectStorage) -> None:
    content = bytes(range(256)) * 2048
    storage.write("large", content)
    file = storage.open("large")
    assert file is not None
    assert file.size() == len(content)
    for start, size in ((0, 10), (len(content) - 10, 99), (100_000, 300_000), (5, 0)):
        file.seek(start)
        assert file.read(size) == content[start : start + size]
    storage.write("empty", b"")
    empty = storage.open("empty")
    assert empty is not None
    assert empty.read() == b""
    file.seek(0)
    storage.delete("large")
    with pytest.raises(FileNotFoundError):
        file.read(10)


def test_columns_of_a_large_file_are_read(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ObjectFile, "END_BYTES", 100)
    sample = Sample(storage, "t")
    file = sample.append(range(60_000))
    found = live_rows(storage, "t", file, sample.table.snapshot.columns[:3])
    assert found.equals(rows(range(60_000)).select(range(3)))


def test_a_table_lives_there(storage: ObjectStorage) -> None:
    storage.verify()
    live_through(storage)


def test_a_bucket_that_does_not_exist_is_named(storage: ObjectStorage) -> None:
    if storage.host == "plain":
        pytest.skip("SeaweedFS makes it")
    gone = ObjectStorage(storage.scheme, "no-such-place-here", "lake")
    said = {
        "s3": "NoSuchBucket: The specified bucket does not exist",
        "gs": "NoSuchBucket: The specified bucket does not exist.",
        "az": "ContainerNotFound: The specified container does not exist.",
    }
    calls: list[Any] = [
        gone.read,
        lambda path: gone.write(path, b""),
        lambda path: gone.put_if_absent(path, b""),
        lambda path: list(gone.list(path)),
        gone.folders,
    ]
    for call in calls:
        with pytest.raises(MirrorError) as error:
            call("t")
        place = f"{gone.scheme}://no-such-place-here/lake/t"
        assert str(error.value) == f"[M502] {place}: {said[gone.scheme]}{ADVICE}"


@pytest.mark.parametrize(
    ("refused", "action", "right"),
    [
        ("PUT", "write", "storage.objects.create and storage.objects.delete"),
        ("GET", "read", "storage.objects.get"),
        ("LIST", "list", "storage.objects.list"),
        ("DELETE", "delete", "storage.objects.delete"),
    ],
)
def test_a_right_that_an_account_of_google_lacks_is_named(
    bucket: ObjectStorage, google: XmlGate, refused: str, action: str, right: str
) -> None:
    google.refused = frozenset({refused})
    with pytest.raises(MirrorError) as error:
        bucket.verify()
    google.refused = frozenset()
    assert error.value.code == delta_errors.NO_RIGHT
    place = f"gs://{bucket.host}/lake/é x/"
    assert str(error.value).startswith(f"[M523] {place}")
    assert str(error.value).endswith(
        f": the storage does not let the job {action} this: AccessDenied: Access denied.; give the "
        f"account of the job {right}"
    )
    left = [file.name for file in ObjectStorage("gs", bucket.host, "").list("lake")]
    assert len(left) == (1 if action == "delete" else 0)


def test_credentials_that_google_does_not_know_are_an_error(
    bucket: ObjectStorage, google: XmlGate
) -> None:
    google.is_known = False
    with pytest.raises(MirrorError) as error:
        bucket.read("t")
    assert str(error.value) == (
        f"[M524] gs://{bucket.host}/lake/é x/t: the storage does not accept the credentials: "
        "AuthenticationRequired: Authentication required.; correct or renew "
        "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT in the environment of the driver "
        "and of each worker"
    )


def test_a_file_of_credentials_that_does_not_exist_is_named(
    bucket: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_SERVICE_ACCOUNT_KEY")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/no/such/key.json")
    with pytest.raises(MirrorError, match=r"M524.*/no/such/key\.json"):
        bucket.read("t")


@full_only
def test_a_signature_of_azure_needs_all_rights_and_time(
    container: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")

    def use(rights: str, ends: str = "2099-01-01T00:00:00Z") -> None:
        monkeypatch.setenv("AZURE_STORAGE_SAS_KEY", object_servers.signature(rights, ends))
        object_clients.client.cache_clear()

    use("rwdlc")
    # Azurite does not delete by a signature.
    assert container.put_if_absent("t", b"1")
    container.write("t", b"1")
    assert not container.put_if_absent("t", b"2")
    use("rl")
    assert container.read("t") == b"1"
    with pytest.raises(MirrorError) as error:
        container.verify()
    assert str(error.value).startswith("[M523] ")
    assert "write" in str(error.value)
    assert str(error.value).endswith("or a signature with c and w")
    use("rwdlc", "2020-01-01T00:00:00Z")
    with pytest.raises(MirrorError) as error:
        container.read("t")
    assert str(error.value).startswith("[M524] ")
    assert os.environ["AZURE_STORAGE_SAS_KEY"][-20:] not in str(error.value)


@full_only
def test_delta_rs_reads_a_table_in_a_container(container: ObjectStorage, azure: str) -> None:
    sample = Sample(ObjectStorage("az", container.host, "lake"), "shop/t")
    file = sample.append(range(10))
    sample.kill(**{file.path: [3]})
    options = object_servers.azure_variables(azure) | {"allow_http": "true"}
    path = f"az://{container.host}/lake/shop/t"
    found = QueryBuilder().register("t", deltalake.DeltaTable(path, storage_options=options))
    ids = pa.table(found.execute("select id from t order by id"))["id"].to_pylist()
    assert ids == sample.ids()


@full_only
def test_a_container_has_two_names(
    container: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    container.write("t", b"1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "another")
    account = f"{object_servers.ACCOUNT}.dfs.core.windows.net"
    other = storage_of(f"abfss://{container.host}@{account}/lake/%C3%A9 x/")
    assert other.read("t") == b"1"


def test_paths_name_a_container_with_its_account() -> None:
    assert storage_of("gs://b/lake/") == ObjectStorage("gs", "b", "lake")
    assert storage_of("az://c") == ObjectStorage("az", "c", "")
    with pytest.raises(ConfigError) as caught:
        storage_of("abfss://lake/mirror")
    assert caught.value.text == (
        "mirror.path abfss://lake/mirror: abfss:// needs a container and an account; give "
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER, or az://CONTAINER/FOLDER and the "
        "account in AZURE_STORAGE_ACCOUNT_NAME"
    )


def test_a_container_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    object_clients.client.cache_clear()
    with pytest.raises(MirrorError, match=r"M524.*[Aa]ccount"):
        ObjectStorage("az", "c", "").read("t")


@pytest.mark.parametrize("path", ["../x", "a/../b", "/a", ""])
def test_no_name_leaves_the_prefix(path: str) -> None:
    with pytest.raises(MirrorError, match="M519"):
        ObjectStorage("gs", "bucket", "lake").read(path)
