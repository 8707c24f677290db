"""Tables in HDFS: Hadoop's own namenode and datanode are the oracle."""

from __future__ import annotations

import getpass
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.delta.hdfs_storage import HdfsStorage, WebHdfs
from stream_jobs.delta.storage import ObjectFile
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, delta_errors
from tests.length import FULL
from tests.stream_jobs.delta.table_life import ADVICE, live_through
from tests.stream_jobs.hdfs_server import HdfsServer

if TYPE_CHECKING:
    from collections.abc import Iterator

needs_hdfs = pytest.mark.skipif(not FULL, reason="ten seconds of CPU: `make test-all`")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsServer]:
    with HdfsServer(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture
def storage(server: HdfsServer) -> HdfsStorage:
    # The first address is one where nobody listens.
    hdfs = WebHdfs("http", ("127.0.0.1:1", server.host), getpass.getuser())
    return HdfsStorage(hdfs, f"/lake/é %25+x;{time.monotonic_ns()}")


@needs_hdfs
def test_files_are_written_read_replaced_and_deleted(storage: HdfsStorage) -> None:
    storage.verify()
    storage.write("a/b", b"0123456789")
    assert storage.read("a/b") == b"0123456789"
    assert storage.read_part("a/b", 3, 4) == b"3456"
    assert storage.read_part("a/b", 20, 4) == b""
    storage.write("a/b", memoryview(b"new"))
    assert pickle.loads(pickle.dumps(storage)).read("a/b") == b"new"
    assert [file.name for file in storage.list("a")] == ["b"]
    storage.delete("a/b")
    storage.delete("a/b")
    assert storage.read("a/b") is None
    assert storage.open("a/b") is None
    assert storage.read_part("a/b", 0, 1) is None
    assert list(storage.list("none")) == []


@needs_hdfs
def test_one_of_many_writers_of_a_file_wins(storage: HdfsStorage) -> None:
    def put(writer: int) -> bool:
        return storage.put_if_absent("t/_delta_log/0.json", str(writer).encode() * 1000)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(put, range(16)))
    assert won.count(True) == 1
    assert storage.read("t/_delta_log/0.json") == str(won.index(True)).encode() * 1000
    assert [file.name for file in storage.list("t")] == ["_delta_log/0.json"]


@needs_hdfs
def test_files_are_listed_by_name_from_a_name_on(storage: HdfsStorage) -> None:
    for name in ("t/b", "t/a/x", "t/c", "t/a/y", "tt/no", "t/50%2F é+"):
        storage.write(name, name.encode())
    found = [(file.name, file.size) for file in storage.list("t")]
    assert found == [("50%2F é+", 11), ("a/x", 5), ("a/y", 5), ("b", 3), ("c", 3)]
    assert [file.name for file in storage.list("t", "a/x")] == ["a/y", "b", "c"]
    assert storage.read("t/50%2F é+") == "t/50%2F é+".encode()


@needs_hdfs
def test_the_folders_of_a_folder_are_listed_by_name(storage: HdfsStorage) -> None:
    for name in ("t/b/x", "t/50%2F é/x/y", "t/c", "s/z"):
        storage.write(name, b"1")
    assert storage.folders() == ["s", "t"]
    assert storage.folders("t") == ["50%2F é", "b"]
    assert storage.folders("none") == []


@needs_hdfs
def test_a_large_file_is_read_in_parts(
    storage: HdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ObjectFile, "END_BYTES", 1000)
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


@needs_hdfs
def test_a_table_lives_in_hdfs(storage: HdfsStorage) -> None:
    # A writer that died has left a file under its temporary name.
    live_through(storage, f".part-1.parquet.{'0' * 32}.tmp")


@needs_hdfs
def test_what_hdfs_says_is_shown(server: HdfsServer, storage: HdfsStorage) -> None:
    storage.write("file", b"")
    other = HdfsStorage(WebHdfs("http", (server.host,), "somebody"), storage.root)
    with pytest.raises(MirrorError) as error:
        other.verify()
    assert str(error.value).startswith(
        f"[M502] webhdfs://{server.host}{storage.root}/_binlog-connector-"
    )
    assert str(error.value).endswith(
        ": AccessControlException: Permission denied: user=somebody, access=WRITE, "
        f'inode="{storage.root}":{getpass.getuser()}:supergroup:drwxr-xr-x{ADVICE}'
    )
    for call in (storage.delete, lambda path: list(storage.list(path))):
        with pytest.raises(MirrorError) as error:
            call("file/x")
        assert str(error.value).endswith(
            f"AccessControlException: {storage.root}/file (is not a directory){ADVICE}"
        )


@needs_hdfs
def test_a_namenode_that_restarts_has_every_file(storage: HdfsStorage, server: HdfsServer) -> None:
    storage.write("t/a", b"before")
    server.kill()
    with pytest.raises(MirrorError, match=r"M502.*Connection refused"):
        storage.put_if_absent("t/b", b"lost")
    server.start()
    # The datanode tells of its blocks a moment after it is there.
    deadline = time.monotonic() + 60
    while (content := _read_or_none(storage, "t/a")) is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert content == b"before"
    assert storage.put_if_absent("t/b", b"again")


def _read_or_none(storage: HdfsStorage, path: str) -> bytes | None:
    try:
        return storage.read(path)
    except MirrorError:
        return None


@pytest.mark.parametrize("path", ["../x", "a/../b", "/a", ""])
def test_no_path_leaves_the_root(path: str) -> None:
    with pytest.raises(MirrorError, match="M519"):
        HdfsStorage(WebHdfs("http", ("127.0.0.1:1",), "me"), "/lake").read(path)


class WantsKerberos(BaseHTTPRequestHandler):
    """Answers as a namenode with Kerberos does."""

    def do_PUT(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Negotiate")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


def test_a_namenode_that_wants_kerberos_is_refused() -> None:
    server = HTTPServer(("127.0.0.1", 0), WantsKerberos)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_port}"
    with pytest.raises(MirrorError) as error:
        storage_of(f"webhdfs://{host}/lake").verify()
    server.shutdown()
    server.server_close()
    assert error.value.code == delta_errors.HDFS_LOGIN
    text = str(error.value)
    assert text.startswith(f"[M521] webhdfs://{host}/lake/_binlog-connector-")
    assert text.endswith(
        ": HDFS wants a login with Negotiate; the job gives the name of its user alone; "
        "let the job write to a cluster with simple authentication, or to S3"
    )


def test_the_address_for_java_programs_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        storage_of("hdfs://namenode:8020/lake")
    assert str(error.value) == (
        "[M421] mirror.path hdfs://namenode:8020/lake: the job speaks to HDFS over HTTP; "
        "give webhdfs://NAMENODE:9870/FOLDER, or swebhdfs:// for TLS"
    )
