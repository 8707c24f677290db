"""The cache has whole things only, and each is made once."""

from __future__ import annotations

import errno
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from local_stack import stack_errors
from local_stack.cache import Cache
from local_stack.stack_errors import LocalStackError
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"BINLOG_CONNECTOR_CACHE": "/chosen", "XDG_CACHE_HOME": "/xdg"}, Path("/chosen")),
        ({"BINLOG_CONNECTOR_CACHE": "~/chosen"}, Path.home() / "chosen"),
        ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/binlog-connector")),
        ({"BINLOG_CONNECTOR_CACHE": ""}, Path.home() / ".cache/binlog-connector"),
        ({}, Path.home() / ".cache/binlog-connector"),
    ],
)
def test_the_environment_names_the_folder(environment: Mapping[str, str], directory: Path) -> None:
    assert Cache.of_environment(environment).directory == directory


def test_a_folder_is_built_once(cache: Cache) -> None:
    built: list[Path] = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "file").write_text("content")

    first = cache.folder("servers/mysql", build)
    assert cache.folder("servers/mysql", build) == first == cache.directory / "servers/mysql"
    assert (first / "file").read_text() == "content"
    assert built == [cache.directory / "servers/mysql.part"]


class _EndedError(Exception):
    pass


def test_a_folder_whose_building_failed_is_built_anew_from_nothing(cache: Cache) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise _EndedError

    with pytest.raises(_EndedError):
        cache.folder("servers/mysql", fail)
    assert list(cache.folder("servers/mysql", lambda _: None).iterdir()) == []


def test_a_full_disk_is_told(cache: Cache) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(LocalStackError) as caught:
        cache.folder("servers/mysql", fail)
    facts = {"file": cache.directory / "servers/mysql", "said": "No space left on device"}
    assert caught.value.text == text_of(stack_errors.PART, **facts)


def test_a_folder_asked_for_by_many_is_built_by_one(cache: Cache) -> None:
    built: list[Path] = []
    threads = [
        threading.Thread(target=cache.folder, args=("templates/mysql", built.append))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_a_cache_that_cannot_be_written_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file")
    with pytest.raises(LocalStackError) as caught:
        cache.folder("servers/mysql", lambda _: None)
    assert caught.value.text == (
        f"{tmp_path}/file: cannot write the cache: Not a directory; "
        "set BINLOG_CONNECTOR_CACHE to a folder of yours"
    )
