"""The second Java process with a class path finds the classes of the first."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from connector.foundation.class_archive import archive_options, shared_classes
from local_stack import java_runtime

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_runtime().parents[1]))


def run_java(options: str) -> str:
    command = [str(java_runtime()), *options.split(), "-Xshare:auto", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_an_archive_is_used_when_the_job_that_writes_it_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "classes"
    writes = archive_options([], folder)
    # While one job may write it, another one starts without.
    assert archive_options([], folder) == ""
    assert run_java(writes) == ""
    uses = archive_options([], folder)
    (archive,) = folder.iterdir()
    assert uses == f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off"
    assert run_java(uses) == ""
    # Other jars have another archive.
    assert archive_options(["more.jar"], folder).startswith("-XX:ArchiveClassesAtExit=")


def test_an_archive_that_others_could_write_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "classes"
    run_java(archive_options([], folder))
    folder.parent.chmod(0o777)
    assert archive_options([], folder) == ""


def test_a_class_path_whose_files_were_written_anew_has_another_archive(tmp_path: Path) -> None:
    jar, folder = tmp_path / "a.jar", tmp_path / "own" / "classes"
    jar.touch()
    run_java(" ".join(shared_classes("test", java_runtime(), [jar], folder)))
    (used, _) = shared_classes("test", java_runtime(), [jar], folder)
    assert used.startswith("-XX:SharedArchiveFile=")
    os.utime(jar, (0, 0))
    (writes, _) = shared_classes("test", java_runtime(), [jar], folder)
    assert writes.startswith("-XX:ArchiveClassesAtExit=")


def test_a_process_that_may_not_write_an_archive_uses_one(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "classes"
    assert archive_options([], folder, writes=False) == ""
    run_java(archive_options([], folder))
    assert archive_options([], folder, writes=False).startswith("-XX:SharedArchiveFile=")


def test_archives_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "classes"
    run_java(archive_options(["old.jar"], folder))
    archive_options(["old.jar"], folder)
    (old,) = folder.iterdir()
    before = time.time() - 15 * 86_400
    os.utime(old, (before, before))
    run_java(archive_options([], folder))
    archive_options([], folder)
    (archive,) = folder.iterdir()
    assert archive != old


def test_an_archive_that_java_refuses_does_not_stop_it(tmp_path: Path) -> None:
    folder = tmp_path / "own" / "classes"
    run_java(archive_options([], folder))
    uses = archive_options([], folder)
    (archive,) = folder.iterdir()
    archive.chmod(0o600)
    archive.write_bytes(b"\x01" * 5000)
    assert run_java(uses) == ""
