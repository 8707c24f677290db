"""The second Java process with a class path finds the classes of the first."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from local_stack.cache import Cache
from local_stack.java import java_runtime
from local_stack.shared_classes import shared_classes

if TYPE_CHECKING:
    from pathlib import Path


def run_java(java: Path, options: tuple[str, ...]) -> str:
    command = [str(java), *options, "-Xshare:auto", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_an_archive_is_used_once_it_is_complete(tmp_path: Path) -> None:
    java, cache = java_runtime(), Cache(tmp_path)
    writes = shared_classes("test", java, "", cache)
    # While one process may write it, another neither writes nor waits.
    assert shared_classes("test", java, "", cache) == ()
    assert run_java(java, writes) == ""
    uses = shared_classes("test", java, "", cache)
    (archive,) = (tmp_path / "classes").iterdir()
    assert uses[0] == f"-XX:SharedArchiveFile={archive}"
    assert archive.suffix == ".jsa"
    assert run_java(java, uses) == ""
    # Another class path has another archive.
    assert shared_classes("test", java, "more.jar", cache)[0].startswith("-XX:ArchiveClassesAtExit")


def test_an_archive_that_java_refuses_does_not_stop_it(tmp_path: Path) -> None:
    java, cache = java_runtime(), Cache(tmp_path)
    run_java(java, shared_classes("test", java, "", cache))
    uses = shared_classes("test", java, "", cache)
    (archive,) = (tmp_path / "classes").iterdir()
    archive.chmod(0o600)
    archive.write_bytes(b"\x01" * 5000)
    assert run_java(java, uses) == ""
