"""A jar is fetched from the repository that the user set up."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from local_stack.kafka_jars import KAFKA_JARS
from local_stack.package_repositories import Jar, fetch_jars, repository
from local_stack.spark import SPARK_JARS
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.cache import Cache
    from tests.local_stack.conftest import Repository

SETTINGS = """<?xml version="1.0"?>
<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">
  <mirrors>
    <mirror><id>blocker</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url></mirror>
    <mirror><id>other</id><mirrorOf>other</mirrorOf><url>https://other.example/</url></mirror>
    <mirror><id>m</id><mirrorOf>{of}</mirrorOf><url>https://mirror.example/maven/</url></mirror>
  </mirrors>
</settings>
"""


def test_coordinates_are_a_path() -> None:
    jar = Jar("org.apache.kafka", "kafka_2.13", "4.3.1", 1, "")
    assert jar.path == "org/apache/kafka/kafka_2.13/4.3.1/kafka_2.13-4.3.1.jar"


def test_jars_are_fetched_from_the_repository_of_the_environment(
    repository: Repository, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_MAVEN_REPOSITORY", f"{repository.url}/maven2/")
    jar = Jar("a.b", "c", "1", 3, hashlib.sha256(b"jar").hexdigest())
    repository.files["/maven2/a/b/c/1/c-1.jar"] = b"jar"
    (path,) = fetch_jars("jars", [jar], cache)
    assert path == cache.directory / "files/maven/a/b/c/1/c-1.jar"
    assert path.read_bytes() == b"jar"


@pytest.mark.parametrize("of", ["central", "*", "other, central", "external:*"])
def test_a_mirror_of_central_in_the_settings_is_used(tmp_path: Path, of: str) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS.format(of=of))
    assert repository({}, settings) == "https://mirror.example/maven"


@pytest.mark.parametrize("of", ["another", "*,!central", ""])
def test_a_mirror_of_something_else_is_not_used(tmp_path: Path, of: str) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS.format(of=of))
    assert repository({}, settings) == "https://repo.maven.apache.org/maven2"


def test_the_environment_wins_over_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS.format(of="*"))
    environment = {"BINLOG_CONNECTOR_MAVEN_REPOSITORY": "https://chosen.example/"}
    assert repository(environment, settings) == "https://chosen.example"


def test_without_settings_it_is_maven_central(tmp_path: Path) -> None:
    assert repository({}, tmp_path / "missing") == "https://repo.maven.apache.org/maven2"


def test_settings_that_are_no_xml_are_named(tmp_path: Path) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text("<settings>")
    with pytest.raises(LocalStackError) as caught:
        repository({}, settings)
    assert caught.value.text == (
        f"{settings}: not valid XML: no element found: line 1, column 10; "
        "repair it, or set BINLOG_CONNECTOR_MAVEN_REPOSITORY"
    )


@pytest.mark.parametrize("jars", [KAFKA_JARS, SPARK_JARS])
def test_each_pinned_jar_has_a_digest_and_a_name_of_its_own(jars: tuple[Jar, ...]) -> None:
    assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in jars)
    assert len({jar.path for jar in jars}) == len(jars)
